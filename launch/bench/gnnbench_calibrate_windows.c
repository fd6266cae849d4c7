/* gnnbench calibrate: made windows of known density and number of columns by the gather and condensed. The
 * faster tier of each is what the cost model is held against. */
#include "kernels/format/condensed.h"
#include "kernels/format/tiles.h"
#include "launch/bench/gnnbench_calibration.h"

static const double densities[] = {.05, .1, .15, .2, .25, .3, .4, .5, .7};
static const int64_t cells[] = {1, 2, 4, 16};
enum {
  DENSITIES = sizeof densities / sizeof densities[0],
  CELLS = sizeof cells / sizeof cells[0],
  KINDS = DENSITIES * CELLS,
  ROWS = 1 << 15
};

/* What a kind of windows is like. */
struct windows {
  double arcs, columns; /* of the mean one */
  struct density density;
};

static int describe(const struct csr *m, int threads, struct windows *to) {
  static struct condensing condensing; /* large */
  TRY(condensed_count(m, TILE_CELLS + 1, 1, threads, &condensing));
  struct window_choice all = cost_windows_all(&window_rule_all, &condensing);
  if (all.windows == 0) FAIL(FAILED, "calibrate: a made matrix has no arcs");
  to->arcs = (double)all.arcs / (double)all.windows;
  to->columns = (double)all.columns / (double)all.windows;
  return tiles_density(m, threads, &to->density);
}

static int time_widths(struct calibration *c, const struct csr *m, enum layout_tiers tiers,
                       double seconds[MEASURED]) {
  struct layout *layout = NULL;
  TRY(bench_layout(c->bench, m, tiers, 128, &layout));
  for (c->width = 0; c->width < MEASURED; c->width++)
    TRY(calibrate_time_layout(c, layout, &seconds[c->width]));
  return OK;
}

/* What the model says of a matrix of such windows. */
static int is_condensed(const struct cost_case *product, const struct windows *of) {
  const int64_t windows = ROWS / CONDENSED_ROWS, columns = (int64_t)(of->columns + .5);
  struct choice gather = cost_divided(product, &of->density, TILE_CELLS + 1);
  const struct window_rule rule = cost_window_rule(product, of->density.cols, &gather);
  return cost_windows_seconds(&rule, windows, windows * blocks_of_columns(columns),
                              density_arcs(&of->density)) < 0;
}

/* Of the kinds at a width: how many are faster condensed, the sparsest of these, how often the model is
 * right.
 */
struct outcome {
  int faster, right;
  double sparsest;
};

/* As for tiles, within 5% counts as equal. */
static int judge(struct calibration *c, const struct csr *m, struct outcome score[MEASURED]) {
  double gather[MEASURED], condensed[MEASURED];
  struct windows windows;
  TRY(describe(m, c->bench->device.threads, &windows));
  TRY(time_widths(c, m, LAYOUT_GATHER, gather));
  TRY(time_widths(c, m, LAYOUT_WINDOWS, condensed));
  for (c->width = 0; c->width < MEASURED; c->width++) {
    const int w = c->width;
    struct cost_case product = {&c->model, c->precision, calibrate_width[w], 0, calibrate_rows(c, m)};
    int taken = is_condensed(&product, &windows);
    score[w].right += taken ? condensed[w] <= 1.05 * gather[w] : gather[w] <= 1.05 * condensed[w];
    if (condensed[w] >= gather[w]) continue;
    score[w].faster++;
    score[w].sparsest = fmin(score[w].sparsest, windows.arcs / (CONDENSED_ROWS * windows.columns));
  }
  return OK;
}

static int judge_kind(struct calibration *c, int kind, struct outcome score[MEASURED]) {
  double density = densities[kind % DENSITIES];
  struct synthetic synthetic = {ROWS, ROWS, cells[kind / DENSITIES], (int64_t)(density * TILE_CELLS + .5)};
  struct csr *m = NULL;
  const int first = c->bench->owned_count;
  TRY(calibrate_make(c->bench, &synthetic, &m));
  TRY(judge(c, m, score));
  bench_forget(c->bench, first);
  return OK;
}

int calibrate_check_windows(struct calibration *c) {
  int faster = 0, right = 0;
  for (int e = 0; e < COST_ELEMENTS; e++) {
    struct outcome score[MEASURED];
    for (int w = 0; w < MEASURED; w++) score[w] = (struct outcome){.sparsest = 1};
    TRY(calibrate_element(c, e));
    for (int kind = 0; kind < KINDS; kind++) TRY(judge_kind(c, kind, score));
    for (int w = 0; w < MEASURED; w++) {
      printf("%s, width %lld: condensed windows are faster in %d of %d kinds, the sparsest %.0f%% full\n",
             precision_name[c->precision], (long long)calibrate_width[w], score[w].faster, (int)KINDS,
             100 * score[w].sparsest);
      faster += score[w].faster;
      right += score[w].right;
    }
  }
  printf("windows of 64 to 1024 columns, 5 to 70%% full as they stand: condensed ones are faster in %d of %d "
         "cases; the model takes the faster tier in %d\n",
         faster, (int)(COST_ELEMENTS * MEASURED * KINDS), right);
  return OK;
}
