/* What tests of attention by cosines share: both directions beside a double loop over all columns, computed
 * in the two parts of a shard. */
#ifndef TESTS_KERNELS_COSINES_H
#define TESTS_KERNELS_COSINES_H

#include "tests/kernels/arcs.h"

static double beta = 1.75;  /* exact in every type */
static int64_t width, cols; /* of x; all nodes */

static inline void set_graph(int64_t rows, int64_t halo_rows, double share, int with_full_row) {
  set_arcs(rows, halo_rows, share, with_full_row);
  cols = own + halo;
}

/* Of sums in that type; in tiles each of their weights is rounded, by up to a 256th. */
static inline double weights_tolerance(const struct kernels *k, enum dtype dtype) {
  return plan_of_arcs.scores.heads > 0 ? tolerance_of(k) : tolerance_in(k, dtype);
}

static inline double product(const double *x, const double *y) {
  double sum = 0;
  for (int64_t j = 0; j < width; j++) sum += x[j] * y[j];
  return sum;
}

static inline double inverse(const double *x) {
  return product(x, x) > 0 ? 1 / sqrt(product(x, x)) : 0;
}

static inline double cosine(const double *x, const double *y) {
  return product(x, y) * inverse(x) * inverse(y);
}

/* Rows of x, every ninth of them zero. */
static inline double *nodes_block(struct kernels *k) {
  double *x = rounded(k, noise_block(1, cols * width), cols * width);
  for (int64_t i = 0; i < cols * width; i++) x[i] = i / width % 9 == 4 ? 0 : x[i];
  return x;
}

/* Over the arcs from the first `count` columns, and with self from each row itself. A row of none is 0. */
static inline void expect_forward(const double *x, int64_t count, int self, double *y, double *log_sum) {
  for (int64_t v = 0; v < own; v++) {
    double total = 0;
    for (int64_t u = 0; u < count; u++) {
      if (u == v ? !self : !has_arc(v, u)) continue;
      double weight = exp(beta * cosine(x + v * width, x + u * width));
      total += weight;
      for (int64_t j = 0; j < width; j++) y[v * width + j] += weight * x[u * width + j];
    }
    log_sum[v] = log(total);
    for (int64_t j = 0; j < width && total > 0; j++) y[v * width + j] /= total;
  }
}

static inline void check_forward(struct kernels *k, int64_t pad) {
  struct parts parts;
  open_parts(k, &parts);
  double *x = nodes_block(k), *y = host_block(own * width * 8), *log_sum = host_block(own * 8);
  double *bias = noise_block(5, width);
  struct cosine_rows rows = {
      .x = padded_matrix(k, x, cols, width, pad),
      .message = padded_matrix(k, NULL, cols, cosine_message_cols(k, width, 0), WIDE_GAPS)};
  assert_ok(op_cosine_rows(k, &rows));
  struct cosine_attention op = {.a = parts.own_layout,
                                .message = tensor_rows(rows.message, 0, own),
                                .rows = tensor_rows(rows.message, 0, own),
                                .beta = reals(k, &beta, 1),
                                .self = 1,
                                .has_halo = parts.has_halo,
                                .log_sum = real_matrix(k, NULL, own, 1),
                                .y = padded_matrix(k, NULL, own, width, pad)};
  if (k->dtype != k->real) op.sums = padded_matrix_of(k, k->real, NULL, own, width, pad);
  struct epilogue epilogue = {.z = op.y, .bias = reals(k, bias, width), .y = op.y};
  op.epilogue = &epilogue; /* in place: ending a row twice would show */
  assert_ok(op_cosine_attention(k, &op));
  op.a = parts.halo_layout;
  op.message = tensor_rows(rows.message, own, halo);
  op.self = 0;
  op.has_halo = NULL;
  op.accumulate = 1;
  assert_ok(op_cosine_attention(k, &op));
  expect_forward(x, own + halo, 1, y, log_sum);
  for (int64_t i = 0; i < own * width; i++) y[i] += bias[i % width];
  assert_all_close(values_of(k, op.y), y, own * width, 2 * tolerance_of(k));
  assert_all_close(values_of(k, op.log_sum), log_sum, own, weights_tolerance(k, k->real));
  close_parts(k, &parts);
}

/* A node as the reference has it. */
struct node {
  const double *x, *dz;
  double inverse, log_sum, delta;
};

/* de of the arc (v <- u). */
static inline double score_gradient(const struct node *v, const struct node *u, double *a) {
  *a = exp(beta * product(v->x, u->x) * v->inverse * u->inverse - v->log_sum);
  return *a * (product(v->dz, u->x) - v->delta);
}

struct gradients {
  double *dx, *dn, *beta;
};

static inline void expect_entry(const struct node *node, int arcs, int64_t i, int64_t j,
                                struct gradients *to) {
  const struct node *mine = &node[i], *other = &node[j];
  double a = 0, in = arcs & COSINE_IN ? score_gradient(mine, other, &a) : 0;
  double out = arcs & COSINE_OUT ? score_gradient(other, mine, &a) : 0;
  to->beta[i] += in * product(mine->x, other->x) * mine->inverse * other->inverse;
  for (int64_t c = 0; c < width; c++) {
    to->dn[i * width + c] += beta * (in + out) * other->x[c] * other->inverse;
    to->dx[i * width + c] += arcs & COSINE_OUT ? a * other->dz[c] : 0;
  }
}

static inline struct node *nodes_of(const double *x, const double *dz, const double *y,
                                    const double *log_sum) {
  struct node *node = host_block(cols * (int64_t)sizeof *node);
  for (int64_t v = 0; v < cols; v++)
    node[v] = (struct node){x + v * width, dz + v * width, inverse(x + v * width), log_sum[v],
                            product(dz + v * width, y + v * width)};
  return node;
}

static inline void check_messages(struct kernels *k, struct tensor message, const struct node *node) {
  struct cosine_message parts = cosine_parts(k, message, width);
  double *inverses = piece_values(k, parts.inverse), *log_sums = piece_values(k, parts.log_sum);
  double *deltas = piece_values(k, parts.delta), *x = piece_values(k, parts.x),
         *dz = piece_values(k, parts.dz);
  assert_all_equal(x, node->x, cols * width);
  assert_all_equal(dz, node->dz, cols * width);
  for (int64_t v = 0; v < cols; v++) {
    const double expected[] = {node[v].inverse, node[v].log_sum, node[v].delta};
    const double actual[] = {inverses[v], log_sums[v], deltas[v]};
    assert_all_close(actual, expected, 3, real_tolerance(k));
  }
}

/* in_parts: the halo's as well, which adds to reals; else gradients of own arcs alone, in elements. */
static inline void check_backward(struct kernels *k, int arcs, int in_parts, int64_t pad) {
  struct parts parts;
  enum dtype dtype = in_parts ? k->real : k->dtype;
  open_parts(k, &parts);
  double *x = nodes_block(k), *dz = rounded(k, noise_block(2, cols * width), cols * width);
  double *y = rounded(k, noise_block(3, cols * width), cols * width), *log_sum = noise_block(4, cols);
  for (int64_t v = 0; v < cols; v++) log_sum[v] += 3 + (fabs(beta) > 2 ? fabs(beta) : 0);
  struct node *node = nodes_of(x, dz, y, log_sum);
  struct gradients to = {host_block(own * width * 8), host_block(own * width * 8), host_block(own * 8)};
  struct cosine_rows rows = {
      .x = padded_matrix(k, x, cols, width, pad),
      .dz = padded_matrix(k, dz, cols, width, pad),
      .y = padded_matrix(k, y, cols, width, pad),
      .log_sum = real_matrix(k, log_sum, cols, 1),
      .message = padded_matrix(k, NULL, cols, cosine_message_cols(k, width, 1), WIDE_GAPS)};
  assert_ok(op_cosine_rows(k, &rows));
  check_messages(k, rows.message, node);
  struct cosine_backward op = {.a = parts.own_layout,
                               .arcs = arcs,
                               .message = tensor_rows(rows.message, 0, own),
                               .rows = tensor_rows(rows.message, 0, own),
                               .beta = reals(k, &beta, 1),
                               .selves = own - own / 3, /* the last rows have no arc with themselves */
                               .dx = padded_matrix_of(k, dtype, NULL, own, width, pad),
                               .dn = padded_matrix_of(k, dtype, NULL, own, width, pad),
                               .beta_grad = padded_matrix_of(k, k->real, NULL, own, 1, pad)};
  assert_ok(op_cosine_backward(k, &op));
  op.a = parts.halo_layout;
  op.message = tensor_rows(rows.message, own, halo);
  op.selves = 0;
  op.accumulate = 1;
  if (in_parts) assert_ok(op_cosine_backward(k, &op));
  for (int64_t e = 0; e < own * cols; e++)
    if (e / cols == e % cols ? e / cols < own - own / 3
                             : has_arc(e / cols, e % cols) && (in_parts || e % cols < own))
      expect_entry(node, arcs, e / cols, e % cols, &to);
  assert_all_close(values_of(k, op.dx), to.dx, own * width, 2 * weights_tolerance(k, dtype));
  assert_all_close(values_of(k, op.dn), to.dn, own * width, 2 * weights_tolerance(k, dtype));
  assert_all_close(values_of(k, op.beta_grad), to.beta, own, 2 * weights_tolerance(k, k->real));
  close_parts(k, &parts);
}

#endif
