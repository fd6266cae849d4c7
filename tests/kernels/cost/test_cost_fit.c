/* The fit of the cost model's constants to measured products. */
#include "kernels/cost/cost_fit.h"

#include <math.h>

#include "tests/check.h"

enum { KINDS = 6, EVERY = KINDS * COST_ELEMENTS * COST_WIDTHS * 3 };

static struct density density[KINDS];
static struct cost_sample sample[EVERY];

/* Patterns of few and many rows, sparse and dense. */
static void make_densities(void) {
  static const int64_t rows[KINDS] = {1000, 20000, 300000, 5000000, 100000, 40000}, arcs[] = {1, 4, 40};
  for (int k = 0; k < KINDS; k++) {
    density[k] = (struct density){.rows = rows[k], .cols = rows[k]};
    for (int64_t i = 0; i < rows[k] / 8; i++) density_count(&density[k], arcs[k % 3]);
    for (int64_t i = 0; i < rows[k] / 50 * (k % 2); i++) density_count(&density[k], 3000);
    for (int64_t i = 0; i < rows[k] / 128; i++)
      density_count_window(&density[k], 3000 * (k % 2) + arcs[k % 3]);
  }
}

static double seconds_of(const struct cost_model *model, const struct cost_sample *s) {
  struct cost_sample one = *s;
  one.seconds = 1;
  return cost_fit_ratio(model, &one);
}

/* By the gather, with tiles, and with condensed windows of half of the arcs. */
static void make_sample(const struct cost_model *model, int at, int k, int tier, enum precision precision,
                        int64_t width) {
  const int64_t arcs = density_arcs(&density[k]);
  struct cost_sample *s = &sample[at];
  *s = (struct cost_sample){.precision = precision,
                            .width = width,
                            .rows = {16 << k, k > 3},
                            .density = &density[k],
                            .least = tier == 1 ? 3000 : TILE_CELLS + 1};
  if (tier == 2)
    s->windows = (struct window_choice){.windows = 100 + k, .blocks = 700 << k, .arcs = arcs / 2};
  s->seconds = s->fastest = seconds_of(model, s);
}

static int make_samples(const struct cost_model *model) {
  int samples = 0;
  make_densities();
  for (int k = 0; k < KINDS; k++)
    for (int p = 0; p < 2; p++)
      for (int w = 0; w < COST_WIDTHS; w++)
        for (int tier = 0; tier < 3; tier++)
          make_sample(model, samples++, k, tier, p ? PRECISION_BF16 : PRECISION_FP32, 32 << w);
  return samples;
}

static void assert_repeats(const struct cost_model *model, int samples, double within) {
  for (int i = 0; i < samples; i++) assert_close(cost_fit_ratio(model, &sample[i]), 1, within);
}

/* Products that the model of one GPU predicts, from the constants of another. */
TEST(constants_are_found_that_repeat_the_products) {
  struct cost_model model = cost_model_h200;
  int samples = make_samples(&cost_model_h100);
  memcpy(model.tile, cost_model_h100.tile, sizeof model.tile);
  assert_ok(cost_fit(&model, sample, samples));
  assert_repeats(&model, samples, .02);
  assert_close(model.start.launch, cost_model_h100.start.launch, .05 * model.start.launch);
  assert_close(model.result.byte, cost_model_h100.result.byte, .1 * model.result.byte);
  assert_close(model.near[COST_BF16][2], cost_model_h100.near[COST_BF16][2], 3);
}

/* Times may ask for less than nothing of a constant. */
TEST(no_constant_is_negative_and_what_no_product_has_is_nothing) {
  struct cost_model model = cost_model_h200;
  int samples = make_samples(&cost_model_h200), gathers = 0;
  for (int i = 0; i < samples; i++)
    if (sample[i].least > TILE_CELLS && sample[i].windows.windows == 0) sample[gathers++] = sample[i];
  for (int i = 0; i < gathers; i++) sample[i].seconds *= i % 2 ? 1.3 : .7;
  assert_ok(cost_fit(&model, sample, gathers));
  for (int e = 0; e < COST_ELEMENTS; e++) {
    for (int w = 0; w < COST_WIDTHS; w++) {
      assert_true(model.near[e][w] >= 0 && model.cached[e][w] >= 0 && model.distant[e][w] >= 0);
      assert_close(model.block[e][w], 0, 0);
      assert_close(model.tile[e][w], cost_model_h200.tile[e][w], 0);
    }
  }
  assert_true(model.start.launch >= 0 && model.start.entry >= 0 && model.result.row >= 0);
  assert_close(model.plane_byte, 0, 0);
  assert_close(model.start.kernel, 0, 0);
  assert_close(model.cached_bytes, cost_model_h200.cached_bytes, 0);
}

/* A layout that is slower than another of the same product says little, whatever it took: the constants are
 * those of what is fastest. */
TEST(what_is_not_the_fastest_counts_less) {
  struct cost_model model = cost_model_h100;
  int samples = make_samples(&cost_model_h100);
  for (int i = 0; i < samples; i++) {
    if (sample[i].windows.windows == 0) continue;
    sample[i].fastest = sample[i].seconds;
    sample[i].seconds *= i % 2 ? 4 : 9;
  }
  assert_ok(cost_fit(&model, sample, samples));
  for (int i = 0; i < samples; i++)
    if (sample[i].windows.windows == 0) assert_close(cost_fit_ratio(&model, &sample[i]), 1, .02);
}
