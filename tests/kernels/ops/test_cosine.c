/* Ops of attention by cosines, whose arcs are all gathered, beside double loops. */
#include "tests/kernels/cosines.h"

/* Widths that lie with few threads, with many, with none: the latter also where rows lie anywhere. */
static const struct {
  int64_t width, pad;
} shapes[] = {{7, 1},           {7, OWN_GAPS},   {41, OWN_GAPS},  {128, OWN_GAPS},
              {256, WIDE_GAPS}, {300, OWN_GAPS}, {1030, OWN_GAPS}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void forward(struct kernels *k) {
  set_graph(37, 11, .25, 0);
  for (int s = 0; s < SHAPES; s++) {
    width = shapes[s].width;
    check_forward(k, shapes[s].pad);
  }
  set_graph(600, 60, .01, 1); /* one row is cut into pieces */
  width = 41;
  check_forward(k, OWN_GAPS);
  set_graph(130, MANY_PIECES, .005, 1);
  check_forward(k, OWN_GAPS);
}

TEST(two_parts_of_a_row_make_one_softmax) {
  on_every_table(forward);
}

static void backward(struct kernels *k) {
  set_graph(37, 11, .25, 0);
  for (int s = 0; s < SHAPES; s++) {
    width = shapes[s].width;
    check_backward(k, COSINE_IN, 1, shapes[s].pad);
    check_backward(k, COSINE_OUT, 1, shapes[s].pad);
    check_backward(k, COSINE_IN | COSINE_OUT, 1, shapes[s].pad);
    check_backward(k, COSINE_IN | COSINE_OUT, 0, shapes[s].pad);
  }
  set_graph(600, 60, .01, 1);
  width = 41;
  check_backward(k, COSINE_IN | COSINE_OUT, 1, OWN_GAPS);
  set_graph(130, MANY_PIECES, .005, 1);
  check_backward(k, COSINE_IN | COSINE_OUT, 1, OWN_GAPS);
}

TEST(gradients_come_by_arcs_in_and_out) {
  on_every_table(backward);
}

static void check_end(struct kernels *k, int with_residual, enum dtype dtype, int64_t pad) {
  double *x = nodes_block(k), *dx = rounded(k, noise_block(2, cols * width), cols * width);
  double *dn = rounded(k, noise_block(3, cols * width), cols * width), *y = host_block(cols * width * 8);
  double *residual = rounded(k, noise_block(4, cols * width), cols * width);
  struct cosine_rows rows = {
      .x = padded_matrix(k, x, cols, width, pad),
      .message = padded_matrix(k, NULL, cols, cosine_message_cols(k, width, 0), WIDE_GAPS)};
  assert_ok(op_cosine_rows(k, &rows));
  struct cosine_epilogue op = {.message = rows.message,
                               .dx = padded_matrix_of(k, dtype, dx, cols, width, pad),
                               .dn = padded_matrix_of(k, dtype, dn, cols, width, pad),
                               .y = padded_matrix(k, residual, cols, width, pad)};
  if (with_residual) op.residual = op.y;
  assert_ok(op_cosine_epilogue(k, &op));
  for (int64_t i = 0; i < cols * width; i++) {
    const double *at = x + i / width * width;
    double along = product(dn + i / width * width, at) * inverse(at) * inverse(at);
    y[i] = dx[i] + inverse(at) * (dn[i] - along * x[i]) + (with_residual ? residual[i] : 0);
  }
  assert_all_close(values_of(k, op.y), y, cols * width, tolerance_of(k));
}

static void end(struct kernels *k) {
  set_graph(37, 11, .25, 0);
  for (int s = 0; s < SHAPES; s++) {
    width = shapes[s].width;
    check_end(k, 0, k->dtype, shapes[s].pad);
    check_end(k, 1, k->real, shapes[s].pad);
  }
}

TEST(the_end_goes_through_the_norm) {
  on_every_table(end);
}
