#include "kernels/cost/cost_attention.h"

#include "runtime/base/tensor.h"

static const int64_t width_of[COST_WIDTHS] = {32, 64, 128, 256, 512};

static void add_scores(double arc[COST_ELEMENTS][COST_WIDTHS], double factor) {
  for (int i = 0; i < COST_ELEMENTS * COST_WIDTHS; i++) arc[i / COST_WIDTHS][i % COST_WIDTHS] *= factor;
}

struct cost_model cost_attention(const struct cost_model *model, int64_t heads) {
  struct cost_model attention = *model;
  add_scores(attention.near, model->pass.scores);
  add_scores(attention.cached, model->pass.scores);
  add_scores(attention.distant, model->pass.scores);
  attention.result.merge_byte *= 2;
  for (int w = 0; w < COST_WIDTHS; w++) {
    int64_t columns = (width_of[w] + ATTENTION_COLUMNS - 1) / ATTENTION_COLUMNS;
    double weights = (double)(heads > columns ? heads : columns);
    double *tile = &attention.tile[COST_BF16][w];
    if (*tile > 0) *tile = weights * model->pass.weight + 2 * *tile;
    attention.tile[COST_FP32][w] = 0;
  }
  return attention;
}

/* By pass: rows that an arc brings, products that a tile takes, the share of ways back, and how much longer
 * messages are than rows of X, of 32 to 64 columns. */
static const double rows_of[] = {1, 2, 1.5}, products_of[] = {2, 5, 3.5}, back_of[] = {0, 1, .5},
                    longer[] = {2, 3, 2.5};

/* The arcs of a sum at the widths of messages, which have reals and, on the way back, a second row. */
static void bring_messages(const double arc[COST_WIDTHS], double factor, double back, int bytes,
                           double of[COST_WIDTHS]) {
  for (int w = 0; w < COST_WIDTHS; w++) {
    const int64_t row = width_of[w] * bytes, real = sizeof(float);
    const double there = (double)tensor_pitch(row + real) / bytes,
                 behind = (double)tensor_pitch(2 * row + 3 * real) / bytes;
    of[w] = factor * ((1 - back) * cost_at_width(arc, there) + back * cost_at_width(arc, behind));
  }
}

/* A product of a tile's cell. Tiles of a plain sum multiply 64 columns, however few X has; these multiply 32
 * in half the time. */
static double product_of_cosines(const struct cost_model *model, int w) {
  const double *tile = model->tile[COST_BF16];
  return w == 0 ? tile[1] * (double)width_of[0] / (double)width_of[1] : tile[w];
}

/* Of two blocks of column vectors: cost_vectors_rule takes half. */
static double block_of_cosines(const struct cost_model *model, enum cosine_pass pass, int w) {
  const double block = model->block[COST_BF16][w], cells = 2 * VECTOR_ROWS * VECTOR_ROWS;
  return block > 0 ? products_of[pass] * block + cells * rows_of[pass] * model->pass.cosine : 0;
}

struct cost_model cost_cosines(const struct cost_model *model, enum cosine_pass pass) {
  const double scores = model->pass.scores, back = back_of[pass];
  struct cost_model cosines = *model;
  cosines.pass.has_cosines = 1;
  cosines.result.row *= scores;
  cosines.result.byte_cached *= scores * longer[pass];
  cosines.result.byte *= scores * longer[pass];
  cosines.result.merge_byte *= rows_of[pass];
  cosines.cached_bytes /= longer[pass];
  cosines.distant_bytes /= longer[pass];
  for (enum cost_element e = COST_BF16; e <= COST_FP32; e++) {
    const int bytes = e == COST_BF16 ? 2 : 4;
    bring_messages(model->near[e], scores, back, bytes, cosines.near[e]);
    bring_messages(model->cached[e], scores, back, bytes, cosines.cached[e]);
    bring_messages(model->distant[e], scores, back, bytes, cosines.distant[e]);
  }
  for (int w = 0; w < COST_WIDTHS; w++) {
    const double product = product_of_cosines(model, w);
    cosines.tile[COST_BF16][w] = product > 0
                                     ? rows_of[pass] * model->pass.cosine + products_of[pass] * product
                                     : 0;
    cosines.tile[COST_FP32][w] = 0;
    cosines.block[COST_BF16][w] = block_of_cosines(model, pass, w);
    cosines.block[COST_FP32][w] = 0;
  }
  return cosines;
}
