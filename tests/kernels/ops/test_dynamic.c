/* Ops of attention with dynamic scores beside a double loop over all columns, computed in the two parts of a
 * shard. */
#include "tests/kernels/heads.h"

/* a, so small that scores of wide heads are as those of narrow ones. With a shift all scores are larger by
 * that much, if the first column of x and right is .5 in each head. */
static double *score_block(uint64_t seed, double shift) {
  double *a = noise_block(seed, width);
  for (int64_t i = 0; i < width; i++) a[i] = ldexp(a[i], 1 - ilogb(sqrt((double)each)));
  for (int64_t h = 0; h < heads && shift > 0; h++) a[h * each] = shift;
  return a;
}

static double *rows_block(struct kernels *k, uint64_t seed, int64_t rows, double shift) {
  double *x = rounded(k, noise_block(seed, rows * width), rows * width);
  for (int64_t i = 0; i < rows * heads && shift > 0; i++) x[i * each] = .5;
  return x;
}

/* e_vu of head h. */
static double score_of(const double *x_u, const double *right_v, const double *a, int64_t h) {
  double sum = 0;
  for (int64_t j = h * each; j < (h + 1) * each; j++) {
    double s = x_u[j] + right_v[j];
    sum += a[j] * (s > 0 ? s : .2 * s);
  }
  return sum;
}

/* What an op is given. */
struct given {
  double *x, *right, *a, *dz, *reals; /* reals: log_sum, delta of each row */
  int64_t out;
};

static double dynamic_score(const void *given, int64_t v, int64_t u, int64_t h, int *positive) {
  const struct given *g = given;
  *positive = 0;
  return score_of(g->x + u * width, g->right + v * width, g->a, h);
}

static void check_forward(struct kernels *k, double shift, double rate, int64_t pad, int with_mean) {
  const struct given g = {.x = rows_block(k, 1, own + halo, shift),
                          .right = rows_block(k, 2, own, shift),
                          .a = score_block(3, shift)};
  const struct scores scores = {&g, dynamic_score};
  struct expected e = expected_block();
  struct attention op = {.right = padded_matrix(k, g.right, own, width, pad),
                         .score = padded_matrix_of(k, k->real, g.a, heads, each, pad == 1 ? 3 : 0)};
  if (k->dtype != k->real) op.sums = padded_matrix_of(k, k->real, NULL, own, width, pad);
  check_both_parts(k, &op, g.x, pad, rate, with_mean, &scores, &e);
}

/* Shapes of heads: any width and address; heads of one vector and of several, of a number of vectors that is
 * no power of two, of columns that fill no vectors; lanes that have none; one head, narrow, wide, and wider
 * than a warp holds. */
static const struct {
  int64_t heads, each, pad;
} shapes[] = {{10, 3, 2},        {8, 8, OWN_GAPS},   {6, 8, OWN_GAPS},  {4, 32, OWN_GAPS},
              {2, 24, OWN_GAPS}, {3, 20, OWN_GAPS},  {1, 1, OWN_GAPS},  {1, 7, 1},
              {1, 16, OWN_GAPS}, {1, 41, OWN_GAPS},  {1, 64, OWN_GAPS}, {1, 128, OWN_GAPS},
              {1, 128, 1},       {2, 304, OWN_GAPS}, {1, 530, OWN_GAPS}};
enum { SHAPES = sizeof shapes / sizeof shapes[0] };

static void forward(struct kernels *k) {
  set_arcs(37, 11, .25, 0);
  for (int s = 0; s < SHAPES; s++) {
    set_heads(shapes[s].heads, shapes[s].each);
    check_forward(k, 0, 0, shapes[s].pad, 1);
    check_forward(k, 0, .4, shapes[s].pad, 0);
  }
}

TEST(two_parts_of_a_row_make_one_softmax) {
  on_every_table(forward);
}

/* exp(96) is more than a float holds. */
static void large_scores(struct kernels *k) {
  set_arcs(37, 11, .25, 0);
  set_heads(8, 8);
  check_forward(k, 96, 0, OWN_GAPS, 1);
  set_heads(10, 3);
  check_forward(k, 96, 0, 2, 0);
}

TEST(scores_may_be_large) {
  on_every_table(large_scores);
}

/* Rows that are cut into pieces. */
static void long_and_full_rows(struct kernels *k) {
  set_arcs(700, 90, .01, 1);
  set_heads(4, 32);
  check_forward(k, 0, .4, OWN_GAPS, 1);
  set_heads(2, 3);
  check_forward(k, 0, 0, 1, 1);
  set_heads(1, 530);
  check_forward(k, 0, 0, OWN_GAPS, 0);
  set_arcs(130, MANY_PIECES, .005, 1);
  set_heads(2, 3);
  check_forward(k, 0, 0, OWN_GAPS, 1);
  set_arcs(300, 60, .5, 0);
  set_heads(1, 41);
  check_forward(k, 0, .4, OWN_GAPS, 1);
}

TEST(long_rows_are_put_together) {
  on_every_table(long_and_full_rows);
}

/* out: columns of dz, `width` or of the mean `each`. */
static void check_rows(struct kernels *k, int64_t out, int64_t pad) {
  const double factor = out == width ? 1 : 1.0 / (double)heads;
  double *dz = rounded(k, noise_block(10, own * out), own * out), *log_sum = noise_block(11, own * heads);
  double *right = rows_block(k, 12, own, 0), *y = rows_block(k, 13, own, 0),
         *delta = host_block(own * heads * 8);
  for (int64_t i = 0; i < own * width; i++)
    delta[i / each] += factor * dz[out == width ? i : i / width * each + i % each] * y[i];
  struct dynamic_rows op = {.heads = heads,
                            .dz = padded_matrix(k, dz, own, out, pad),
                            .right = padded_matrix(k, right, own, width, pad),
                            .y = padded_matrix(k, y, own, width, pad),
                            .log_sum = real_matrix(k, log_sum, own, heads)};
  op.message = padded_matrix(k, NULL, own, dynamic_message_cols(k, out, width, heads), WIDE_GAPS);
  const struct dynamic_message parts = dynamic_parts(k, op.message, out, width, heads);
  assert_ok(op_dynamic_rows(k, &op));
  assert_all_equal(piece_values(k, parts.dz), dz, own * out);
  assert_all_equal(piece_values(k, parts.right), right, own * width);
  assert_all_close(piece_values(k, parts.log_sum), log_sum, own * heads, real_tolerance(k));
  assert_all_close(piece_values(k, parts.delta), delta, own * heads, real_tolerance(k));
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

/* The arc (v <- u) and its part of the gradients of row `to`, one of both. */
static void expect_arc(const struct dropout *dropout, const struct given *g, enum dynamic_way way, int64_t v,
                       int64_t u, int64_t h, double *grad, double *products) {
  const double *x = g->x + u * width, *right = g->right + v * width, *reals = g->reals + v * 2 * heads;
  const double *dz = g->dz + v * g->out - (g->out == width ? 0 : h * each);
  const double factor = kept(dropout, v, u, h) * (g->out == width ? 1 : 1.0 / (double)heads);
  double a = exp(score_of(x, right, g->a, h) - reals[h]), product = 0;
  for (int64_t j = h * each; j < (h + 1) * each; j++) product += factor * dz[j] * x[j];
  for (int64_t j = h * each; j < (h + 1) * each; j++) {
    double s = (x[j] + right[j] > 0 ? 1 : .2) * a * (product - reals[heads + h]);
    grad[j] += g->a[j] * s + (way == DYNAMIC_OUT ? a * factor * dz[j] : 0);
    products[j] += (way == DYNAMIC_OUT ? x[j] : right[j]) * s;
  }
}

/* Row i of the pattern and its columns j: the arcs (i <- j), or (j <- i) on the way out. */
static void check_backward(struct kernels *k, enum dynamic_way way, int64_t out, double rate, int64_t pad) {
  struct parts parts;
  const int in = way == DYNAMIC_IN;
  const int64_t cols = own + halo, *id;
  open_parts(k, &parts);
  set_scalars(k, (struct scalars){.epoch = EPOCH});
  id = global_ids(k, cols);
  struct given g = {rows_block(k, 1, cols, 0),
                    rows_block(k, 2, cols, 0),
                    score_block(3, 0),
                    rounded(k, noise_block(4, cols * out), cols * out),
                    noise_block(5, cols * 2 * heads),
                    out};
  struct messages messages = make_messages(k, cols, dynamic_message_cols(k, out, width, heads), WIDE_GAPS);
  const struct dynamic_message pieces = dynamic_parts(k, messages.on_device, out, width, heads);
  struct tensor both = pieces.log_sum;
  both.cols = 2 * heads;
  put(&messages, pieces.dz, g.dz);
  put(&messages, pieces.right, g.right);
  put(&messages, both, g.reals);
  struct tensor x = padded_matrix(k, g.x, cols, width, pad), all = upload_messages(k, &messages);
  double *before = noise_block(6, own * width), *grad = host_block(own * width * 8),
         *products = host_block(own * width * 8);
  struct dynamic_backward op = {
      .a = parts.own_layout,
      .way = way,
      .heads = heads,
      .out = out,
      .x = tensor_rows(x, 0, own),
      .message = tensor_rows(all, 0, own),
      .score = padded_matrix_of(k, k->real, g.a, heads, each, pad == 1 ? 3 : 0),
      .selves = own - own / 3, /* the last rows have no arc with themselves */
      .dropout = dropout_of(rate, random_key(1, 0, 0, RANDOM_DROPOUT_ATTENTION), id),
      .col_id = id,
      .has_halo = parts.has_halo,
      .grad = padded_matrix(k, NULL, own, width, pad),
      .products = padded_matrix_of(k, k->real, in ? NULL : before, own, width, pad)};
  if (k->dtype != k->real) op.sums = padded_matrix_of(k, k->real, NULL, own, width, pad);
  for (int64_t i = 0; i < own * width; i++) products[i] = in ? 0 : before[i];
#pragma omp parallel for num_threads(2)
  for (int64_t i = 0; i < own; i++)
    for (int64_t j = 0; j < cols; j++)
      for (int64_t h = 0, arc = i == j ? i < op.selves : has_arc(i, j); h < heads && arc; h++)
        expect_arc(&op.dropout, &g, way, in ? i : j, in ? j : i, h, grad + i * width, products + i * width);
  assert_ok(op_dynamic_backward(k, &op));
  op.a = parts.halo_layout;
  if (in)
    op.x = tensor_rows(x, own, halo);
  else
    op.message = tensor_rows(all, own, halo);
  op.selves = 0;
  op.col_id = id + own;
  op.accumulate = 1;
  op.has_halo = NULL;
  assert_ok(op_dynamic_backward(k, &op));
  assert_all_close(values_of(k, op.grad), grad, own * width, 2 * tolerance_of(k));
  assert_all_close(values_of(k, op.products), products, own * width, 2 * real_tolerance(k));
  close_parts(k, &parts);
}

static void backward(struct kernels *k, enum dynamic_way way) {
  set_arcs(37, 11, .25, 0);
  for (int s = 0; s < SHAPES; s++) {
    set_heads(shapes[s].heads, shapes[s].each);
    check_backward(k, way, width, 0, shapes[s].pad);
    check_backward(k, way, width, .4, shapes[s].pad);
    check_backward(k, way, each, .4, shapes[s].pad);
  }
  set_arcs(700, 90, .01, 1);
  set_heads(4, 32);
  check_backward(k, way, width, .4, OWN_GAPS);
  set_heads(1, 530);
  check_backward(k, way, width, 0, OWN_GAPS);
  set_arcs(130, MANY_PIECES, .005, 1);
  set_heads(2, 3);
  check_backward(k, way, width, 0, OWN_GAPS);
  set_arcs(300, 60, .5, 0);
  set_heads(1, 41);
  check_backward(k, way, width, 0, OWN_GAPS);
}

static void backward_in(struct kernels *k) {
  backward(k, DYNAMIC_IN);
}

static void backward_out(struct kernels *k) {
  backward(k, DYNAMIC_OUT);
}

TEST(gradients_over_arcs_into_a_row_are_gathered_over_both_parts) {
  on_every_table(backward_in);
}

TEST(gradients_over_arcs_out_of_a_row_are_gathered_over_both_parts) {
  on_every_table(backward_out);
}
