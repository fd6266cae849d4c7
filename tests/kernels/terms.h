/* What tests of attention by terms share: the forward op and its gradients beside double loops. */
#ifndef TESTS_KERNELS_TERMS_H
#define TESTS_KERNELS_TERMS_H

#include "tests/kernels/heads.h"

/* Columns' terms are `most` for odd ones and -most for even ones, rows' 0. */
static int alternates;

static inline double in_eighths(double x) {
  return floor(x * 8) / 8;
}

/* Eighths up to `most`: sums of two are exact, and far beyond what exp takes. Halves hold them, which tell
 * tiles on what side of LeakyReLU an arc is: sums of others near 0 may count among the other side's there. */
static inline double *terms_block(uint64_t seed, int64_t rows, double most) {
  double *value = noise_block(seed, rows * heads);
  for (int64_t i = 0; i < rows * heads; i++) value[i] = in_eighths(value[i] * most);
  for (int64_t i = 0; alternates && i < rows * heads; i++)
    value[i] = seed == 3 ? 0 : i / heads % 2 ? most : -most;
  return value;
}

static inline double score_of(double sum) {
  return sum > 0 ? sum : .2 * sum;
}

struct terms {
  const double *term, *row_term;
};

static inline double score_of_terms(const void *given, int64_t v, int64_t u, int64_t h, int *positive) {
  const struct terms *terms = given;
  const double sum = terms->term[u * heads + h] + terms->row_term[v * heads + h];
  *positive = sum > 0;
  return score_of(sum);
}

static inline void check_forward(struct kernels *k, double most, double rate, int64_t pad, int with_mean) {
  const int64_t cols = own + halo;
  const double *x = rounded(k, noise_block(1, cols * width), cols * width);
  const struct terms terms = {terms_block(2, cols, most), terms_block(3, own, most)};
  const struct scores scores = {&terms, score_of_terms};
  struct expected e = expected_block();
  struct attention op = {.term = real_matrix(k, terms.term, cols, heads),
                         .row_term = real_matrix(k, terms.row_term, own, heads),
                         .positive = padded_matrix(k, NULL, own, width, pad),
                         .share = real_matrix(k, NULL, own, heads)};
  if (k->dtype != k->real)
    op.sums = padded_matrix_of(k, k->real, NULL, own, attention_sums_cols(k, width), pad);
  check_both_parts(k, &op, x, pad, rate, with_mean, &scores, &e);
  assert_all_close(values_of(k, op.positive), e.positive, own * width, mean_tolerance(k));
  assert_all_close(values_of(k, op.share), e.share, own * heads, weights_tolerance(k));
}

/* What messages have of reals: row terms, log_sums, deltas. */
static inline double *reals_block(uint64_t seed, int64_t rows) {
  double *value = noise_block(seed, rows * 3 * heads);
  for (int64_t i = 0; i < rows * 3 * heads; i++)
    if (i / heads % 3 == 0) value[i] = in_eighths(value[i]);
  return value;
}

/* What the gradients are made of. */
struct given {
  double *x, *term, *dz, *reals, *l, *r, *row_term_grad;
  int64_t out;
};

static inline void expect_gradients(const struct dropout *dropout, const struct given *g, int64_t u,
                                    int64_t h, double *dx, double *term_grad) {
  int64_t from = g->out == width ? h * each : 0;
  for (int64_t v = 0; v < own + halo; v++) {
    if (u == v ? u >= own - own / 3 : !has_arc(u, v)) continue;
    const double *at = g->reals + v * 3 * heads, *dz = g->dz + v * g->out + from;
    double sum = g->term[u * heads + h] + at[h], a = exp(score_of(sum) - at[heads + h]), product = 0;
    double factor = kept(dropout, v, u, h) * (g->out == width ? 1 : 1.0 / (double)heads);
    for (int64_t j = 0; j < each; j++) {
      double dy = factor * dz[j];
      dx[u * width + h * each + j] += a * dy;
      product += dy * g->x[u * width + h * each + j];
    }
    term_grad[u * heads + h] += (sum > 0 ? 1 : .2) * a * (product - at[2 * heads + h]);
  }
  for (int64_t j = 0; j < each; j++)
    dx[u * width + h * each + j] += term_grad[u * heads + h] * g->l[h * each + j] +
                                    g->row_term_grad[u * heads + h] * g->r[h * each + j];
}

/* Row u of the pattern stands for the rows v = its columns of which u is a column. */
static inline void check_backward(struct kernels *k, int64_t out, double rate, int64_t pad) {
  struct parts parts;
  int64_t cols = own + halo;
  open_parts(k, &parts);
  set_scalars(k, (struct scalars){.epoch = EPOCH});
  const int64_t *id = global_ids(k, cols);
  struct given g = {rounded(k, noise_block(1, own * width), own * width),
                    terms_block(2, own, 2),
                    rounded(k, noise_block(3, cols * out), cols * out),
                    reals_block(4, cols),
                    noise_block(5, width),
                    noise_block(6, width),
                    noise_block(7, own * heads),
                    out};
  double *dx = host_block(own * width * 8), *term_grad = host_block(own * heads * 8);
  struct messages messages = make_messages(k, cols + late, attention_message_cols(k, out, heads), WIDE_GAPS);
  put(&messages, tensor_columns(messages.on_device, 0, out), late ? with_halo_first(g.dz, out) : g.dz);
  put(&messages, tensor_reals(k, messages.on_device, message_elements(k, out), 3 * heads),
      late ? with_halo_first(g.reals, 3 * heads) : g.reals);
  struct tensor all = upload_messages(k, &messages), mine = late ? own_rows(all) : tensor_rows(all, 0, own);
  struct attention_backward op = {
      .a = parts.own_layout,
      .heads = heads,
      .message = mine,
      .out = out,
      .self = tensor_rows(mine, 0, own - own / 3), /* the last rows have no arc with themselves */
      .x = padded_matrix(k, g.x, own, width, pad),
      .term = real_matrix(k, g.term, own, heads),
      .dropout = dropout_of(rate, random_key(1, 0, 0, RANDOM_DROPOUT_ATTENTION), id),
      .col_id = id,
      .has_halo = parts.has_halo,
      .l = padded_matrix_of(k, k->real, g.l, heads, each, pad),
      .r = padded_matrix_of(k, k->real, g.r, heads, each, pad),
      .row_term_grad = real_matrix(k, g.row_term_grad, own, heads),
      .dx = padded_matrix(k, NULL, own, width, pad),
      .term_grad = real_matrix(k, NULL, own, heads)};
  if (k->dtype != k->real) op.sums = padded_matrix_of(k, k->real, NULL, own, width, pad);
  for (int64_t i = 0; i < own * heads; i++)
    expect_gradients(&op.dropout, &g, i / heads, i % heads, dx, term_grad);
  if (late) {
    op.a = parts.late_layout;
    op.far = halo_rows(all);
    op.has_halo = NULL;
    assert_ok(op_attention_backward(k, &op));
  } else {
    assert_ok(op_attention_backward(k, &op));
    op.a = parts.halo_layout;
    op.message = tensor_rows(all, own, halo);
    op.self.data = NULL;
    op.col_id = id + own;
    op.accumulate = 1;
    op.has_halo = NULL;
    assert_ok(op_attention_backward(k, &op));
  }
  assert_all_close(values_of(k, op.dx), dx, own * width, mean_tolerance(k) + tolerance_of(k));
  /* In tiles weights are rounded, where they multiply dz and where they multiply deltas. */
  assert_all_close(values_of(k, op.term_grad), term_grad, own * heads,
                   2 * (plan_of_arcs.scores.heads > 0 ? tolerance_of(k) : real_tolerance(k)));
  close_parts(k, &parts);
}

#endif
