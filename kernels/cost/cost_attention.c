#include "kernels/cost/cost_attention.h"

static const int64_t width_of[COST_WIDTHS] = {32, 64, 128, 256, 512};

static void add_scores(double arc[COST_ELEMENTS][COST_WIDTHS], double factor) {
  for (int i = 0; i < COST_ELEMENTS * COST_WIDTHS; i++) arc[i / COST_WIDTHS][i % COST_WIDTHS] *= factor;
}

/* Of arcs that bring so many rows, and rows that keep so many sums between two tiers. */
static struct cost_model with_scores(const struct cost_model *model, double rows, double sums) {
  struct cost_model attention = *model;
  add_scores(attention.near, rows * model->pass.scores);
  add_scores(attention.cached, rows * model->pass.scores);
  add_scores(attention.distant, rows * model->pass.scores);
  attention.result.merge_byte *= sums;
  return attention;
}

struct cost_model cost_attention(const struct cost_model *model, int64_t heads) {
  struct cost_model attention = with_scores(model, 1, 2);
  for (int w = 0; w < COST_WIDTHS; w++) {
    int64_t columns = (width_of[w] + ATTENTION_COLUMNS - 1) / ATTENTION_COLUMNS;
    double weights = (double)(heads > columns ? heads : columns);
    double *tile = &attention.tile[COST_BF16][w];
    if (*tile > 0) *tile = weights * model->pass.weight + 2 * *tile;
    attention.tile[COST_FP32][w] = 0;
  }
  return attention;
}

struct cost_model cost_cosines(const struct cost_model *model, enum cosine_pass pass) {
  static const double rows_of[] = {1, 2, 1.5}, products_of[] = {2, 5, 3.5};
  struct cost_model cosines = with_scores(model, rows_of[pass], rows_of[pass]);
  for (int w = 0; w < COST_WIDTHS; w++) {
    double *tile = &cosines.tile[COST_BF16][w];
    if (*tile > 0) *tile = rows_of[pass] * model->pass.cosine + products_of[pass] * *tile;
    cosines.tile[COST_FP32][w] = 0;
  }
  return cosines;
}
