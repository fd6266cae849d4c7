/* Sums of very many terms, all alike: what comes of them is known, and all digits that a long sum loses are
 * lost in the same direction. First rows that list as many others, then the gradient of a weight. */
#include "kernels/ops/attention.h"
#include "kernels/ops/gemm.h"
#include "kernels/ops/reduce.h"
#include "kernels/ops/sparse.h"
#include "runtime/base/csr.h"
#include "tests/kernels/every_table.h"

enum { WIDTH = 7 };

/* A matrix of one row, which lists all columns. */
struct hub {
  struct csr csr;
  struct layout *layout;
};

static void open_hub(struct kernels *k, struct hub *hub, int64_t cols) {
  *hub = (struct hub){0};
  assert_ok(csr_init(&hub->csr, 1, cols, cols, 0));
  for (int64_t u = 0; u < cols; u++) hub->csr.col[u] = (int32_t)u;
  hub->csr.start[1] = cols;
  assert_ok(layout_init(k, &hub->csr, NULL, &hub->layout));
}

static void close_hub(struct kernels *k, struct hub *hub) {
  layout_free(k, hub->layout);
  csr_free(&hub->csr);
}

/* Equal rows; a seed's numbers lie in (0, 1]. */
static double *equal_rows(struct kernels *k, uint64_t seed, int64_t rows, int64_t cols) {
  double *value = host_block(rows * cols * 8);
  for (int64_t i = 0; i < rows * cols; i++) value[i] = 1 - .5 * (noise(seed, i % cols) + 1);
  return rounded(k, value, rows * cols);
}

static double dot_of(const double *x, const double *y) {
  double sum = 0;
  for (int64_t j = 0; j < WIDTH; j++) sum += x[j] * y[j];
  return sum;
}

static double as_real(const struct kernels *k, double value) {
  return element(k->real, value);
}

static void check_sum(struct kernels *k) {
  const int64_t cols = 1 << 20;
  struct hub hub;
  open_hub(k, &hub, cols);
  double *x = equal_rows(k, 1, cols, 1), expected = (double)cols * x[0];
  struct spmm op = {.a = hub.layout, .x = matrix(k, x, cols, 1), .y = real_matrix(k, NULL, 1, 1)};
  assert_ok(op_spmm(k, &op));
  double *y = values_of(k, op.y);
  if (!(fabs(y[0] - expected) <= real_tolerance(k) * expected))
    fail_msg("%.12g, expected %.12g", y[0], expected);
  close_hub(k, &hub);
}

static void check_mean(struct kernels *k) {
  const int64_t cols = 1 << 20;
  const double entries = (double)cols;
  struct hub hub;
  open_hub(k, &hub, cols);
  double *x = equal_rows(k, 1, cols, 1);
  struct reduce op = {.a = hub.layout,
                      .reducer = REDUCER_MEAN,
                      .x = matrix(k, x, cols, 1),
                      .entries = reals(k, &entries, 1),
                      .y = real_matrix(k, NULL, 1, 1)};
  assert_ok(op_reduce(k, &op));
  assert_all_close(values_of(k, op.y), x, 1, real_tolerance(k));
  close_hub(k, &hub);
}

/* The hub has won in all rows. */
static void check_won(struct kernels *k) {
  const int64_t cols = 1 << 20, id = 5;
  struct hub hub;
  open_hub(k, &hub, cols);
  double *dy = equal_rows(k, 1, cols, 1), expected = (double)cols * dy[0];
  int32_t *winner = host_block(cols * 4);
  for (int64_t v = 0; v < cols; v++) winner[v] = (int32_t)id;
  struct reduce_backward op = {.a = hub.layout,
                               .dy = matrix(k, dy, cols, 1),
                               .winner = {device_block(k, winner, cols * 4), 1},
                               .id = device_block(k, &id, 8),
                               .dx = real_matrix(k, NULL, 1, 1)};
  assert_ok(op_reduce_backward(k, &op));
  double *dx = values_of(k, op.dx);
  if (!(fabs(dx[0] - expected) <= real_tolerance(k) * expected))
    fail_msg("%.12g, expected %.12g", dx[0], expected);
  close_hub(k, &hub);
}

static void check_attention(struct kernels *k) {
  const int64_t cols = 100000;
  const double term = .5, row_term = .25;
  struct hub hub;
  open_hub(k, &hub, cols);
  double *x = equal_rows(k, 1, cols, WIDTH), *terms = host_block(cols * 8), one = 1;
  for (int64_t u = 0; u < cols; u++) terms[u] = term;
  struct attention op = {.a = hub.layout,
                         .heads = 1,
                         .x = padded_matrix(k, x, cols, WIDTH, OWN_GAPS),
                         .term = real_matrix(k, terms, cols, 1),
                         .row_term = real_matrix(k, &row_term, 1, 1),
                         .log_sum = real_matrix(k, NULL, 1, 1),
                         .positive = padded_matrix(k, NULL, 1, WIDTH, OWN_GAPS),
                         .share = real_matrix(k, NULL, 1, 1),
                         .y = padded_matrix(k, NULL, 1, WIDTH, OWN_GAPS)};
  if (k->dtype != k->real)
    op.sums = padded_matrix_of(k, k->real, NULL, 1, attention_sums_cols(k, WIDTH), OWN_GAPS);
  assert_ok(op_attention(k, &op));
  const double log_sum = term + row_term + log((double)cols);
  assert_all_close(values_of(k, op.y), x, WIDTH, tolerance_of(k));
  assert_all_close(values_of(k, op.positive), x, WIDTH, tolerance_of(k));
  assert_all_close(values_of(k, op.share), &one, 1, real_tolerance(k));
  assert_all_close(values_of(k, op.log_sum), &log_sum, 1, real_tolerance(k));
  close_hub(k, &hub);
}

/* delta is dz . dz. */
static void check_attention_backward(struct kernels *k) {
  const int64_t cols = 100000;
  const double term = .5, row_term = .25;
  const double log_sum = as_real(k, term + row_term + log((double)cols) - 1);
  struct hub hub;
  open_hub(k, &hub, cols);
  double *x = equal_rows(k, 1, 1, WIDTH), *dz = equal_rows(k, 2, cols, WIDTH);
  struct attention_rows rows = {
      .heads = 1,
      .dz = padded_matrix(k, dz, cols, WIDTH, OWN_GAPS),
      .y = padded_matrix(k, dz, cols, WIDTH, OWN_GAPS),
      .positive = padded_matrix(k, dz, cols, WIDTH, OWN_GAPS),
      .message = padded_matrix(k, NULL, cols, attention_message_cols(k, WIDTH, 1), WIDE_GAPS),
      .row_term_grad = real_matrix(k, NULL, cols, 1)};
  double *all[2] = {host_block(cols * 8), host_block(cols * 8)}, *expected = host_block(WIDTH * 8);
  for (int64_t v = 0; v < cols; v++) {
    all[0][v] = row_term;
    all[1][v] = log_sum;
  }
  rows.row_term = real_matrix(k, all[0], cols, 1);
  rows.log_sum = real_matrix(k, all[1], cols, 1);
  rows.share = rows.log_sum;
  assert_ok(op_attention_rows(k, &rows));
  struct attention_backward op = {.a = hub.layout,
                                  .heads = 1,
                                  .message = rows.message,
                                  .out = WIDTH,
                                  .x = padded_matrix(k, x, 1, WIDTH, OWN_GAPS),
                                  .term = real_matrix(k, &term, 1, 1),
                                  .dx = padded_matrix(k, NULL, 1, WIDTH, OWN_GAPS),
                                  .term_grad = real_matrix(k, NULL, 1, 1)};
  if (k->dtype != k->real) op.sums = padded_matrix_of(k, k->real, NULL, 1, WIDTH, OWN_GAPS);
  assert_ok(op_attention_backward(k, &op));
  double sum = (double)cols * exp(term + row_term - log_sum);
  double term_grad = sum * (dot_of(dz, x) - dot_of(dz, dz));
  for (int64_t j = 0; j < WIDTH; j++) expected[j] = sum * dz[j];
  assert_all_close(values_of(k, op.dx), expected, WIDTH, 2 * tolerance_of(k));
  assert_all_close(values_of(k, op.term_grad), &term_grad, 1, 2 * real_tolerance(k));
  close_hub(k, &hub);
}

/* Of equal rows: a . LeakyReLU(x + right). */
static double dynamic_score(const double *x, const double *right, const double *a) {
  double sum = 0;
  for (int64_t j = 0; j < WIDTH; j++) sum += a[j] * (x[j] + right[j]);
  return sum;
}

static void check_dynamic(struct kernels *k) {
  const int64_t cols = 100000;
  struct hub hub;
  open_hub(k, &hub, cols);
  double *x = equal_rows(k, 1, cols, WIDTH), *right = equal_rows(k, 2, 1, WIDTH), *a = noise_block(3, WIDTH);
  struct attention op = {.a = hub.layout,
                         .heads = 1,
                         .x = padded_matrix(k, x, cols, WIDTH, OWN_GAPS),
                         .right = padded_matrix(k, right, 1, WIDTH, OWN_GAPS),
                         .score = real_matrix(k, a, 1, WIDTH),
                         .log_sum = real_matrix(k, NULL, 1, 1),
                         .y = padded_matrix(k, NULL, 1, WIDTH, OWN_GAPS)};
  if (k->dtype != k->real) op.sums = padded_matrix_of(k, k->real, NULL, 1, WIDTH, OWN_GAPS);
  assert_ok(op_attention(k, &op));
  const double log_sum = dynamic_score(x, right, a) + log((double)cols);
  assert_all_close(values_of(k, op.y), x, WIDTH, tolerance_of(k));
  assert_all_close(values_of(k, op.log_sum), &log_sum, 1, real_tolerance(k));
  close_hub(k, &hub);
}

/* delta is dz . dz; of both ends of all arcs there are equal rows. */
static void check_dynamic_way(struct kernels *k, enum dynamic_way way) {
  const int64_t cols = 100000, xs = way == DYNAMIC_IN ? cols : 1, messages = cols + 1 - xs;
  struct hub hub;
  open_hub(k, &hub, cols);
  double *x = equal_rows(k, 1, xs, WIDTH), *dz = equal_rows(k, 2, messages, WIDTH);
  double *right = equal_rows(k, 4, messages, WIDTH), *a = noise_block(3, WIDTH);
  double *log_sums = host_block(messages * 8), *expected = host_block(2 * WIDTH * 8);
  const double score = dynamic_score(x, right, a), log_sum = as_real(k, score + log((double)cols) - 1);
  for (int64_t v = 0; v < messages; v++) log_sums[v] = log_sum;
  struct dynamic_rows rows = {.heads = 1,
                              .dz = padded_matrix(k, dz, messages, WIDTH, OWN_GAPS),
                              .right = padded_matrix(k, right, messages, WIDTH, OWN_GAPS),
                              .log_sum = real_matrix(k, log_sums, messages, 1)};
  rows.y = rows.dz;
  rows.message = padded_matrix(k, NULL, messages, dynamic_message_cols(k, WIDTH, WIDTH, 1), WIDE_GAPS);
  assert_ok(op_dynamic_rows(k, &rows));
  struct dynamic_backward op = {.a = hub.layout,
                                .way = way,
                                .heads = 1,
                                .out = WIDTH,
                                .x = padded_matrix(k, x, xs, WIDTH, OWN_GAPS),
                                .message = rows.message,
                                .score = real_matrix(k, a, 1, WIDTH),
                                .grad = padded_matrix(k, NULL, 1, WIDTH, OWN_GAPS),
                                .products = real_matrix(k, host_block(WIDTH * 8), 1, WIDTH)};
  if (k->dtype != k->real) op.sums = padded_matrix_of(k, k->real, NULL, 1, WIDTH, OWN_GAPS);
  assert_ok(op_dynamic_backward(k, &op));
  const double sum = (double)cols * exp(score - log_sum), de = sum * (dot_of(dz, x) - dot_of(dz, dz));
  for (int64_t j = 0; j < WIDTH; j++) {
    expected[j] = de * a[j] + (way == DYNAMIC_OUT ? sum * dz[j] : 0);
    expected[WIDTH + j] = de * (way == DYNAMIC_OUT ? x[j] : right[j]);
  }
  assert_all_close(values_of(k, op.grad), expected, WIDTH, 2 * tolerance_of(k));
  assert_all_close(values_of(k, op.products), expected + WIDTH, WIDTH, 2 * real_tolerance(k));
  close_hub(k, &hub);
}

static void check_dynamic_backward(struct kernels *k) {
  check_dynamic_way(k, DYNAMIC_IN);
  check_dynamic_way(k, DYNAMIC_OUT);
}

static struct cosine_rows cosine_messages(struct kernels *k, int64_t cols, const double *x, const double *dz,
                                          const double *log_sum) {
  int64_t message = cosine_message_cols(k, WIDTH, dz != NULL);
  struct cosine_rows rows = {.x = padded_matrix(k, x, cols, WIDTH, OWN_GAPS),
                             .message = padded_matrix(k, NULL, cols, message, WIDE_GAPS)};
  if (dz) {
    rows.dz = rows.y = padded_matrix(k, dz, cols, WIDTH, OWN_GAPS);
    rows.log_sum = real_matrix(k, log_sum, cols, 1);
  }
  assert_ok(op_cosine_rows(k, &rows));
  return rows;
}

static void check_cosine(struct kernels *k) {
  const int64_t cols = 100000;
  const double beta = 1.75, log_sum = beta + log((double)cols);
  struct hub hub;
  open_hub(k, &hub, cols);
  double *x = equal_rows(k, 1, cols, WIDTH);
  struct cosine_rows rows = cosine_messages(k, cols, x, NULL, NULL);
  struct cosine_attention op = {.a = hub.layout,
                                .message = rows.message,
                                .rows = tensor_rows(rows.message, 0, 1),
                                .beta = reals(k, &beta, 1),
                                .log_sum = real_matrix(k, NULL, 1, 1),
                                .y = padded_matrix(k, NULL, 1, WIDTH, OWN_GAPS)};
  if (k->dtype != k->real) op.sums = padded_matrix_of(k, k->real, NULL, 1, WIDTH, OWN_GAPS);
  assert_ok(op_cosine_attention(k, &op));
  assert_all_close(values_of(k, op.y), x, WIDTH, tolerance_of(k));
  assert_all_close(values_of(k, op.log_sum), &log_sum, 1, real_tolerance(k));
  close_hub(k, &hub);
}

static void check_cosine_backward(struct kernels *k) {
  const int64_t cols = 100000;
  const double beta = 1.75, log_sum = as_real(k, beta + log((double)cols) - 1);
  struct hub hub;
  open_hub(k, &hub, cols);
  double *x = equal_rows(k, 1, cols, WIDTH), *dz = equal_rows(k, 2, cols, WIDTH);
  double *log_sums = host_block(cols * 8), *dx = host_block(WIDTH * 8), *dn = host_block(WIDTH * 8);
  for (int64_t v = 0; v < cols; v++) log_sums[v] = log_sum;
  struct cosine_rows rows = cosine_messages(k, cols, x, dz, log_sums);
  struct cosine_backward op = {.a = hub.layout,
                               .arcs = COSINE_IN | COSINE_OUT,
                               .message = rows.message,
                               .rows = tensor_rows(rows.message, 0, 1),
                               .beta = reals(k, &beta, 1),
                               .dx = padded_matrix_of(k, k->real, NULL, 1, WIDTH, OWN_GAPS),
                               .dn = padded_matrix_of(k, k->real, NULL, 1, WIDTH, OWN_GAPS),
                               .beta_grad = real_matrix(k, NULL, 1, 1)};
  assert_ok(op_cosine_backward(k, &op));
  double sum = (double)cols * exp(beta - log_sum), de = sum * (dot_of(dz, x) - dot_of(dz, dz));
  for (int64_t j = 0; j < WIDTH; j++) {
    dx[j] = sum * dz[j];
    dn[j] = 2 * beta * de * x[j] / sqrt(dot_of(x, x));
  }
  assert_all_close(values_of(k, op.dx), dx, WIDTH, 2 * real_tolerance(k));
  assert_all_close(values_of(k, op.dn), dn, WIDTH, 2 * real_tolerance(k));
  assert_all_close(values_of(k, op.beta_grad), &de, 1, 2 * real_tolerance(k));
  close_hub(k, &hub);
}

static void check_weight_gradient(struct kernels *k) {
  const int64_t rows = 1 << 20, m = 3, n = 2;
  double *a = equal_rows(k, 1, rows, m), *b = equal_rows(k, 2, rows, n), *expected = host_block(m * n * 8);
  for (int64_t i = 0; i < m * n; i++) expected[i] = (double)rows * a[i / n] * b[i % n];
  struct gemm op = {.a = matrix(k, a, rows, m),
                    .b = matrix(k, b, rows, n),
                    .c = real_matrix(k, NULL, m, n),
                    .transpose_a = 1};
  assert_ok(op_gemm(k, &op));
  assert_all_close(values_of(k, op.c), expected, m * n, real_tolerance(k));
}

TEST(a_sum_over_a_million_neighbours_keeps_its_digits) {
  on_every_table(check_sum);
}

TEST(a_mean_over_a_million_neighbours_keeps_its_digits) {
  on_every_table(check_mean);
}

TEST(gradients_of_who_won_a_million_times_keep_their_digits) {
  on_every_table(check_won);
}

TEST(attention_over_many_neighbours_keeps_its_digits) {
  on_every_table(check_attention);
}

TEST(gradients_from_many_neighbours_keep_their_digits) {
  on_every_table(check_attention_backward);
}

TEST(dynamic_attention_over_many_neighbours_keeps_its_digits) {
  on_every_table(check_dynamic);
}

TEST(gradients_of_dynamic_attention_keep_their_digits) {
  on_every_table(check_dynamic_backward);
}

TEST(attention_by_cosines_over_many_neighbours_keeps_its_digits) {
  on_every_table(check_cosine);
}

TEST(gradients_by_cosines_from_many_neighbours_keep_their_digits) {
  on_every_table(check_cosine_backward);
}

TEST(gradients_of_weights_from_a_million_rows_keep_their_digits) {
  on_every_table(check_weight_gradient);
}
