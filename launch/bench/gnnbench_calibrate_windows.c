/* gnnbench calibrate: made windows of known density and number of columns by the gather and condensed. The
 * faster tier of each is what the regression learns, as HC-SpMM trains its selector (Li et al., ICDE 2025),
 * and what the cost model is held against. */
#include "kernels/format/condensed.h"
#include "kernels/format/tiles.h"
#include "launch/bench/gnnbench_calibration.h"

static const double densities[] = {.05, .1, .15, .2, .25, .3, .4, .5, .7};
static const int64_t cells[] = {1, 2, 4, 16};
enum {
  DENSITIES = sizeof densities / sizeof densities[0],
  CELLS = sizeof cells / sizeof cells[0],
  SAMPLES = DENSITIES * CELLS,
  ROWS = 1 << 15
};

/* A kind of windows and what they took. */
struct measured {
  struct selector_sample mean;
  struct density density;
  struct cost_rows rows[MEASURED];
  double gather[MEASURED], condensed[MEASURED]; /* seconds, by width */
};

static int describe(const struct csr *m, int threads, struct selector_sample *mean) {
  static struct condensing condensing; /* large */
  TRY(condensed_count(m, TILE_CELLS + 1, 1, threads, &condensing));
  struct window_choice all = cost_windows_all(&window_rule_all, &condensing);
  if (all.windows == 0) FAIL(FAILED, "calibrate: a made matrix has no arcs");
  mean->arcs = (double)all.arcs / (double)all.windows;
  mean->columns = (double)all.columns / (double)all.windows;
  return OK;
}

static int time_widths(struct calibration *c, const struct csr *m, enum layout_tiers tiers,
                       double seconds[MEASURED]) {
  struct layout *layout = NULL;
  TRY(bench_layout(c->bench, m, tiers, 128, &layout));
  for (c->width = 0; c->width < MEASURED; c->width++)
    TRY(calibrate_time_layout(c, layout, &seconds[c->width]));
  return OK;
}

static int measure(struct calibration *c, int which, struct measured *to) {
  double density = densities[which % DENSITIES];
  struct synthetic synthetic = {ROWS, ROWS, cells[which / DENSITIES], (int64_t)(density * TILE_CELLS + .5)};
  struct csr *m = NULL;
  const int first = c->bench->owned_count;
  TRY(calibrate_make(c->bench, &synthetic, &m));
  TRY(describe(m, c->bench->device.threads, &to->mean));
  TRY(tiles_density(m, c->bench->device.threads, &to->density));
  for (c->width = 0; c->width < MEASURED; c->width++) to->rows[c->width] = calibrate_rows(c, m);
  TRY(time_widths(c, m, LAYOUT_GATHER, to->gather));
  TRY(time_widths(c, m, LAYOUT_WINDOWS, to->condensed));
  bench_forget(c->bench, first);
  return OK;
}

/* Of both precisions: they are measured once, to learn from and to check. */
static struct measured measured[COST_ELEMENTS][SAMPLES];

int calibrate_selectors(struct calibration *c) {
  struct cost_model *m = &c->model;
  struct measured *of = measured[c->element];
  for (int i = 0; i < SAMPLES; i++) TRY(measure(c, i, &of[i]));
  for (int w = 0; w < MEASURED; w++) {
    struct selector_sample sample[SAMPLES];
    for (int i = 0; i < SAMPLES; i++) {
      sample[i] = of[i].mean;
      sample[i].taken = of[i].condensed[w] < of[i].gather[w];
    }
    struct window_selector selector = cost_selector_fit(sample, SAMPLES);
    m->selector_bias[c->element][w] = selector.bias;
    m->selector_sparsity[c->element][w] = selector.sparsity;
    m->selector_columns[c->element][w] = selector.columns;
  }
  m->selector_bias[c->element][MEASURED] = m->selector_bias[c->element][MEASURED - 1];
  m->selector_sparsity[c->element][MEASURED] = m->selector_sparsity[c->element][MEASURED - 1];
  m->selector_columns[c->element][MEASURED] = m->selector_columns[c->element][MEASURED - 1];
  return OK;
}

/* As for tiles: within 5% counts as equal. */
static int is_right(const struct measured *of, int w, int condensed) {
  double taken = condensed ? of->condensed[w] : of->gather[w];
  double other = condensed ? of->gather[w] : of->condensed[w];
  return taken <= 1.05 * other;
}

/* The sparsest windows, of so many columns or more, that are faster condensed; 1: none. */
static double crossover(int e, int w) {
  double least = 1;
  for (int i = 0; i < SAMPLES; i++) {
    const struct measured *of = &measured[e][i];
    double density = of->mean.arcs / (CONDENSED_ROWS * of->mean.columns);
    if (of->condensed[w] < of->gather[w] && density < least) least = density;
  }
  return least;
}

/* What the model says of a matrix of such windows. */
static int is_condensed(const struct cost_case *product, const struct measured *of) {
  const int64_t windows = ROWS / CONDENSED_ROWS, columns = (int64_t)(of->mean.columns + .5);
  struct choice gather = cost_divided(product, &of->density, TILE_CELLS + 1);
  const struct window_rule rule = cost_window_rule(product, of->density.cols, &gather);
  return cost_windows_seconds(&rule, windows, windows * blocks_of_columns(columns),
                              density_arcs(&of->density)) < 0;
}

struct outcome {
  int faster, model, selector; /* condensed windows are faster; the model, the regression is right */
};

static struct outcome score_of(const struct calibration *c, int e, int w) {
  struct cost_case product = {.model = &c->model,
                              .precision = e == COST_BF16 ? PRECISION_BF16 : PRECISION_FP32,
                              .width = calibrate_width[w]};
  const struct window_selector selector = cost_selector(&product);
  struct outcome score = {0};
  for (int i = 0; i < SAMPLES; i++) {
    const struct measured *of = &measured[e][i];
    score.faster += of->condensed[w] < of->gather[w];
    product.rows = of->rows[w];
    score.model += is_right(of, w, is_condensed(&product, of));
    score.selector += is_right(of, w, cost_window_selected(&selector, of->mean.arcs, of->mean.columns));
  }
  return score;
}

int calibrate_check_windows(struct calibration *c) {
  struct outcome all = {0};
  for (int e = 0; e < COST_ELEMENTS; e++) {
    for (int w = 0; w < MEASURED; w++) {
      struct outcome score = score_of(c, e, w);
      printf("%s, width %lld: condensed windows are faster in %d of %d kinds, the sparsest %.0f%% full\n",
             e == COST_BF16 ? "bf16" : "fp32", (long long)calibrate_width[w], score.faster, (int)SAMPLES,
             100 * crossover(e, w));
      all.faster += score.faster;
      all.model += score.model;
      all.selector += score.selector;
    }
  }
  printf("windows of 64 to 1024 columns, 5 to 70%% full as they stand: condensed ones are faster in %d of %d "
         "cases; "
         "the model takes the faster tier in %d, the regression in %d\n",
         all.faster, (int)(COST_ELEMENTS * MEASURED * SAMPLES), all.model, all.selector);
  return OK;
}
