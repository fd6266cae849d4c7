/* gnnbench calibrate: the constants of kernels/cost/cost_model.h from products of made matrices, each of
 * which one constant decides; those found before are taken off. */
#include "kernels/cost/cost_models.h"
#include "kernels/format/layout.h"
#include "kernels/format/tiles.h"
#include "launch/bench/gnnbench_calibration.h"

/* Seconds of m times X, and what the layout and its cells are. */
struct timing {
  double seconds;
  int64_t least, windows, window_blocks, window_entries;
  struct density density;
};

static int time_matrix(const struct calibration *c, const struct csr *m, enum layout_tiers tiers,
                       struct timing *timing) {
  struct bench *bench = c->bench;
  struct layout *layout = NULL;
  TRY(tiles_density(m, bench->device.threads, &timing->density));
  TRY(bench_layout(bench, m, tiers, calibrate_width[c->width], &layout));
  TRY(calibrate_time_layout(c, layout, &timing->seconds));
  timing->least = layout->least;
  timing->windows = layout->windows;
  timing->window_blocks = layout->window_blocks;
  timing->window_entries = layout->window_entries;
  return OK;
}

static int time_synthetic(const struct calibration *c, const struct synthetic *synthetic,
                          enum layout_tiers tiers, struct timing *timing) {
  struct csr *m = NULL;
  const int first = c->bench->owned_count;
  TRY(calibrate_make(c->bench, synthetic, &m));
  if (c->weighted) TRY(bench_weigh(m));
  TRY(time_matrix(c, m, tiers, timing));
  bench_forget(c->bench, first);
  return OK;
}

static double row_bytes(const struct calibration *c) {
  return (double)calibrate_width[c->width] * (c->element == COST_BF16 ? 2 : 4);
}

/* What the model predicts for the arcs and rows when one of its constants is `value`; it grows with it. */
static double predict_with(const struct calibration *c, double *constant, double value,
                           const struct timing *timing) {
  struct cost_case product = {&c->model, c->precision, calibrate_width[c->width], c->weighted};
  double kept = *constant;
  *constant = value;
  double seconds = cost_divided(&product, &timing->density, timing->least).seconds;
  const struct window_rule rule = cost_window_rule(&product, timing->density.cols, 0);
  seconds += cost_windows_seconds(&rule, timing->windows, timing->window_blocks, timing->window_entries);
  *constant = kept;
  return seconds;
}

/* Sets the constant so that the model repeats the timing; what is predicted is linear in it (0 apart, which
 * says that there is no such tier). */
static void solve(struct calibration *c, double *constant, const struct timing *timing) {
  double once = predict_with(c, constant, 1, timing), twice = predict_with(c, constant, 2, timing);
  double value = twice > once ? 1 + (timing->seconds - once) / (twice - once) : *constant;
  *constant = fmax(value, 0);
}

/* Rows without arcs, narrow and wide: what a row and a byte of it take. */
static int find_rows(struct calibration *c) {
  static const struct synthetic empty = {1 << 20, 64, 0, 0};
  struct timing narrow, wide;
  c->width = 0;
  TRY(time_synthetic(c, &empty, LAYOUT_GATHER, &narrow));
  double few = row_bytes(c);
  c->width = MEASURED - 1;
  TRY(time_synthetic(c, &empty, LAYOUT_GATHER, &wide));
  double rows = (double)empty.rows, many = row_bytes(c);
  c->model.row_byte = fmax(0, (wide.seconds - narrow.seconds) / rows / (many - few)) * 1e12;
  c->model.row = fmax(0, narrow.seconds / rows * 1e12 - few * c->model.row_byte);
  return OK;
}

/* Cells whose rows share columns, by the gather, in condensed windows and, fuller, as tiles, where the GPU
 * has them: a gathered arc, sixteen columns of a window, a cell of a tile. */
static int find_dense(struct calibration *c, double *arc, double *block, double *tile) {
  const struct synthetic near = {1 << 17, 1 << 17, 32, 256},
                         full = {1 << 16, 1 << 16, 32, c->weighted ? 1024 : 2048};
  struct timing timing;
  TRY(time_synthetic(c, &near, LAYOUT_GATHER, &timing));
  solve(c, arc, &timing);
  TRY(time_synthetic(c, &near, LAYOUT_WINDOWS, &timing));
  if (timing.windows > 0)
    solve(c, block, &timing);
  else
    *block = 0;
  TRY(time_synthetic(c, &full, LAYOUT_TILES_ALL, &timing));
  if (timing.least <= TILE_CELLS)
    solve(c, tile, &timing);
  else
    *tile = 0;
  return OK;
}

/* Arcs at random, X within the caches and far beyond them; then cells, without weights and with them. */
static int find_width(struct calibration *c, int w) {
  struct cost_model *m = &c->model;
  enum cost_element e = c->element;
  struct timing timing;
  c->width = w;
  struct synthetic cached = {1 << 17, (int64_t)(m->cached_bytes / row_bytes(c)) / TILE_COLS * TILE_COLS, 0,
                             48};
  struct synthetic distant = {1 << 17, (int64_t)(m->distant_bytes / row_bytes(c)) / TILE_COLS * TILE_COLS, 0,
                              48};
  TRY(time_synthetic(c, &cached, LAYOUT_GATHER, &timing));
  solve(c, &m->cached[e][w], &timing);
  TRY(time_synthetic(c, &distant, LAYOUT_GATHER, &timing));
  solve(c, &m->distant[e][w], &timing);
  m->block[e][w] = cost_model_h200.block[e][w];
  m->tile[e][w] = cost_model_h200.tile[e][w];
  TRY(find_dense(c, &m->near[e][w], &m->block[e][w], &m->tile[e][w]));
  c->weighted = 1;
  int code = find_dense(c, &m->arc_weighted[e][w], &m->block_weighted[e][w], &m->tile_weighted[e][w]);
  c->weighted = 0;
  return code;
}

static void double_width(struct cost_model *m, enum cost_element e) {
  double *tables[] = {m->tile[e],    m->tile_weighted[e], m->near[e],          m->cached[e],
                      m->distant[e], m->block[e],         m->block_weighted[e]};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
    tables[t][COST_WIDTHS - 1] = 2 * tables[t][COST_WIDTHS - 2];
  m->arc_weighted[e][COST_WIDTHS - 1] = m->arc_weighted[e][COST_WIDTHS - 2];
}

static int find_constants(struct calibration *c) {
  static const enum precision precisions[COST_ELEMENTS] = {PRECISION_BF16, PRECISION_FP32};
  for (int e = COST_ELEMENTS - 1; e >= 0; e--) {
    c->element = (enum cost_element)e;
    c->precision = precisions[e];
    TRY(bench_kernels(c->bench, c->precision));
    if (e == COST_FP32) TRY(find_rows(c)); /* one set for both */
    for (int w = 0; w < MEASURED; w++) TRY(find_width(c, w));
    TRY(calibrate_selectors(c));
    double_width(&c->model, c->element);
  }
  return OK;
}

static void print_constants(const struct cost_model *m) {
  static const char *const element[COST_ELEMENTS] = {"bf16", "fp32"};
  printf("%s: a row %.3g ps and %.3g a byte, a byte of a merged one %.3g\n", m->name, m->row, m->row_byte,
         m->merge_byte);
  printf("%-5s %6s %8s %8s %8s %8s %8s | %8s %8s %8s | %8s %8s %8s\n", "", "width", "tile", "block", "near",
         "cached", "distant", "tile", "block", "arc", "bias", "sparsity", "columns");
  for (int e = 0; e < COST_ELEMENTS; e++) {
    for (int w = 0; w < COST_WIDTHS; w++)
      printf("%-5s %6lld %8.3g %8.3g %8.3g %8.3g %8.3g | %8.3g %8.3g %8.3g | %8.3g %8.3g %8.3g\n", element[e],
             (long long)calibrate_width[w], m->tile[e][w], m->block[e][w], m->near[e][w], m->cached[e][w],
             m->distant[e][w], m->tile_weighted[e][w], m->block_weighted[e][w], m->arc_weighted[e][w],
             m->selector_bias[e][w], m->selector_sparsity[e][w], m->selector_columns[e][w]);
  }
  printf(
      "ps: a cell of a tile, 16 columns of a condensed window, an arc from near, the caches, memory; where "
      "arcs have weights, a cell, 16 columns, and an arc in times of one without; then the weights of the\n"
      "regression that chooses condensed windows beside the model\n");
  fflush(stdout);
}

/* Cells of one density as tiles and by the gather: does the model take the faster one? */
static int check_density(struct calibration *c, double density, int *right) {
  struct synthetic synthetic = {1 << 15, 1 << 15, 32, (int64_t)(density * TILE_CELLS + .5)};
  struct cost_case product = {&c->model, c->precision, calibrate_width[c->width], c->weighted};
  struct timing gather, tiles;
  struct csr *m = NULL;
  const int first = c->bench->owned_count;
  TRY(calibrate_make(c->bench, &synthetic, &m));
  TRY(time_matrix(c, m, LAYOUT_GATHER, &gather));
  TRY(time_matrix(c, m, LAYOUT_TILES_ALL, &tiles));
  bench_forget(c->bench, first);
  int chosen = choose(&product, &gather.density).tiles > 0;
  double taken = chosen ? tiles.seconds : gather.seconds, other = chosen ? gather.seconds : tiles.seconds;
  *right = taken <= 1.05 * other;
  if (!*right)
    printf("%s, width %lld, density %.2f%%: gather %.4f ms, tiles %.4f ms; %s is taken\n",
           precision_name[c->precision], (long long)product.width, 100 * density, 1e3 * gather.seconds,
           1e3 * tiles.seconds, chosen ? "tiles" : "the gather");
  return OK;
}

/* At every density and width. */
static int check(struct calibration *c) {
  static const double density[] = {.001, .002, .005, .01, .015, .02, .025, .03,
                                   .035, .04,  .05,  .07, .1,   .2,  .5};
  int right = 0, all = 0;
  for (int e = 0; e < COST_ELEMENTS; e++) {
    c->precision = e == COST_BF16 ? PRECISION_BF16 : PRECISION_FP32;
    TRY(bench_kernels(c->bench, c->precision));
    for (c->width = 0; c->width < MEASURED; c->width++) {
      for (size_t d = 0; d < sizeof density / sizeof *density; d++, all++) {
        int one = 0;
        TRY(check_density(c, density[d], &one));
        right += one;
      }
    }
  }
  printf("cells of .1 to 50%% density, widths 32 to 256, bf16 and fp32: the faster tier is taken in %d of %d "
         "cases\n",
         right, all);
  return OK;
}

static int keep(const struct bench *bench, const struct cost_model *model) {
  char path[CONFIG_TEXT];
  cost_models_path(path, sizeof path);
  if (bench->options->out) snprintf(path, sizeof path, "%s", bench->options->out);
  if (strcmp(path, "-") == 0 || path[0] == '\0') return OK;
  TRY(cost_models_write(model, path));
  printf("kept in %s\n", path);
  return OK;
}

int gnnbench_calibrate(struct bench *bench) {
  struct calibration c = {.bench = bench, .model = cost_model_h200};
  if (bench->device.ops->on_host)
    FAIL(BAD_INPUT, "calibrate: the device is a processor, which has one tier; constants are those of GPUs");
  if (bench->comm.size > 1) FAIL(BAD_INPUT, "calibrate: one rank measures a GPU; start it without mpirun");
  c.model.name = bench->device.name;
  TRY(find_constants(&c));
  print_constants(&c.model);
  TRY(keep(bench, &c.model));
  TRY(check(&c));
  return calibrate_check_windows(&c);
}
