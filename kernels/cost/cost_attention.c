#include "kernels/cost/cost_attention.h"

static const int64_t width_of[COST_WIDTHS] = {32, 64, 128, 256, 512};

static void add_scores(double arc[COST_ELEMENTS][COST_WIDTHS], double factor) {
  for (int i = 0; i < COST_ELEMENTS * COST_WIDTHS; i++) arc[i / COST_WIDTHS][i % COST_WIDTHS] *= factor;
}

struct cost_model cost_attention(const struct cost_model *model, int64_t heads) {
  struct cost_model attention = *model;
  add_scores(attention.near, model->pass.scores);
  add_scores(attention.cached, model->pass.scores);
  add_scores(attention.distant, model->pass.scores);
  attention.result.merge_byte *= 2; /* of two sums */
  for (int w = 0; w < COST_WIDTHS; w++) {
    int64_t columns = (width_of[w] + ATTENTION_COLUMNS - 1) / ATTENTION_COLUMNS;
    double weights = (double)(heads > columns ? heads : columns);
    double *tile = &attention.tile[COST_BF16][w];
    if (*tile > 0) *tile = weights * model->pass.weight + 2 * *tile;
    attention.tile[COST_FP32][w] = 0;
  }
  return attention;
}
