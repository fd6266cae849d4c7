/* gnnbench calibrate: the constants of kernels/cost/cost_model.h. Most are fitted to products of the made
 * graphs; those of tiles and of weights come from made matrices, each of which one constant decides. */
#include <unistd.h>

#include "kernels/cost/cost_models.h"
#include "kernels/format/tiles.h"
#include "launch/bench/calibrate/calibration.h"
#include "models/plan/plan_passes.h"

/* A product of a made matrix. */
struct timing {
  struct cost_sample sample;
  struct density density;
};

static int time_synthetic(const struct calibration *c, const struct synthetic *synthetic,
                          enum layout_tiers tiers, struct timing *timing) {
  struct csr *m = NULL;
  const int first = c->bench->owned_count;
  TRY(calibrate_make(c->bench, synthetic, &m));
  if (c->weighted) TRY(bench_weigh(m));
  TRY(tiles_density(m, c->bench->device.threads, &timing->density));
  TRY(calibrate_measure(c, m, tiers, &timing->sample));
  bench_forget(c->bench, first);
  return OK;
}

/* What the model predicts for the arcs and rows when one of its constants is `value`; it grows with it. */
static double predict_with(const struct calibration *c, double *constant, double value,
                           const struct timing *timing) {
  const struct cost_sample *sample = &timing->sample;
  struct cost_case product = {&c->model, sample->precision, sample->width, c->weighted, sample->rows};
  double kept = *constant;
  *constant = value;
  double seconds = cost_product_seconds(&product, &timing->density, sample->least, &sample->windows);
  *constant = kept;
  return seconds;
}

/* Sets the constant so that the model repeats the timing; what is predicted is linear in it (0 apart, which
 * says that there is no such tier). */
static void solve(struct calibration *c, double *constant, const struct timing *timing) {
  double once = predict_with(c, constant, 1, timing), twice = predict_with(c, constant, 2, timing);
  double value = twice > once ? 1 + (timing->sample.seconds - once) / (twice - once) : *constant;
  *constant = fmax(value, 0);
}

/* A cell of a tile, from cells a quarter full; 0: the GPU has no tiles. */
static int find_tile(struct calibration *c) {
  const struct synthetic full = {1 << 16, 1 << 16, 32, 2048};
  double *tile = &c->model.tile[c->element][c->width];
  struct timing timing;
  TRY(time_synthetic(c, &full, LAYOUT_TILES_ALL, &timing));
  if (timing.sample.least <= TILE_CELLS)
    solve(c, tile, &timing);
  else
    *tile = 0;
  return OK;
}

/* Cells whose rows share columns, their arcs with weights: by the gather, in condensed windows and, fuller,
 * as tiles, where the GPU has these. */
static int find_weighted(struct calibration *c) {
  const struct synthetic near = {1 << 17, 1 << 17, 32, 256}, full = {1 << 16, 1 << 16, 32, 1024};
  struct cost_model *m = &c->model;
  const enum cost_element e = c->element;
  const int w = c->width;
  struct timing timing;
  m->arc_weighted[e][w] = 1;
  TRY(time_synthetic(c, &near, LAYOUT_GATHER, &timing));
  solve(c, &m->arc_weighted[e][w], &timing);
  m->block_weighted[e][w] = m->block[e][w];
  if (m->block[e][w] > 0) {
    TRY(time_synthetic(c, &near, LAYOUT_WINDOWS, &timing));
    solve(c, &m->block_weighted[e][w], &timing);
  }
  m->tile_weighted[e][w] = m->tile[e][w];
  if (m->tile[e][w] > 0) {
    TRY(time_synthetic(c, &full, LAYOUT_TILES_ALL, &timing));
    solve(c, &m->tile_weighted[e][w], &timing);
  }
  return OK;
}

static void double_width(struct cost_model *m, enum cost_element e) {
  double *tables[] = {m->tile_weighted[e], m->block_weighted[e]};
  for (size_t t = 0; t < sizeof tables / sizeof *tables; t++)
    tables[t][COST_WIDTHS - 1] = 2 * tables[t][COST_WIDTHS - 2];
  m->arc_weighted[e][COST_WIDTHS - 1] = m->arc_weighted[e][COST_WIDTHS - 2];
}

static int find_with_weights(struct calibration *c) {
  c->weighted = 1;
  for (c->width = 0; c->width < MEASURED; c->width++) TRY(find_weighted(c));
  c->weighted = 0;
  double_width(&c->model, c->element);
  return OK;
}

static int find_constants(struct calibration *c) {
  for (int e = 0; e < COST_ELEMENTS; e++) {
    TRY(calibrate_element(c, e));
    for (c->width = 0; c->width < COST_WIDTHS; c->width++) TRY(find_tile(c));
  }
  TRY(calibrate_fit(c));
  for (int e = 0; e < COST_ELEMENTS; e++) {
    TRY(calibrate_element(c, e));
    TRY(find_with_weights(c));
  }
  return plan_passes_fit(&c->bench->comm, &c->bench->device, &c->model);
}

static void print_constants(const struct cost_model *m) {
  static const char *const element[COST_ELEMENTS] = {"bf16", "fp32"};
  const struct cost_result *result = &m->result;
  const struct cost_start *start = &m->start;
  const struct cost_pass *pass = &m->pass;
  printf("passes over matrices: %.3g us, then %.3g ps a byte and, of a product, %.3g, %.3g, %.3g fs an "
         "operation in bf16, tf32, fp32\n",
         pass->start / 1e6, pass->byte, 1e3 * pass->flop_bf16, 1e3 * pass->flop_tf32, 1e3 * pass->flop_fp32);
  printf(
      "%s: a row %.3g ps and %.3g to %.3g a byte, a byte of a merged one %.3g, of planes %.3g; the first "
      "kernel "
      "%.3g us, each further one %.3g, pieces %.3g, an entry of the longest row %.3g ns, a block of a window "
      "%.3g\n",
      m->name, result->row, result->byte_cached, result->byte, result->merge_byte, m->plane_byte,
      start->launch / 1e6, start->kernel / 1e6, start->pieces / 1e6, start->entry / 1e3, start->block / 1e3);
  printf("%-5s %6s %8s %8s %8s %8s %8s | %8s %8s %8s\n", "", "width", "tile", "block", "near", "cached",
         "distant", "tile", "block", "arc");
  for (int e = 0; e < COST_ELEMENTS; e++) {
    for (int w = 0; w < COST_WIDTHS; w++)
      printf("%-5s %6lld %8.3g %8.3g %8.3g %8.3g %8.3g | %8.3g %8.3g %8.3g\n", element[e],
             (long long)calibrate_width[w], m->tile[e][w], m->block[e][w], m->near[e][w], m->cached[e][w],
             m->distant[e][w], m->tile_weighted[e][w], m->block_weighted[e][w], m->arc_weighted[e][w]);
  }
  printf(
      "ps: a cell of a tile, 16 columns of a condensed window, an arc from near, the caches, memory; where "
      "arcs have weights, a cell, 16 columns, and an arc in times of one without\n");
  fflush(stdout);
}

/* Where constants are kept; "": nowhere. */
static void find_place(const struct bench *bench, char path[CONFIG_TEXT]) {
  cost_models_path(path, CONFIG_TEXT);
  if (bench->options->out) snprintf(path, CONFIG_TEXT, "%s", bench->options->out);
  if (strcmp(path, "-") == 0) path[0] = '\0';
}

/* What was kept before stays: one rank measures a GPU, several the exchange between them. */
static int read_kept(const char *path) {
  struct cost_constants constants = {0};
  if (path[0] == '\0' || access(path, F_OK) != 0) return OK;
  TRY(cost_constants_find(path, &constants));
  return cost_models_read(constants.text, constants.path);
}

static int keep(const char *path, const struct cost_model *model) {
  if (path[0] == '\0') return OK;
  TRY(read_kept(path)); /* plan_passes_fit has forgotten those of other GPUs */
  TRY(cost_models_take(model));
  TRY(cost_models_write(path));
  printf("kept in %s\n", path);
  return OK;
}

int gnnbench_calibrate(struct bench *bench) {
  struct comm *comm = &bench->comm;
  struct calibration c = {.bench = bench};
  char path[CONFIG_TEXT];
  if (bench->device.ops->on_host)
    FAIL(BAD_INPUT, "calibrate: the device is a processor, which has one tier; constants are those of GPUs");
  find_place(bench, path);
  TRY(comm_agree(comm, comm->rank == 0 ? read_kept(path) : OK));
  c.model = *cost_model_of(bench->device.name);
  c.model.name = bench->device.name;
  c.model.memory_bytes = (double)bench->device.memory;
  if (comm->size > 1) {
    TRY(calibrate_exchange(bench, &c.model));
    if (comm->nodes == 1) TRY(calibrate_stores(bench, &c.model));
    return comm_agree(comm, comm->rank == 0 ? keep(path, &c.model) : OK);
  }
  TRY(find_constants(&c));
  print_constants(&c.model);
  return keep(path, &c.model);
}
