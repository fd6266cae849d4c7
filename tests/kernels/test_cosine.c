/* Ops of attention by cosines beside a double loop over all columns, computed in the two parts of a shard. */
#include "kernels/attention.h"
#include "runtime/csr.h"
#include "tests/kernels/every_table.h"

enum { OWN = 37, HALO = 11, COLS = OWN + HALO, WIDTH = 7, FULL = 2 * WIDTH + 3 };
static const double BETA = 1.75; /* exact in every type */

/* Row 0 has no arcs, every third row none from the halo; never (v <- v). */
static int has_arc(int64_t v, int64_t u) {
  if (v == 0 || u == v || (u >= OWN && v % 3 == 0)) return 0;
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

static double product(const double *x, const double *y) {
  double sum = 0;
  for (int64_t j = 0; j < WIDTH; j++) sum += x[j] * y[j];
  return sum;
}

static double inverse(const double *x) {
  return product(x, x) > 0 ? 1 / sqrt(product(x, x)) : 0;
}

static double cosine(const double *x, const double *y) {
  return product(x, y) * inverse(x) * inverse(y);
}

/* Rows of x, every ninth of them zero. */
static double *nodes_block(struct kernels *k) {
  double *x = rounded(k, noise_block(1, COLS * WIDTH), COLS * WIDTH);
  for (int64_t i = 0; i < COLS * WIDTH; i++) x[i] = i / WIDTH % 9 == 4 ? 0 : x[i];
  return x;
}

static void forward(struct kernels *k) {
  struct parts parts;
  if (!attention_is_there(k)) return;
  open_parts(k, &parts);
  uint8_t unfinished[OWN] = {0};
  for (int64_t i = 0; i < parts.halo.rows; i++) unfinished[parts.halo.row[i]] = 1;
  double *x = nodes_block(k), *y = host_block(OWN * WIDTH * 8), *log_sum = host_block(OWN * 8);
  struct cosine_rows rows = {.x = padded_matrix(k, x, COLS, WIDTH, 2),
                             .message = padded_matrix_of(k, k->real, NULL, COLS, WIDTH + 1, 3)};
  assert_ok(op_cosine_rows(k, &rows));
  struct cosine_attention op = {.a = parts.own_layout,
                                .message = tensor_rows(rows.message, 0, OWN),
                                .rows = tensor_rows(rows.message, 0, OWN),
                                .beta = reals(k, &BETA, 1),
                                .self = 1,
                                .unfinished = device_block(k, unfinished, sizeof unfinished),
                                .log_sum = real_matrix(k, NULL, OWN, 1),
                                .y = padded_matrix_of(k, k->real, NULL, OWN, WIDTH, 1)};
  struct update twice = {.z = op.y, .residual = op.y, .y = op.y};
  op.update = &twice; /* shows that each row is ended once */
  assert_ok(op_cosine_attention(k, &op));
  op.a = parts.halo_layout;
  op.message = tensor_rows(rows.message, OWN, HALO);
  op.self = 0;
  op.unfinished = NULL;
  op.accumulate = 1;
  assert_ok(op_cosine_attention(k, &op));
  for (int64_t v = 0; v < OWN; v++) {
    double total = 0;
    for (int64_t u = 0; u < COLS; u++) {
      if (u != v && !has_arc(v, u)) continue;
      double weight = exp(BETA * cosine(x + v * WIDTH, x + u * WIDTH));
      total += weight;
      for (int64_t j = 0; j < WIDTH; j++) y[v * WIDTH + j] += 2 * weight * x[u * WIDTH + j];
    }
    log_sum[v] = log(total);
    for (int64_t j = 0; j < WIDTH; j++) y[v * WIDTH + j] /= total;
  }
  assert_all_close(values_of(k, op.y), y, OWN * WIDTH, real_tolerance(k));
  assert_all_close(values_of(k, op.log_sum), log_sum, OWN, real_tolerance(k));
  close_parts(k, &parts);
}

static void two_parts_of_a_row_make_one_softmax(void **state) {
  (void)state;
  on_every_table(forward);
}

/* de of the arc (v <- u), from messages. */
static double score_gradient(const double *v, const double *u, double *a) {
  *a = exp(BETA * cosine(v, u) - v[2 * WIDTH + 1]);
  return *a * (product(v + WIDTH + 1, u) - v[2 * WIDTH + 2]);
}

static void check_backward(struct kernels *k, int arcs) {
  struct parts parts;
  open_parts(k, &parts);
  double *x = nodes_block(k), *dz = rounded(k, noise_block(2, COLS * WIDTH), COLS * WIDTH);
  double *y = noise_block(3, COLS * WIDTH), *log_sum = noise_block(4, COLS),
         *message = host_block(COLS * FULL * 8);
  double *dx = host_block(OWN * WIDTH * 8), *dn = host_block(OWN * WIDTH * 8), *db = host_block(OWN * 8);
  for (int64_t v = 0; v < COLS; v++) {
    double *at = message + v * FULL;
    memcpy(at, x + v * WIDTH, WIDTH * 8);
    at[WIDTH] = inverse(at);
    memcpy(at + WIDTH + 1, dz + v * WIDTH, WIDTH * 8);
    at[2 * WIDTH + 1] = log_sum[v];
    at[2 * WIDTH + 2] = product(dz + v * WIDTH, y + v * WIDTH);
  }
  struct cosine_rows rows = {.x = matrix(k, x, COLS, WIDTH),
                             .dz = padded_matrix(k, dz, COLS, WIDTH, 1),
                             .y = real_matrix(k, y, COLS, WIDTH),
                             .log_sum = real_matrix(k, log_sum, COLS, 1),
                             .message = padded_matrix_of(k, k->real, NULL, COLS, FULL, 2)};
  assert_ok(op_cosine_rows(k, &rows));
  assert_all_close(values_of(k, rows.message), message, COLS * FULL, real_tolerance(k));
  struct cosine_backward op = {.a = parts.own_layout,
                               .arcs = arcs,
                               .message = tensor_rows(rows.message, 0, OWN),
                               .rows = tensor_rows(rows.message, 0, OWN),
                               .beta = reals(k, &BETA, 1),
                               .self = 1,
                               .dx = padded_matrix_of(k, k->real, NULL, OWN, WIDTH, 1),
                               .dn = padded_matrix_of(k, k->real, NULL, OWN, WIDTH, 2),
                               .beta_grad = real_matrix(k, NULL, OWN, 1)};
  assert_ok(op_cosine_backward(k, &op));
  op.a = parts.halo_layout;
  op.message = tensor_rows(rows.message, OWN, HALO);
  op.self = 0;
  op.accumulate = 1;
  assert_ok(op_cosine_backward(k, &op));
  for (int64_t e = 0; e < OWN * COLS; e++) {
    int64_t i = e / COLS, j = e % COLS;
    const double *mine = message + i * FULL, *other = message + j * FULL;
    if (i != j && !has_arc(i, j)) continue;
    double a, in = arcs & COSINE_IN ? score_gradient(mine, other, &a) : 0;
    double out = arcs & COSINE_OUT ? score_gradient(other, mine, &a) : 0;
    db[i] += in * cosine(mine, other);
    for (int64_t c = 0; c < WIDTH; c++) {
      dn[i * WIDTH + c] += BETA * (in + out) * other[c] * other[WIDTH];
      dx[i * WIDTH + c] += arcs & COSINE_OUT ? a * other[WIDTH + 1 + c] : 0;
    }
  }
  assert_all_close(values_of(k, op.dx), dx, OWN * WIDTH, real_tolerance(k));
  assert_all_close(values_of(k, op.dn), dn, OWN * WIDTH, real_tolerance(k));
  assert_all_close(values_of(k, op.beta_grad), db, OWN, real_tolerance(k));
  close_parts(k, &parts);
}

static void backward(struct kernels *k) {
  if (!attention_is_there(k)) return;
  check_backward(k, COSINE_IN);
  check_backward(k, COSINE_OUT);
  check_backward(k, COSINE_IN | COSINE_OUT);
}

static void gradients_come_by_arcs_in_and_out(void **state) {
  (void)state;
  on_every_table(backward);
}

static void check_end(struct kernels *k, int with_residual) {
  double *x = nodes_block(k), *dx = noise_block(2, COLS * WIDTH), *dn = noise_block(3, COLS * WIDTH);
  double *residual = rounded(k, noise_block(4, COLS * WIDTH), COLS * WIDTH),
         *y = host_block(COLS * WIDTH * 8);
  struct cosine_rows rows = {.x = matrix(k, x, COLS, WIDTH),
                             .message = real_matrix(k, NULL, COLS, WIDTH + 1)};
  assert_ok(op_cosine_rows(k, &rows));
  struct cosine_end op = {.message = rows.message,
                          .dx = padded_matrix_of(k, k->real, dx, COLS, WIDTH, 1),
                          .dn = real_matrix(k, dn, COLS, WIDTH),
                          .y = padded_matrix(k, residual, COLS, WIDTH, 2)};
  if (with_residual) op.residual = op.y;
  assert_ok(op_cosine_end(k, &op));
  for (int64_t i = 0; i < COLS * WIDTH; i++) {
    const double *at = x + i / WIDTH * WIDTH;
    double along = product(dn + i / WIDTH * WIDTH, at) * inverse(at) * inverse(at);
    y[i] = dx[i] + inverse(at) * (dn[i] - along * x[i]) + (with_residual ? residual[i] : 0);
  }
  assert_all_close(values_of(k, op.y), y, COLS * WIDTH, tolerance_of(k));
}

static void end(struct kernels *k) {
  if (!attention_is_there(k)) return;
  check_end(k, 0);
  check_end(k, 1);
}

static void the_end_goes_through_the_norm(void **state) {
  (void)state;
  on_every_table(end);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_parts_of_a_row_make_one_softmax),
      cmocka_unit_test(gradients_come_by_arcs_in_and_out),
      cmocka_unit_test(the_end_goes_through_the_norm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
