#include "kernels/cost/cost_rates.h"

#include <math.h>

#include "runtime/base/tensor.h"

static const double width_of[COST_WIDTHS] = {32, 64, 128, 256, 512};

/* Columns that tiles leave sums of, however few X has. */
static const double LEAST_SUMS = 64;

/* Fitted, as `gnnbench calibrate` does it, to products of 53 made graphs and eight real ones of .01 to 131 M
 * arcs by each tier at 32 to 512 columns: of 613 products by their fastest tier they repeat 595 within 25%.
 * Tiles and weights: an H200's / .88. Attention's, on an H200: a weight is what five epochs of GAT on a
 * dense graph gain by tiles; with it and scores these are foretold within 17%, but for one head, where they
 * take a quarter less. A weight of a cosine: with it ten epochs of AGNN on dense graphs, gathered and in
 * tiles, are foretold within 11%. */
const struct cost_model cost_model_h100 = {
    .name = "NVIDIA H100 80GB HBM3",
    .memory_bytes = 85.0e9,
    .tile = {{.227, .204, .375, .739, 1.48}, {.386, .386, .625, 1.25, 2.5}},
    .near = {{5.26, 7.98, 15.4, 30.7, 60.5}, {6.14, 12.4, 23.9, 49.3, 107}},
    .cached = {{6.91, 11.4, 27.4, 53.6, 108}, {10.1, 24.8, 53.1, 107, 197}},
    .distant = {{27.1, 33.7, 54.5, 93.5, 158}, {36.6, 57.1, 99, 169, 294}},
    .block = {{108, 232, 431, 864, 1720}, {396, 483, 906, 1820, 3510}},
    .tile_weighted = {{.716, .602, .58, 1.14, 2.27}, {1.06, 1.06, .943, 1.88, 3.75}},
    .arc_weighted = {{1.38, 1.33, 1.32, 1.33, 1.33}, {1.29, 1.28, 1.28, 1.28, 1.28}},
    .block_weighted = {{293, 525, 1050, 2130, 4240}, {565, 682, 1290, 2550, 4990}},
    .cached_bytes = 12e6,
    .distant_bytes = 1e9,
    .plane_byte = .642,
    .result = {.row = 10, .byte_cached = .328, .byte = .68, .merge_byte = .781},
    .start = {.launch = 3.38e6, .kernel = 2.08e6, .pieces = 3.49e6, .entry = 2.06e4, .block = 3.18e5},
    .pass = {8e6, .33, .0018, .0035, .0062, 1.06, 1.7, .17, .34},
    .exchange = {16e6, 3.3, 5e6, 14, .2},
};

/* An H100's, as the same products differ on both: times .95 for what starts, .88 in the caches, .75 in
 * memory. Of 140 gathers of an H200's own, of .4 to 131 M arcs, these repeat 136 within 25%. Tiles: what
 * products with them took beyond the gather of the rest; weights: what they added to products with
 * reddit-like. */
const struct cost_model cost_model_h200 = {
    .name = "NVIDIA H200",
    .memory_bytes = 150.1e9,
    .tile = {{.2, .18, .33, .65, 1.3}, {.34, .34, .55, 1.1, 2.2}},
    .near = {{4.63, 7.03, 13.6, 27, 53.3}, {5.41, 10.9, 21.1, 43.4, 94}},
    .cached = {{6.08, 10, 24.1, 47.2, 95.2}, {8.9, 21.9, 46.7, 93.8, 173}},
    .distant = {{20.3, 25.2, 40.9, 70.1, 119}, {27.5, 42.9, 74.2, 127, 220}},
    .block = {{95.2, 204, 380, 760, 1510}, {349, 425, 797, 1600, 3090}},
    .tile_weighted = {{.63, .53, .51, 1, 2}, {.93, .93, .83, 1.65, 3.3}},
    .arc_weighted = {{1.38, 1.33, 1.32, 1.33, 1.33}, {1.29, 1.28, 1.28, 1.28, 1.28}},
    .block_weighted = {{258, 462, 924, 1870, 3730}, {497, 600, 1130, 2250, 4390}},
    .cached_bytes = 12e6,
    .distant_bytes = 1e9,
    .plane_byte = .565,
    .result = {.row = 8.82, .byte_cached = .288, .byte = .51, .merge_byte = .687},
    .start = {.launch = 3.21e6, .kernel = 1.97e6, .pieces = 3.32e6, .entry = 1.96e4, .block = 3.02e5},
    .pass = {8e6, .24, .0014, .0028, .0052, 1.06, 1.6, .15, .3},
    .exchange = {16e6, 3.3, 5e6, 14, .2},
};

/* One thread of a server processor with 32 MiB of shared cache. Messages are not measured: 4 GB/s of a rank
 * inside a host; between hosts the slowest network that is usual, 1 Gbit/s of all ranks of a host together.
 */
const struct cost_model cost_model_cpu = {
    .name = "processor",
    .of_a_thread = 1,
    .near = {{8e3, 14e3, 28e3, 56e3, 112e3}, {8e3, 14e3, 28e3, 56e3, 112e3}},
    .cached = {{11e3, 22e3, 44e3, 88e3, 176e3}, {11e3, 22e3, 44e3, 88e3, 176e3}},
    .distant = {{30e3, 45e3, 80e3, 150e3, 300e3}, {30e3, 45e3, 80e3, 150e3, 300e3}},
    .cached_bytes = 16e6,
    .distant_bytes = 128e6,
    .result = {.byte_cached = 200, .byte = 200},
    .exchange = {2e6, 250, 5e6},
    .between = {50e6, 8000, 50e6},
};

/* Linear between the widths of the table, proportional beyond them; below the narrowest nothing is gained. */
double cost_at_width(const double cost[COST_WIDTHS], double width) {
  if (width <= width_of[0]) return cost[0];
  for (int i = 1; i < COST_WIDTHS; i++) {
    double share = (width - width_of[i - 1]) / (width_of[i] - width_of[i - 1]);
    if (share <= 1) return cost[i - 1] + share * (cost[i] - cost[i - 1]);
  }
  return cost[COST_WIDTHS - 1] * width / width_of[COST_WIDTHS - 1];
}

enum cost_element cost_element_of(const struct cost_case *c) {
  return c->precision == PRECISION_BF16 ? COST_BF16 : COST_FP32;
}

double cost_weighted(const struct cost_case *c, const double table[COST_WIDTHS], double otherwise,
                     double width) {
  return c->weighted && table[0] > 0 ? cost_at_width(table, width) : otherwise;
}

/* Of an arc. What is fetched for it is a row of X, and one of few floats is a row of twice as many numbers of
 * bf16. */
static double arc_at_width(const double table[COST_ELEMENTS][COST_WIDTHS], enum cost_element e,
                           double width) {
  double whole = cost_at_width(table[e], width);
  if (e == COST_BF16 || width >= width_of[0]) return whole;
  double share = fmax(0, 2 * width / width_of[0] - 1), halves = table[COST_BF16][0];
  return halves + share * (whole - halves);
}

/* Between what it takes in the caches and in memory, by the logarithm of X's size. */
static double between(double cached, double distant, double share) {
  return cached + share * (distant - cached);
}

/* Bytes that a row of X, or of the result, costs. On a GPU half as in whole sectors, half as in whole lines,
 * where it lies at lines: gathers of rows of 40, 47 and 100 columns took about that on an H200. */
static double row_bytes_of(const struct cost_case *c, double number) {
  const int64_t bytes = c->width * (int64_t)number * (c->precision == PRECISION_FP64 ? 2 : 1);
  if (c->model->of_a_thread) return (double)bytes;
  const int64_t sectors = (bytes + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES;
  return (double)(sectors + tensor_pitch(bytes)) / 2;
}

struct cost_rates cost_rates_of(const struct cost_case *c, int64_t cols) {
  const struct cost_model *m = c->model;
  enum cost_element e = cost_element_of(c);
  const double number = e == COST_BF16 ? 2 : 4, row_bytes = row_bytes_of(c, number);
  const double width = row_bytes / number, bytes = (double)cols * row_bytes;
  double beyond = log(bytes / m->cached_bytes) / log(m->distant_bytes / m->cached_bytes);
  double share = fmin(fmax(beyond, 0), 1);
  double arc = cost_weighted(c, m->arc_weighted[e], 1, fmin(width, width_of[COST_WIDTHS - 1]));
  double tile = cost_at_width(m->tile[e], width);
  if (tile > 0) tile = cost_weighted(c, m->tile_weighted[e], tile, width);
  return (struct cost_rates){
      .tile = TILE_CELLS * tile,
      .near = arc * arc_at_width(m->near, e, width),
      .far = arc * between(arc_at_width(m->cached, e, width), arc_at_width(m->distant, e, width), share),
      .result = m->result.row + row_bytes * between(m->result.byte_cached, m->result.byte, share),
      .merge = fmax(width, LEAST_SUMS) * 4 * m->result.merge_byte,
      .merge_window = width * 4 * m->result.merge_byte,
      .planes = e == COST_FP32 ? bytes * m->plane_byte + m->start.kernel : 0};
}

double cost_rows_start(const struct cost_case *c) {
  const struct cost_start *start = &c->model->start;
  return (double)c->rows.longest * start->entry + (c->rows.cut ? start->pieces : 0);
}
