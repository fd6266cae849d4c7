/* Ops of graph attention beside a double loop over all columns, computed in the two parts of a shard. */
#include "tests/kernels/terms.h"

/* Shapes of heads, each with its way through the kernels: any width and address, heads of one vector and of
 * several, one head, one wider than a group of threads holds. */
static const struct {
  int64_t heads, each, pad;
} shapes[] = {{10, 3, 2},        {8, 8, OWN_GAPS}, {4, 32, OWN_GAPS},
              {1, 41, OWN_GAPS}, {1, 7, 1},        {2, 304, OWN_GAPS}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void forward(struct kernels *k) {
  set_arcs(37, 11, .25, 0);
  for (int s = 0; s < SHAPES; s++) {
    set_heads(shapes[s].heads, shapes[s].each);
    check_forward(k, 2, 0, shapes[s].pad, 1);
    check_forward(k, 2, .4, shapes[s].pad, 0);
    check_forward(k, 60, .4, shapes[s].pad, 1);
  }
}

TEST(two_parts_of_a_row_make_one_softmax) {
  on_every_table(forward);
}

/* Rows that are cut into pieces; rows so full that they are read in panels. */
static void long_and_full_rows(struct kernels *k) {
  set_arcs(700, 90, .01, 1);
  set_heads(4, 32);
  check_forward(k, 2, .4, OWN_GAPS, 1);
  set_heads(2, 3);
  check_forward(k, 2, 0, 1, 1);
  set_arcs(130, MANY_PIECES, .005, 1);
  check_forward(k, 2, 0, OWN_GAPS, 1);
  set_arcs(300, 60, .5, 0);
  set_heads(4, 32);
  check_forward(k, 2, 0, OWN_GAPS, 1);
  set_heads(1, 41);
  check_forward(k, 2, .4, OWN_GAPS, 1);
}

TEST(long_rows_are_put_together) {
  on_every_table(long_and_full_rows);
}

/* out: columns of dz, `width` or of the mean `each`. */
static void check_rows(struct kernels *k, int64_t out, int64_t pad) {
  int64_t cols = attention_message_cols(k, out, heads);
  double factor = out == width ? 1 : 1.0 / (double)heads, *block[6], *grad = host_block(own * heads * 8);
  double *reals = host_block(own * 3 * heads * 8);
  const int64_t wide[] = {out, heads, heads, heads, width, width};
  for (int i = 0; i < 6; i++) {
    block[i] = rounded(k, noise_block(10 + (uint64_t)i, own * wide[i]), own * wide[i]);
  }
  for (int64_t i = 0; i < own * heads; i++) {
    int64_t v = i / heads, h = i % heads;
    double delta = 0, positive = 0, *at = reals + v * 3 * heads;
    for (int64_t j = 0; j < each; j++) {
      double dy = factor * block[0][v * out + (out == width ? h * each : 0) + j];
      delta += dy * block[4][v * width + h * each + j];
      positive += dy * block[5][v * width + h * each + j];
    }
    at[h] = block[1][i];
    at[heads + h] = block[2][i];
    at[2 * heads + h] = delta;
    grad[i] = .8 * (positive - delta * block[3][i]);
  }
  struct attention_rows op = {.heads = heads,
                              .dz = padded_matrix(k, block[0], own, out, pad),
                              .row_term = real_matrix(k, block[1], own, heads),
                              .log_sum = real_matrix(k, block[2], own, heads),
                              .share = real_matrix(k, block[3], own, heads),
                              .y = padded_matrix(k, block[4], own, width, pad),
                              .positive = padded_matrix(k, block[5], own, width, pad),
                              .message = padded_matrix(k, NULL, own, cols, WIDE_GAPS),
                              .row_term_grad = real_matrix(k, NULL, own, heads)};
  assert_ok(op_attention_rows(k, &op));
  struct tensor behind = tensor_reals(k, op.message, message_elements(k, out), 3 * heads);
  assert_all_equal(piece_values(k, tensor_columns(op.message, 0, out)), block[0], own * out);
  assert_all_close(piece_values(k, behind), reals, own * 3 * heads, real_tolerance(k));
  assert_all_close(values_of(k, op.row_term_grad), grad, own * heads, real_tolerance(k));
}

static void rows(struct kernels *k) {
  set_arcs(37, 11, .25, 0);
  for (int s = 0; s < SHAPES; s++) {
    set_heads(shapes[s].heads, shapes[s].each);
    check_rows(k, width, shapes[s].pad);
    check_rows(k, each, shapes[s].pad);
  }
}

TEST(rows_say_what_their_arcs_need) {
  on_every_table(rows);
}

static void backward(struct kernels *k) {
  set_arcs(37, 11, .25, 0);
  for (int s = 0; s < SHAPES; s++) {
    set_heads(shapes[s].heads, shapes[s].each);
    check_backward(k, width, 0, shapes[s].pad);
    check_backward(k, width, .4, shapes[s].pad);
    check_backward(k, each, .4, shapes[s].pad);
  }
  set_arcs(700, 90, .01, 1);
  set_heads(4, 32);
  check_backward(k, width, .4, OWN_GAPS);
  set_arcs(130, MANY_PIECES, .005, 1);
  check_backward(k, width, 0, OWN_GAPS);
  set_arcs(300, 60, .5, 0);
  check_backward(k, width, 0, OWN_GAPS);
}

TEST(gradients_are_gathered_over_both_parts) {
  on_every_table(backward);
}

/* Late rows: the second matrix lies before the first one. */
static void whole_rows_of_two_matrices(struct kernels *k) {
  late = 1;
  forward(k);
  backward(k);
  set_arcs(130, MANY_PIECES, .005, 1);
  set_heads(4, 32);
  check_forward(k, 2, 0, OWN_GAPS, 1);
  late = 0;
}

TEST(late_rows_are_summed_from_two_matrices) {
  on_every_table(whole_rows_of_two_matrices);
}

/* Numbers of 47 columns and their reals, one line of a GPU's caches. */
TEST(messages_of_narrow_rows_are_a_line) {
  const struct kernels halves = {.dtype = BF16, .real = F32};
  assert_int_equal(2 * (message_elements(&halves, 47) + message_reals(&halves, 4)), LINE_BYTES);
  assert_int_equal(2 * attention_message_cols(&halves, 47, 2), LINE_BYTES);
  assert_int_equal(2 * cosine_message_cols(&halves, 47, 0), LINE_BYTES);
}

static void check_terms(struct kernels *k, int64_t pad) {
  double *x = integer_block(1, own * width), *l = integer_block(2, width), *r = integer_block(3, width);
  double *left = host_block(own * heads * 8), *right = host_block(own * heads * 8);
  double *dl = integer_block(4, own * heads), *dr = integer_block(5, own * heads);
  double *l_grad = host_block(width * 8), *r_grad = host_block(width * 8);
  struct attention_terms op = {.x = padded_matrix(k, x, own, width, pad),
                               .l = padded_matrix_of(k, k->real, l, heads, each, 5),
                               .r = padded_matrix_of(k, k->real, r, heads, each, 5),
                               .left = real_matrix(k, NULL, own, heads),
                               .right = padded_matrix_of(k, k->real, NULL, own, heads, 1)};
  struct attention_terms_backward back = {.x = op.x,
                                          .left_grad = real_matrix(k, dl, own, heads),
                                          .right_grad = real_matrix(k, dr, own, heads),
                                          .l_grad = padded_matrix_of(k, k->real, NULL, heads, each, 5),
                                          .r_grad = padded_matrix_of(k, k->real, NULL, heads, each, 5)};
  for (int64_t i = 0; i < own * width; i++) {
    int64_t head = i / each, column = i % width;
    left[head] += x[i] * l[column];
    right[head] += x[i] * r[column];
    l_grad[column] += dl[head] * x[i];
    r_grad[column] += dr[head] * x[i];
  }
  assert_ok(op_attention_terms(k, &op));
  assert_ok(op_attention_terms_backward(k, &back));
  assert_all_equal(values_of(k, op.left), left, own * heads);
  assert_all_equal(values_of(k, op.right), right, own * heads);
  assert_all_equal(values_of(k, back.l_grad), l_grad, width);
  assert_all_equal(values_of(k, back.r_grad), r_grad, width);
}

static void terms(struct kernels *k) {
  set_arcs(570, 11, .25, 0);
  for (int s = 0; s < SHAPES; s++) {
    set_heads(shapes[s].heads, shapes[s].each);
    check_terms(k, shapes[s].pad);
  }
}

TEST(terms_and_their_gradients_are_exact_on_integers) {
  on_every_table(terms);
}
