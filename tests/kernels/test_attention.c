/* Ops of graph attention beside a double loop over all columns, computed in the two parts of a shard. */
#include "kernels/attention.h"
#include "runtime/csr.h"
#include "tests/kernels/every_table.h"

enum { OWN = 37, HALO = 11, COLS = OWN + HALO, HEADS = 10, EACH = 3, WIDTH = HEADS * EACH, EPOCH = 5 };

/* Rows 4, 14, ... have no arcs, every third row none from the halo; never (v <- v). */
static int has_arc(int64_t v, int64_t u) {
  if (v % 10 == 4 || u == v || (u >= OWN && v % 3 == 0)) return 0;
  return noise(31, v * COLS + u) < -.5;
}

/* The columns [first, end) of the pattern; `listed`: without empty rows, as the halo's part is. */
static void make_part(struct csr *m, int64_t first, int64_t end, int listed) {
  int64_t rows = 0;
  assert_ok(csr_init(m, OWN, end - first, OWN * (end - first), 0));
  if (listed) assert_ok(memory_alloc(&m->row, OWN * (int64_t)sizeof *m->row, "test"));
  m->nnz = 0;
  for (int64_t v = 0; v < OWN; v++) {
    int64_t before = m->nnz;
    for (int64_t u = first; u < end; u++)
      if (has_arc(v, u)) m->col[m->nnz++] = (int32_t)(u - first);
    if (listed && m->nnz == before) continue;
    if (listed) m->row[rows] = (int32_t)v;
    m->start[++rows] = m->nnz;
  }
  m->rows = rows;
}

struct parts {
  struct csr own, halo;
  struct layout *own_layout, *halo_layout;
};

static void open_parts(struct kernels *k, struct parts *p) {
  *p = (struct parts){0};
  make_part(&p->own, 0, OWN, 0);
  make_part(&p->halo, OWN, COLS, 1);
  assert_true(p->halo.rows > 0 && p->halo.rows < OWN);
  assert_ok(layout_init(k, &p->own, NULL, &p->own_layout));
  assert_ok(layout_init(k, &p->halo, NULL, &p->halo_layout));
}

static void close_parts(struct kernels *k, struct parts *p) {
  layout_free(k, p->own_layout);
  layout_free(k, p->halo_layout);
  csr_free(&p->own);
  csr_free(&p->halo);
}

/* Eighths up to `most`: sums of two are exact, and far beyond what exp takes. */
static double *terms_block(uint64_t seed, int64_t rows, double most) {
  double *value = noise_block(seed, rows * HEADS);
  for (int64_t i = 0; i < rows * HEADS; i++) value[i] = floor(value[i] * most * 8) / 8;
  return value;
}

static double score_of(double sum) {
  return sum > 0 ? sum : .2 * sum;
}

/* As struct dropout has it for columns, with the arc's ids in the counter. */
static double kept(const struct dropout *op, int64_t v, int64_t u, int64_t h) {
  uint64_t row = (uint64_t)global_id(v), col = (uint64_t)global_id(u);
  uint32_t high = (uint32_t)((uint64_t)h / 8 + (row >> 32) * 256 + (col >> 32) * 1048576);
  uint32_t word =
      philox((struct philox_block){{(uint32_t)row, (uint32_t)col, high, EPOCH}}, op->key).word[h % 8 / 2];
  return (h % 2 ? word >> 16 : word & 0xFFFF) >= op->threshold ? (double)op->scale : 0;
}

struct expected {
  double *y, *positive, *mean, *share, *log_sum;
};

static struct expected expect(const struct dropout *dropout, const double *x, const double *term,
                              const double *row_term) {
  struct expected e = {host_block(OWN * WIDTH * 8), host_block(OWN * WIDTH * 8), host_block(OWN * EACH * 8),
                       host_block(OWN * HEADS * 8), host_block(OWN * HEADS * 8)};
  for (int64_t i = 0; i < OWN * HEADS; i++) {
    int64_t v = i / HEADS, h = i % HEADS;
    double max = -INFINITY, total = 0;
    for (int64_t u = 0; u < COLS; u++)
      if (u == v || has_arc(v, u)) max = fmax(max, score_of(term[u * HEADS + h] + row_term[i]));
    for (int64_t u = 0; u < COLS; u++)
      if (u == v || has_arc(v, u)) total += exp(score_of(term[u * HEADS + h] + row_term[i]) - max);
    e.log_sum[i] = max + log(total);
    for (int64_t u = 0; u < COLS; u++) {
      if (u != v && !has_arc(v, u)) continue;
      double sum = term[u * HEADS + h] + row_term[i], a = exp(score_of(sum) - max) / total;
      e.share[i] += sum > 0 ? a : 0;
      for (int64_t j = h * EACH; j < (h + 1) * EACH; j++) {
        double part = a * kept(dropout, v, u, h) * x[u * WIDTH + j];
        e.y[v * WIDTH + j] += part;
        e.positive[v * WIDTH + j] += sum > 0 ? part : 0;
        e.mean[v * EACH + j - h * EACH] += part / HEADS;
      }
    }
  }
  return e;
}

static void check_forward(struct kernels *k, double most, double rate) {
  struct parts parts;
  open_parts(k, &parts);
  set_scalars(k, (struct scalars){.epoch = EPOCH});
  const int64_t *id = global_ids(k, COLS);
  uint8_t unfinished[OWN] = {0};
  for (int64_t i = 0; i < parts.halo.rows; i++) unfinished[parts.halo.row[i]] = 1;
  double *x = rounded(k, noise_block(1, COLS * WIDTH), COLS * WIDTH);
  double *term = terms_block(2, COLS, most), *row_term = terms_block(3, OWN, most);
  struct tensor all = padded_matrix(k, x, COLS, WIDTH, 2), terms = real_matrix(k, term, COLS, HEADS);
  struct attention op = {.a = parts.own_layout,
                         .heads = HEADS,
                         .x = tensor_rows(all, 0, OWN),
                         .term = tensor_rows(terms, 0, OWN),
                         .self = tensor_rows(all, 0, OWN),
                         .self_term = tensor_rows(terms, 0, OWN),
                         .row_term = real_matrix(k, row_term, OWN, HEADS),
                         .dropout = dropout_of(rate, random_key(1, 0, 0, RANDOM_DROPOUT_ATTENTION), id),
                         .col_id = id,
                         .unfinished = device_block(k, unfinished, sizeof unfinished),
                         .log_sum = real_matrix(k, NULL, OWN, HEADS),
                         .positive = padded_matrix_of(k, k->real, NULL, OWN, WIDTH, 1),
                         .share = real_matrix(k, NULL, OWN, HEADS),
                         .y = padded_matrix_of(k, k->real, NULL, OWN, WIDTH, 3),
                         .mean = padded_matrix_of(k, k->real, NULL, OWN, EACH, 1)};
  struct update twice = {.z = op.mean, .residual = op.mean, .y = op.mean};
  op.update = &twice; /* shows that each row is ended once */
  struct expected e = expect(&op.dropout, x, term, row_term);
  assert_ok(op_attention(k, &op));
  op.a = parts.halo_layout;
  op.x = tensor_rows(all, OWN, HALO);
  op.term = tensor_rows(terms, OWN, HALO);
  op.self.data = op.self_term.data = NULL;
  op.col_id = id + OWN;
  op.unfinished = NULL;
  op.accumulate = 1;
  assert_ok(op_attention(k, &op));
  for (int64_t i = 0; i < OWN * EACH; i++) e.mean[i] *= 2;
  assert_all_close(values_of(k, op.y), e.y, OWN * WIDTH, real_tolerance(k));
  assert_all_close(values_of(k, op.positive), e.positive, OWN * WIDTH, real_tolerance(k));
  assert_all_close(values_of(k, op.mean), e.mean, OWN * EACH, real_tolerance(k));
  assert_all_close(values_of(k, op.share), e.share, OWN * HEADS, real_tolerance(k));
  assert_all_close(values_of(k, op.log_sum), e.log_sum, OWN * HEADS, real_tolerance(k));
  close_parts(k, &parts);
}

static void forward(struct kernels *k) {
  if (!attention_is_there(k)) return;
  check_forward(k, 2, 0);
  check_forward(k, 2, .4);
  check_forward(k, 60, .4);
}

static void two_parts_of_a_row_make_one_softmax(void **state) {
  (void)state;
  on_every_table(forward);
}

/* out: columns of dz, WIDTH or of the mean EACH. */
static void check_rows(struct kernels *k, int64_t out) {
  int64_t cols = out + 3 * HEADS;
  double factor = out == WIDTH ? 1 : 1.0 / HEADS, *block[6], *grad = host_block(OWN * HEADS * 8);
  double *message = host_block(OWN * cols * 8);
  static const int64_t wide[] = {0, HEADS, HEADS, HEADS, WIDTH, WIDTH};
  for (int i = 0; i < 6; i++) {
    int64_t count = OWN * (i ? wide[i] : out);
    block[i] = rounded(k, noise_block(10 + (uint64_t)i, count), count);
  }
  for (int64_t i = 0; i < OWN * HEADS; i++) {
    int64_t v = i / HEADS, h = i % HEADS;
    double delta = 0, positive = 0, *at = message + v * cols;
    for (int64_t j = 0; j < EACH; j++) {
      double dy = factor * block[0][v * out + (out == WIDTH ? h * EACH : 0) + j];
      delta += dy * block[4][v * WIDTH + h * EACH + j];
      positive += dy * block[5][v * WIDTH + h * EACH + j];
    }
    for (int64_t j = 0; j < out; j++) at[j] = block[0][v * out + j];
    at[out + h] = block[1][i];
    at[out + HEADS + h] = block[2][i];
    at[out + 2 * HEADS + h] = delta;
    grad[i] = .8 * (positive - delta * block[3][i]);
  }
  struct attention_rows op = {.heads = HEADS,
                              .dz = padded_matrix(k, block[0], OWN, out, 1),
                              .row_term = real_matrix(k, block[1], OWN, HEADS),
                              .log_sum = real_matrix(k, block[2], OWN, HEADS),
                              .share = real_matrix(k, block[3], OWN, HEADS),
                              .y = padded_matrix_of(k, k->real, block[4], OWN, WIDTH, 2),
                              .positive = real_matrix(k, block[5], OWN, WIDTH),
                              .message = padded_matrix_of(k, k->real, NULL, OWN, cols, 3),
                              .row_term_grad = real_matrix(k, NULL, OWN, HEADS)};
  assert_ok(op_attention_rows(k, &op));
  assert_all_close(values_of(k, op.message), message, OWN * cols, real_tolerance(k));
  assert_all_close(values_of(k, op.row_term_grad), grad, OWN * HEADS, real_tolerance(k));
}

static void rows(struct kernels *k) {
  if (!attention_is_there(k)) return;
  check_rows(k, WIDTH);
  check_rows(k, EACH);
}

static void rows_say_what_their_arcs_need(void **state) {
  (void)state;
  on_every_table(rows);
}

/* Row u of the pattern stands for the rows v = its columns of which u is a column. */
static void check_backward(struct kernels *k, int64_t out, double rate) {
  struct parts parts;
  int64_t cols = out + 3 * HEADS;
  open_parts(k, &parts);
  set_scalars(k, (struct scalars){.epoch = EPOCH});
  const int64_t *id = global_ids(k, COLS);
  double *x = rounded(k, noise_block(1, OWN * WIDTH), OWN * WIDTH), *term = terms_block(2, OWN, 2);
  double *message = rounded(k, noise_block(3, COLS * cols), COLS * cols);
  double *dx = host_block(OWN * WIDTH * 8), *term_grad = host_block(OWN * HEADS * 8);
  struct tensor all = padded_matrix_of(k, k->real, message, COLS, cols, 1);
  struct attention_backward op = {
      .a = parts.own_layout,
      .heads = HEADS,
      .message = tensor_rows(all, 0, OWN),
      .self = tensor_rows(all, 0, OWN),
      .x = matrix(k, x, OWN, WIDTH),
      .term = real_matrix(k, term, OWN, HEADS),
      .dropout = dropout_of(rate, random_key(1, 0, 0, RANDOM_DROPOUT_ATTENTION), id),
      .col_id = id,
      .dx = padded_matrix_of(k, k->real, NULL, OWN, WIDTH, 2),
      .term_grad = real_matrix(k, NULL, OWN, HEADS)};
  for (int64_t i = 0; i < OWN * COLS * HEADS; i++) {
    int64_t u = i / HEADS / COLS, v = i / HEADS % COLS, h = i % HEADS;
    if (u != v && !has_arc(u, v)) continue;
    const double *at = message + v * cols;
    double sum = term[u * HEADS + h] + at[out + h], a = exp(score_of(sum) - at[out + HEADS + h]), product = 0;
    double factor = kept(&op.dropout, v, u, h) * (out == WIDTH ? 1 : 1.0 / HEADS);
    for (int64_t j = 0; j < EACH; j++) {
      double dy = factor * at[(out == WIDTH ? h * EACH : 0) + j];
      dx[u * WIDTH + h * EACH + j] += a * dy;
      product += dy * x[u * WIDTH + h * EACH + j];
    }
    term_grad[u * HEADS + h] += (sum > 0 ? 1 : .2) * a * (product - at[out + 2 * HEADS + h]);
  }
  assert_ok(op_attention_backward(k, &op));
  op.a = parts.halo_layout;
  op.message = tensor_rows(all, OWN, HALO);
  op.self.data = NULL;
  op.col_id = id + OWN;
  op.accumulate = 1;
  assert_ok(op_attention_backward(k, &op));
  assert_all_close(values_of(k, op.dx), dx, OWN * WIDTH, real_tolerance(k));
  assert_all_close(values_of(k, op.term_grad), term_grad, OWN * HEADS, real_tolerance(k));
  close_parts(k, &parts);
}

static void backward(struct kernels *k) {
  if (!attention_is_there(k)) return;
  check_backward(k, WIDTH, 0);
  check_backward(k, WIDTH, .4);
  check_backward(k, EACH, .4);
}

static void gradients_are_gathered_over_both_parts(void **state) {
  (void)state;
  on_every_table(backward);
}

static void terms(struct kernels *k) {
  if (!attention_is_there(k)) return;
  double *x = integer_block(1, OWN * WIDTH), *l = integer_block(2, WIDTH), *r = integer_block(3, WIDTH);
  double *left = host_block(OWN * HEADS * 8), *right = host_block(OWN * HEADS * 8);
  double *dl = integer_block(4, OWN * HEADS), *dr = integer_block(5, OWN * HEADS);
  double *dx = integer_block(6, OWN * WIDTH), *l_grad = host_block(WIDTH * 8),
         *r_grad = host_block(WIDTH * 8);
  struct attention_terms op = {.x = padded_matrix(k, x, OWN, WIDTH, 2),
                               .l = padded_matrix_of(k, k->real, l, HEADS, EACH, 5),
                               .r = padded_matrix_of(k, k->real, r, HEADS, EACH, 5),
                               .left = real_matrix(k, NULL, OWN, HEADS),
                               .right = padded_matrix_of(k, k->real, NULL, OWN, HEADS, 1)};
  struct attention_terms_backward back = {.forward = &op,
                                          .left_grad = real_matrix(k, dl, OWN, HEADS),
                                          .right_grad = real_matrix(k, dr, OWN, HEADS),
                                          .dx = padded_matrix_of(k, k->real, dx, OWN, WIDTH, 1),
                                          .l_grad = padded_matrix_of(k, k->real, NULL, HEADS, EACH, 5),
                                          .r_grad = padded_matrix_of(k, k->real, NULL, HEADS, EACH, 5)};
  for (int64_t i = 0; i < OWN * WIDTH; i++) {
    int64_t head = i / EACH, column = i % WIDTH;
    left[head] += x[i] * l[column];
    right[head] += x[i] * r[column];
    l_grad[column] += dl[head] * x[i];
    r_grad[column] += dr[head] * x[i];
    dx[i] += dl[head] * l[column] + dr[head] * r[column];
  }
  assert_ok(op_attention_terms(k, &op));
  assert_ok(op_attention_terms_backward(k, &back));
  assert_all_equal(values_of(k, op.left), left, OWN * HEADS);
  assert_all_equal(values_of(k, op.right), right, OWN * HEADS);
  assert_all_equal(values_of(k, back.dx), dx, OWN * WIDTH);
  assert_all_equal(values_of(k, back.l_grad), l_grad, WIDTH);
  assert_all_equal(values_of(k, back.r_grad), r_grad, WIDTH);
}

static void terms_and_their_gradients_are_exact_on_integers(void **state) {
  (void)state;
  on_every_table(terms);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_parts_of_a_row_make_one_softmax),
      cmocka_unit_test(rows_say_what_their_arcs_need),
      cmocka_unit_test(gradients_are_gathered_over_both_parts),
      cmocka_unit_test(terms_and_their_gradients_are_exact_on_integers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
