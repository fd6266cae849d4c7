#include "kernels/cost/cost_model.h"

#include <math.h>
#include <stdio.h>

/* Windows of 128 rows that are multiplied at about the same time beside each other. */
enum { IN_FLIGHT = 4 };

/* What tiles are spread over: an H200's multiprocessors, and groups of columns. */
static const double MULTIPROCESSORS = 132, TILE_WIDTH = 128;

/* What tiles have to save of the gather's time. */
static const double TILE_MARGIN = .03;

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

/* Of `arcs` in a cell, those whose column a row in flight at about the same time asks for as well: the arcs
 * of a cell and of its neighbours above and below, about equally dense, fall on 64 columns at random. */
static double near_arcs(double arcs) {
  double together = IN_FLIGHT * arcs, columns = TILE_COLS * (1 - pow(1 - 1. / TILE_COLS, together));
  return arcs * (1 - columns / together);
}

static double gather_cost(const struct cost_rates *rates, double arcs) {
  double near = near_arcs(arcs);
  return near * rates->near + (arcs - near) * rates->far;
}

static int is_tile(const struct cost_rates *rates, double arcs) {
  return rates->tile > 0 && gather_cost(rates, arcs) > rates->tile;
}

static void price(const struct cost_case *c, const struct cost_rates *rates, int64_t rows,
                  struct choice *choice) {
  const struct cost_start *start = &c->model->start;
  choice->tile_seconds = (double)choice->tiles * rates->tile * 1e-12;
  choice->near_seconds = choice->near_arcs * rates->near * 1e-12;
  choice->far_seconds = choice->far_arcs * rates->far * 1e-12;
  choice->rest_seconds = ((double)rows * rates->result + (double)choice->merged_rows * rates->merge +
                          (choice->tiles > 0 ? rates->planes : 0)) *
                         1e-12;
  choice->start_seconds = (start->launch + (choice->tiles > 0 ? start->kernel : 0) + cost_rows_start(c)) *
                          1e-12;
  choice->seconds = choice->tile_seconds + choice->near_seconds + choice->far_seconds + choice->rest_seconds +
                    choice->start_seconds;
}

int64_t cost_tile_least(const struct cost_case *c, int64_t cols) {
  struct cost_rates rates = cost_rates_of(c, cols);
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
static struct choice divide(const struct cost_case *c, const struct cost_rates *rates,
                            const struct density *density, const double near[DENSITY_BINS], int64_t least) {
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
  price(c, rates, density->rows, &choice);
  return choice;
}

struct choice choose(const struct cost_case *c, const struct density *density) {
  struct cost_rates rates = cost_rates_of(c, density->cols);
  double near[DENSITY_BINS];
  count_near(density, near);
  struct choice gather = divide(c, &rates, density, near, TILE_CELLS + 1), best = gather;
  best.seconds *= 1 - TILE_MARGIN;
  for (int b = DENSITY_BINS - 1; b > 0 && is_tile(&rates, (double)least_in(b)); b--) {
    struct choice tiles = divide(c, &rates, density, near, least_in(b));
    if (tiles.seconds < best.seconds) best = tiles;
  }
  if (best.tiles == 0) best = gather;
  best.gather_seconds = gather.seconds;
  return best;
}

struct choice cost_divided(const struct cost_case *c, const struct density *density, int64_t least) {
  struct cost_rates rates = cost_rates_of(c, density->cols);
  double near[DENSITY_BINS];
  count_near(density, near);
  struct choice choice = divide(c, &rates, density, near, least);
  choice.gather_seconds = divide(c, &rates, density, near, TILE_CELLS + 1).seconds;
  return choice;
}

int cost_is_crowded(const struct cost_case *c, const struct choice *choice, int64_t most) {
  if (choice->tiles == 0) return 0;
  double a_tile = choice->tile_seconds / (double)choice->tiles, groups = ceil((double)c->width / TILE_WIDTH);
  double alone = (double)most * a_tile * MULTIPROCESSORS / groups;
  return alone - choice->tile_seconds > choice->gather_seconds - choice->seconds;
}

double cost_tile_waves(const struct cost_case *c, int64_t rows) {
  const double windows = (double)((rows + TILE_ROWS - 1) / TILE_ROWS),
               groups = ceil((double)c->width / TILE_WIDTH);
  const double waves = windows * groups / MULTIPROCESSORS;
  return c->model->of_a_thread || waves == 0 ? 1 : ceil(waves) / waves;
}

double cost_least(const struct cost_case *c, int64_t rows, int64_t arcs) {
  struct cost_rates rates = cost_rates_of(c, rows > 0 ? rows : 1);
  double arc = rates.near;
  if (rates.tile > 0) arc = fmin(arc, rates.tile / (TILE_CELLS / 8));
  return ((double)arcs * arc + (double)rows * rates.result + c->model->start.launch + cost_rows_start(c)) *
         1e-12;
}

char *cost_explain(const struct cost_case *c, const struct density *density, char *text, size_t size) {
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
