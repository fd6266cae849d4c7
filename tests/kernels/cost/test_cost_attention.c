/* The cost model of arcs with scores. */
#include "kernels/cost/cost_attention.h"

#include "kernels/cost/cost_windows.h"
#include "tests/kernels/cost/cost_cases.h"

/* Weights of attention are made for each head: the more there are, the fuller a tile has to be. */
TEST(tiles_of_attention_are_fuller_than_those_of_products) {
  struct cost_case product = on_h200(PRECISION_BF16, 256), attention = product;
  int64_t before = cost_tile_least(&product, 200000);
  for (int64_t heads = 4; heads <= 16; heads *= 2) {
    const struct cost_model model = cost_attention(&cost_model_h200, heads);
    attention.model = &model;
    const int64_t least = cost_tile_least(&attention, 200000);
    assert_true(least > before && least < TILE_CELLS);
    before = least;
  }
  for (enum cosine_pass pass = COSINE_FORWARD; pass <= COSINE_MEAN; pass++) {
    const struct cost_model model = cost_cosines(&cost_model_h200, pass);
    attention = on_h200(PRECISION_BF16, 64);
    attention.model = &model;
    const int64_t least = cost_tile_least(&attention, 200000);
    product.width = 64;
    assert_true(least > cost_tile_least(&product, 200000) && least < TILE_CELLS);
    attention.precision = PRECISION_FP32;
    assert_int_equal(cost_tile_least(&attention, 200000), TILE_CELLS + 1);
  }
  const struct cost_model model = cost_attention(&cost_model_h200, 8),
                          cpu = cost_attention(&cost_model_cpu, 8);
  attention = on_h200(PRECISION_FP32, 256);
  attention.model = &model;
  assert_int_equal(cost_tile_least(&attention, 200000), TILE_CELLS + 1);
  attention = on_h200(PRECISION_BF16, 256);
  attention.model = &cpu;
  assert_int_equal(cost_tile_least(&attention, 200000), TILE_CELLS + 1);
}

/* Messages of 64 columns are 132 bytes forward, 268 back: rows of 256 and 288. */
TEST(arcs_with_cosines_cost_what_their_messages_do) {
  const struct cost_model *m = &cost_model_h200, forward = cost_cosines(m, COSINE_FORWARD),
                          backward = cost_cosines(m, COSINE_BACKWARD), mean = cost_cosines(m, COSINE_MEAN);
  const double there = forward.near[COST_BF16][1], back = backward.near[COST_BF16][1];
  assert_close(there, m->pass.scores * cost_at_width(m->near[COST_BF16], 128), 1e-12);
  assert_close(back, m->pass.scores * cost_at_width(m->near[COST_BF16], 144), 1e-12);
  assert_close(mean.near[COST_BF16][1], (there + back) / 2, 1e-12);
}

/* A tile with an arc in every eleventh cell pays in narrow rows, too: its products cost less there. */
TEST(narrow_rows_with_cosines_have_tiles) {
  const struct density density = uniform(232960, 114000, 754);
  const struct cost_model cosines = cost_cosines(&cost_model_h200, COSINE_MEAN);
  for (int64_t width = 16; width <= 64; width *= 2) {
    struct cost_case c = on_h200(PRECISION_BF16, width);
    c.model = &cosines;
    assert_int_equal(choose(&c, &density).tiles, 114000);
  }
  assert_true(cosines.tile[COST_BF16][0] < .8 * cosines.tile[COST_BF16][1]);
}

/* All arcs of vectors are saved then, those from afar too; and a window costs four halves of one of sums. */
TEST(vectors_of_cosines_save_all_their_arcs) {
  const struct density density = uniform(256000, 600000, 80);
  const struct cost_model cosines = cost_cosines(&cost_model_h200, COSINE_MEAN);
  struct cost_case c = on_h200(PRECISION_BF16, 32);
  c.model = &cosines;
  const struct choice gather = cost_divided(&c, &density, TILE_CELLS + 1);
  const struct window_rule rule = cost_vectors_rule(&c, density.cols, &gather, 2);
  const double arcs = (double)density_arcs(&density) * 1e-12;
  assert_close(rule.arc * arcs, gather.near_seconds + gather.far_seconds, 1e-12);
  assert_close(rule.window, 2 * cost_window_rule(&c, density.cols, &gather).window, 1e-9);
}
