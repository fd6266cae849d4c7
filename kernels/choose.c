#include "kernels/choose.h"

#include <math.h>
#include <stdio.h>

#include "kernels/choose_windows.h"

/* Windows of 128 rows that are multiplied at about the same time beside each other. */
enum { IN_FLIGHT = 4 };

/* What tiles are spread over: an H200's multiprocessors, and groups of columns. */
static const double MULTIPROCESSORS = 132, TILE_WIDTH = 128;

/* What tiles have to save of the gather's time, and condensed windows of the least that a product may take.
 */
static const double TILE_MARGIN = .05, WINDOW_MARGIN = .15;

static const double width_of[CHOOSE_WIDTHS] = {32, 64, 128, 256, 512};

/* Gathers: fitted to whole products of fifteen graphs of .4 to 131 M arcs at 32 to 512 columns, bf16 and fp32
 * apart, which they repeat within 7 to 14% in the mean and 40% at most. Tiles: what products with them took
 * beyond the gather of the rest; two planes of bf16 in fp32. Condensed windows: what calibrate finds over
 * what it finds for near arcs, times these near arcs. Both at 512 columns: twice 256. With weights:
 * fitted to products with reddit-like in the same way. */
const struct choose_model choose_h200 = {
    .name = "NVIDIA H200",
    .tile = {{.2, .18, .33, .65, 1.3}, {.34, .34, .55, 1.1, 2.2}},
    .near = {{3.6, 6.7, 12.7, 25, 50}, {5.5, 10.4, 20.3, 40.8, 81}},
    .cached = {{11, 15.5, 27, 47, 85}, {15, 26.7, 46, 72, 130}},
    .distant = {{20.4, 23, 45, 85, 165}, {22, 44.4, 85, 162, 325}},
    .block = {{74, 222, 461, 929, 1860}, {185, 408, 756, 1480, 2960}},
    .tile_weighted = {{.63, .53, .51, 1, 2}, {.93, .93, .83, 1.65, 3.3}},
    .arc_weighted = {{1.38, 1.33, 1.32, 1.33, 1.33}, {1.29, 1.28, 1.28, 1.28, 1.28}},
    .block_weighted = {{237, 480, 1005, 2040, 4080}, {333, 583, 1090, 2130, 4260}},
    .selector_bias = {{9.49, 18.5, 11.4, 11.4, 11.4}, {5.05, 10.6, 6.01, 10.5, 10.5}},
    .selector_sparsity = {{-17.1, -30.7, -20.3, -20.7, -20.7}, {-11.9, -20.6, -14.4, -20.1, -20.1}},
    .selector_columns = {{7.12, 7.22, 4.52, 6.21, 6.21}, {5.56, 7.06, 5.41, 5.3, 5.3}},
    .cached_bytes = 30e6,
    .distant_bytes = 1e9,
    .row = 20,
    .row_byte = .48,
    .merge_byte = .6,
    .plane_byte = .5,
    .launch = 3e6,
};

/* One thread of a server processor with 32 MiB of shared cache. */
const struct choose_model choose_cpu = {
    .name = "processor",
    .of_a_thread = 1,
    .near = {{8e3, 14e3, 28e3, 56e3, 112e3}, {8e3, 14e3, 28e3, 56e3, 112e3}},
    .cached = {{11e3, 22e3, 44e3, 88e3, 176e3}, {11e3, 22e3, 44e3, 88e3, 176e3}},
    .distant = {{30e3, 45e3, 80e3, 150e3, 300e3}, {30e3, 45e3, 80e3, 150e3, 300e3}},
    .cached_bytes = 16e6,
    .distant_bytes = 128e6,
    .row_byte = 200,
};

/* The first bin of an octave holds 2^k <= arcs < 2^k (1 + 1/16). */
static int bin_of(int64_t arcs) {
  if (arcs < 64) return (int)arcs;
  int octave = 63 - __builtin_clzll((unsigned long long)arcs);
  return 64 + 16 * (octave - 6) + (int)((arcs >> (octave - 4)) & 15);
}

static int64_t least_in(int bin) {
  if (bin < 64) return bin;
  int64_t octave = (bin - 64) / 16 + 6, step = (bin - 64) % 16;
  return ((int64_t)1 << octave) + (step << (octave - 4));
}

void density_count(struct density *density, int64_t arcs) {
  int bin = bin_of(arcs);
  density->cells[bin]++;
  density->arcs[bin] += arcs;
}

void density_count_window(struct density *density, int64_t arcs) {
  density->windows[bin_of(arcs)]++;
}

void density_add(struct density *sum, const struct density *part) {
  for (int b = 0; b < DENSITY_BINS; b++) {
    sum->cells[b] += part->cells[b];
    sum->arcs[b] += part->arcs[b];
    sum->windows[b] += part->windows[b];
  }
}

int64_t density_arcs(const struct density *density) {
  int64_t sum = 0;
  for (int b = 0; b < DENSITY_BINS; b++) sum += density->arcs[b];
  return sum;
}

/* Bins are for numbers of arcs from least_in(b) to just below the next one's. */
static int bin_is_possible(int b, int64_t cells, int64_t arcs, int64_t windows) {
  int64_t least, most, greatest = b + 1 < DENSITY_BINS ? least_in(b + 1) - 1 : TILE_CELLS;
  return windows >= 0 && windows <= cells && !__builtin_mul_overflow(cells, least_in(b), &least) &&
         !__builtin_mul_overflow(cells, greatest, &most) && arcs >= least && arcs <= most;
}

int density_is_possible(const struct density *density, int64_t arcs) {
  int64_t left = arcs;
  if (density->rows < 0 || density->cols < 0) return 0;
  for (int b = 0; b < DENSITY_BINS; b++) {
    int64_t cells = density->cells[b];
    if ((b == 0 && cells != 0) || !bin_is_possible(b, cells, density->arcs[b], density->windows[b])) return 0;
    if (density->arcs[b] > left) return 0;
    left -= density->arcs[b];
  }
  return arcs == left || (density->rows > 0 && density->cols > 0);
}

double density_share(const struct density *density, int64_t least) {
  int64_t arcs = density_arcs(density), dense = 0;
  for (int b = bin_of(least); b < DENSITY_BINS; b++) dense += density->arcs[b];
  return arcs ? (double)dense / (double)arcs : 0;
}

/* Costs of one case, for X of a given size. */
struct rates {
  double tile, near, far, result, merge, planes, launch;
};

/* Linear between the widths of the table, proportional beyond them; below the narrowest nothing is gained. */
double choose_at_width(const double cost[CHOOSE_WIDTHS], double width) {
  if (width <= width_of[0]) return cost[0];
  for (int i = 1; i < CHOOSE_WIDTHS; i++) {
    double share = (width - width_of[i - 1]) / (width_of[i] - width_of[i - 1]);
    if (share <= 1) return cost[i - 1] + share * (cost[i] - cost[i - 1]);
  }
  return cost[CHOOSE_WIDTHS - 1] * width / width_of[CHOOSE_WIDTHS - 1];
}

static enum choose_element element_of(const struct choose_case *c) {
  return c->precision == PRECISION_BF16 ? CHOOSE_BF16 : CHOOSE_FP32;
}

/* What a table of weighted arcs says, where they are and it does. */
static double of_weighted(const struct choose_case *c, const double table[CHOOSE_WIDTHS], double otherwise,
                          double width) {
  return c->weighted && table[0] > 0 ? choose_at_width(table, width) : otherwise;
}

static struct rates rates_of(const struct choose_case *c, int64_t cols) {
  const struct choose_model *m = c->model;
  enum choose_element e = element_of(c);
  /* Numbers of fp64 are two of fp32. */
  double width = (double)c->width * (c->precision == PRECISION_FP64 ? 2 : 1);
  double row_bytes = width * (e == CHOOSE_BF16 ? 2 : 4);
  double beyond = log((double)cols * row_bytes / m->cached_bytes) / log(m->distant_bytes / m->cached_bytes);
  double cached = choose_at_width(m->cached[e], width), distant = choose_at_width(m->distant[e], width);
  double arc = of_weighted(c, m->arc_weighted[e], 1, fmin(width, width_of[CHOOSE_WIDTHS - 1]));
  double tile = choose_at_width(m->tile[e], width);
  if (tile > 0) tile = of_weighted(c, m->tile_weighted[e], tile, width);
  return (struct rates){.tile = TILE_CELLS * tile,
                        .near = arc * choose_at_width(m->near[e], width),
                        .far = arc * (cached + fmin(fmax(beyond, 0), 1) * (distant - cached)),
                        .result = m->row + row_bytes * m->row_byte,
                        .merge = width * 4 * m->merge_byte,
                        .planes = e == CHOOSE_FP32 ? (double)cols * row_bytes * m->plane_byte : 0,
                        .launch = m->launch};
}

/* Of `arcs` in a cell, those whose column a row in flight at about the same time asks for as well: the arcs
 * of a cell and of its neighbours above and below, about equally dense, fall on 64 columns at random. */
static double near_arcs(double arcs) {
  double together = IN_FLIGHT * arcs, columns = TILE_COLS * (1 - pow(1 - 1. / TILE_COLS, together));
  return arcs * (1 - columns / together);
}

static double gather_cost(const struct rates *rates, double arcs) {
  double near = near_arcs(arcs);
  return near * rates->near + (arcs - near) * rates->far;
}

static int is_tile(const struct rates *rates, double arcs) {
  return rates->tile > 0 && gather_cost(rates, arcs) > rates->tile;
}

int choose_tile(const struct choose_case *c, int64_t arcs, int64_t cols) {
  struct rates rates = rates_of(c, cols);
  return is_tile(&rates, (double)arcs);
}

static void price(const struct rates *rates, int64_t rows, struct choice *choice) {
  choice->tile_seconds = (double)choice->tiles * rates->tile * 1e-12;
  choice->near_seconds = choice->near_arcs * rates->near * 1e-12;
  choice->far_seconds = choice->far_arcs * rates->far * 1e-12;
  choice->rest_seconds = ((double)rows * rates->result + (double)choice->merged_rows * rates->merge +
                          (choice->tiles > 0 ? rates->planes : 0)) *
                         1e-12;
  choice->start_seconds = rates->launch * (choice->tiles == 0 ? 1 : rates->planes > 0 ? 2 : 1.5) * 1e-12;
  choice->seconds = choice->tile_seconds + choice->near_seconds + choice->far_seconds + choice->rest_seconds +
                    choice->start_seconds;
}

int64_t choose_tile_least(const struct choose_case *c, int64_t cols) {
  struct rates rates = rates_of(c, cols);
  int b = DENSITY_BINS;
  while (b > 1 && is_tile(&rates, (double)least_in(b - 1))) b--;
  return b < DENSITY_BINS ? least_in(b) : TILE_CELLS + 1;
}

/* near[b]: arcs of the cells of bin b that are near, all of them together. */
static void count_near(const struct density *density, double near[DENSITY_BINS]) {
  for (int b = 0; b < DENSITY_BINS; b++) {
    double cells = (double)density->cells[b];
    near[b] = cells > 0 ? cells * near_arcs((double)density->arcs[b] / cells) : 0;
  }
}

/* Cells of `least` arcs and more become tiles. */
static struct choice divide(const struct rates *rates, const struct density *density,
                            const double near[DENSITY_BINS], int64_t least) {
  struct choice choice = {.tile_arcs_least = least};
  for (int b = 1; b < DENSITY_BINS; b++) {
    if (least_in(b) >= least) choice.merged_rows += density->windows[b] * TILE_ROWS;
    if (!density->cells[b]) continue;
    if (least_in(b) >= least) {
      choice.tiles += density->cells[b];
      choice.tile_arcs += (double)density->arcs[b];
    } else {
      choice.near_arcs += near[b];
      choice.far_arcs += (double)density->arcs[b] - near[b];
    }
  }
  price(rates, density->rows, &choice);
  return choice;
}

struct choice choose(const struct choose_case *c, const struct density *density) {
  struct rates rates = rates_of(c, density->cols);
  double near[DENSITY_BINS];
  count_near(density, near);
  struct choice gather = divide(&rates, density, near, TILE_CELLS + 1), best = gather;
  best.seconds *= 1 - TILE_MARGIN;
  for (int b = DENSITY_BINS - 1; b > 0 && is_tile(&rates, (double)least_in(b)); b--) {
    struct choice tiles = divide(&rates, density, near, least_in(b));
    if (tiles.seconds < best.seconds) best = tiles;
  }
  if (best.tiles == 0) best = gather;
  best.gather_seconds = gather.seconds;
  return best;
}

struct choice choose_divided(const struct choose_case *c, const struct density *density, int64_t least) {
  struct rates rates = rates_of(c, density->cols);
  double near[DENSITY_BINS];
  count_near(density, near);
  struct choice choice = divide(&rates, density, near, least);
  choice.gather_seconds = divide(&rates, density, near, TILE_CELLS + 1).seconds;
  return choice;
}

int choose_is_crowded(const struct choose_case *c, const struct choice *choice, int64_t most) {
  if (choice->tiles == 0) return 0;
  double a_tile = choice->tile_seconds / (double)choice->tiles, groups = ceil((double)c->width / TILE_WIDTH);
  double alone = (double)most * a_tile * MULTIPROCESSORS / groups;
  return alone - choice->tile_seconds > choice->gather_seconds - choice->seconds;
}

struct window_rule choose_window_rule(const struct choose_case *c, int64_t cols, int tiled) {
  const struct choose_model *m = c->model;
  struct rates rates = rates_of(c, cols);
  enum choose_element e = element_of(c);
  double width = (double)c->width, block = choose_at_width(m->block[e], width);
  if (block > 0) block = of_weighted(c, m->block_weighted[e], block, width);
  if (block <= 0 || c->precision == PRECISION_FP64) return (struct window_rule){0};
  return (struct window_rule){.arc = rates.near,
                              .block = block,
                              .window = CONDENSED_ROWS * rates.merge,
                              .once = m->launch + (tiled ? 0 : rates.planes)};
}

double choose_window_margin(const struct choose_case *c, int64_t rows, int64_t arcs) {
  return WINDOW_MARGIN * choose_least(c, rows, arcs) * 1e12;
}

struct window_selector choose_selector(const struct choose_case *c) {
  const struct choose_model *m = c->model;
  enum choose_element e = element_of(c);
  double width = (double)c->width;
  return (struct window_selector){.bias = choose_at_width(m->selector_bias[e], width),
                                  .sparsity = choose_at_width(m->selector_sparsity[e], width),
                                  .columns = choose_at_width(m->selector_columns[e], width)};
}

double choose_least(const struct choose_case *c, int64_t rows, int64_t arcs) {
  struct rates rates = rates_of(c, 1);
  double arc = rates.near;
  if (rates.tile > 0) arc = fmin(arc, rates.tile / (TILE_CELLS / 8));
  return ((double)arcs * arc + (double)rows * rates.result) * 1e-12;
}

char *choose_explain(const struct choose_case *c, const struct density *density, char *text, size_t size) {
  struct choice choice = choose(c, density);
  double arcs = (double)density_arcs(density);
  if (arcs < 1) arcs = 1;
  int used = snprintf(text, size, "%.4g ms at width %lld in %s on %s: ", 1e3 * choice.seconds,
                      (long long)c->width, precision_name[c->precision],
                      c->model->of_a_thread ? "one thread" : c->model->name);
  if (choice.tiles && used > 0 && (size_t)used < size)
    used += snprintf(text + used, size - (size_t)used,
                     "%.1f%% of the arcs in %lld tiles of density %.3g%% (%.4g ms), ",
                     100 * choice.tile_arcs / arcs, (long long)choice.tiles,
                     100 * choice.tile_arcs / (double)choice.tiles / TILE_CELLS, 1e3 * choice.tile_seconds);
  if (used > 0 && (size_t)used < size)
    snprintf(text + used, size - (size_t)used,
             "%.1f%% gathered near (%.4g ms), %.1f%% afar (%.4g ms); gathers alone %.4g ms",
             100 * choice.near_arcs / arcs, 1e3 * choice.near_seconds, 100 * choice.far_arcs / arcs,
             1e3 * choice.far_seconds, 1e3 * choice.gather_seconds);
  return text;
}
