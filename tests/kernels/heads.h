/* What tests of graph attention share: heads, dropout of arcs, and the forward op beside a double loop over
 * all columns, computed in the two parts of a shard. */
#ifndef TESTS_KERNELS_HEADS_H
#define TESTS_KERNELS_HEADS_H

#include "tests/kernels/arcs.h"

enum { EPOCH = 5 };

/* Heads, columns of each, of all. */
static int64_t heads, each, width;

static inline void set_heads(int64_t count, int64_t columns) {
  heads = count;
  each = columns;
  width = heads * each;
}

/* As struct dropout has it for columns, with the arc's ids in the counter. */
static inline double kept(const struct dropout *op, int64_t v, int64_t u, int64_t h) {
  uint64_t row = (uint64_t)global_id(v), col = (uint64_t)global_id(u);
  if (op->threshold == 0) return 1;
  uint32_t high = (uint32_t)((uint64_t)h / 8 + (row >> 32) * 256 + (col >> 32) * 1048576);
  uint32_t word =
      philox((struct philox_block){{(uint32_t)row, (uint32_t)col, high, EPOCH}}, op->key).word[h % 8 / 2];
  return (h % 2 ? word >> 16 : word & 0xFFFF) >= op->threshold ? op->wide_scale : 0;
}

/* What scores are made of, and e_vu of head h; *positive: whether it counts among the positive arcs. */
struct scores {
  const void *given;
  double (*of)(const void *given, int64_t v, int64_t u, int64_t h, int *positive);
};

struct expected {
  double *y, *positive, *mean, *share, *log_sum;
};

static inline struct expected expected_block(void) {
  return (struct expected){host_block(own * width * 8), host_block(own * width * 8),
                           host_block(own * each * 8), host_block(own * heads * 8),
                           host_block(own * heads * 8)};
}

/* Head i % heads of row i / heads. */
static inline void expect_row(const struct dropout *dropout, const double *x, const struct scores *scores,
                              int64_t i, struct expected *e) {
  const int64_t v = i / heads, h = i % heads, cols = own + halo;
  double max = -INFINITY, total = 0, *score = malloc((size_t)cols * sizeof *score);
  int *positive = calloc((size_t)cols, sizeof *positive);
  for (int64_t u = 0; u < cols; u++) {
    score[u] = u == v || has_arc(v, u) ? scores->of(scores->given, v, u, h, &positive[u]) : -INFINITY;
    max = fmax(max, score[u]);
  }
  for (int64_t u = 0; u < cols; u++) total += exp(score[u] - max);
  e->log_sum[i] = max + log(total);
  for (int64_t u = 0; u < cols; u++) {
    if (score[u] == -INFINITY) continue;
    const double a = exp(score[u] - max) / total, factor = a * kept(dropout, v, u, h);
    e->share[i] += positive[u] ? a : 0;
    for (int64_t j = h * each; j < (h + 1) * each; j++) {
      const double part = factor * x[u * width + j];
      e->y[v * width + j] += part;
      e->positive[v * width + j] += positive[u] ? part : 0;
      e->mean[v * each + j - h * each] += part / (double)heads;
    }
  }
  free(positive);
  free(score);
}

/* Of a row's mean: in tiles its weights are rounded, each by up to as much as the mean is. */
static inline double mean_tolerance(const struct kernels *k) {
  return (plan_of_arcs.scores.heads > 0 ? 2 : 1) * tolerance_of(k);
}

/* Of sums of the weights alone: in tiles these have been rounded, by up to a 256th each. */
static inline double weights_tolerance(const struct kernels *k) {
  return plan_of_arcs.scores.heads > 0 ? tolerance_of(k) : real_tolerance(k);
}

/* x and terms of rows that are late, side by side. */
static inline void place_late(struct kernels *k, const double *x, struct attention *op) {
  const int64_t behind = message_elements(k, width);
  struct messages messages = make_messages(k, own + halo + 1, behind + message_reals(k, heads), WIDE_GAPS);
  const struct tensor rows = tensor_columns(messages.on_device, 0, width);
  const struct tensor terms = tensor_reals(k, messages.on_device, behind, heads);
  put(&messages, rows, with_halo_first(x, width));
  put(&messages, terms, with_halo_first(values_of(k, op->term), heads));
  upload_messages(k, &messages);
  op->x = op->self.x = own_rows(rows);
  op->term = op->self.term = own_rows(terms);
  op->far.x = halo_rows(rows);
  op->far.term = halo_rows(terms);
}

/* Runs op, which has the scores' tensors and the outputs of its own, over both parts, or over rows that are
 * late. all: x, [own + halo,
 * width]. with_mean: over the heads, into a real matrix that is ended in place, so that ending a row twice
 * would show; else y is ended into a matrix of its own. Results beside e, but `positive` and `share`. */
static inline void check_both_parts(struct kernels *k, struct attention *op, const double *x, int64_t pad,
                                    double rate, int with_mean, const struct scores *scores,
                                    struct expected *e) {
  struct parts parts;
  const int64_t cols = own + halo;
  open_parts(k, &parts);
  set_scalars(k, (struct scalars){.epoch = EPOCH});
  const int64_t *id = global_ids(k, cols);
  const struct tensor all = padded_matrix(k, x, cols, width, pad), terms = op->term;
  op->a = parts.own_layout;
  op->heads = heads;
  op->x = op->self.x = tensor_rows(all, 0, own);
  op->term = op->self.term = terms.data ? tensor_rows(terms, 0, own) : terms;
  op->dropout = dropout_of(rate, random_key(1, 0, 0, RANDOM_DROPOUT_ATTENTION), id);
  op->col_id = id;
  op->has_halo = parts.has_halo;
  op->log_sum = real_matrix(k, NULL, own, heads);
  op->y = padded_matrix(k, NULL, own, width, pad);
  if (with_mean) op->mean = padded_matrix_of(k, k->real, NULL, own, each, 1);
  double *bias = noise_block(4, width), *ended = host_block(own * width * 8);
  struct epilogue epilogue = {.z = with_mean ? op->mean : op->y, .bias = reals(k, bias, width)};
  epilogue.y = with_mean ? op->mean : padded_matrix(k, NULL, own, width, pad);
  op->epilogue = &epilogue;
#pragma omp parallel for num_threads(2)
  for (int64_t v = 0; v < own; v++)
    for (int64_t i = v * heads; i < (v + 1) * heads; i++) expect_row(&op->dropout, x, scores, i, e);
  if (late) {
    op->a = parts.late_layout;
    op->term = terms;
    place_late(k, x, op);
    op->has_halo = NULL;
    assert_ok(op_attention(k, op));
  } else {
    assert_ok(op_attention(k, op));
    op->a = parts.halo_layout;
    op->x = tensor_rows(all, own, halo);
    if (terms.data) op->term = tensor_rows(terms, own, halo);
    op->self.x.data = op->self.term.data = NULL;
    op->col_id = id + own;
    op->has_halo = NULL;
    op->accumulate = 1;
    assert_ok(op_attention(k, op));
  }
  for (int64_t i = 0; i < own * each; i++) e->mean[i] += bias[i % each];
  for (int64_t i = 0; i < own * width; i++) ended[i] = e->y[i] + bias[i % width];
  assert_all_close(values_of(k, op->y), e->y, own * width, mean_tolerance(k));
  assert_all_close(values_of(k, op->log_sum), e->log_sum, own * heads, weights_tolerance(k));
  if (with_mean)
    assert_all_close(values_of(k, op->mean), e->mean, own * each, mean_tolerance(k));
  else
    assert_all_close(values_of(k, epilogue.y), ended, own * width, mean_tolerance(k) + tolerance_of(k));
  close_parts(k, &parts);
}

#endif
