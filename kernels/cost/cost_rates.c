#include "kernels/cost/cost_rates.h"

#include <math.h>

static const double width_of[COST_WIDTHS] = {32, 64, 128, 256, 512};

/* Gathers: fitted to whole products of fifteen graphs of .4 to 131 M arcs at 32 to 512 columns, bf16 and fp32
 * apart, which they repeat within 7 to 14% in the mean and 40% at most. Tiles: what products with them took
 * beyond the gather of the rest; two planes of bf16 in fp32. Condensed windows: what calibrate finds over
 * what it finds for near arcs, times these near arcs. Both at 512 columns: twice 256. With weights:
 * fitted to products with reddit-like in the same way. */
const struct cost_model cost_model_h200 = {
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
const struct cost_model cost_model_cpu = {
    .name = "processor",
    .of_a_thread = 1,
    .near = {{8e3, 14e3, 28e3, 56e3, 112e3}, {8e3, 14e3, 28e3, 56e3, 112e3}},
    .cached = {{11e3, 22e3, 44e3, 88e3, 176e3}, {11e3, 22e3, 44e3, 88e3, 176e3}},
    .distant = {{30e3, 45e3, 80e3, 150e3, 300e3}, {30e3, 45e3, 80e3, 150e3, 300e3}},
    .cached_bytes = 16e6,
    .distant_bytes = 128e6,
    .row_byte = 200,
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

struct cost_rates cost_rates_of(const struct cost_case *c, int64_t cols) {
  const struct cost_model *m = c->model;
  enum cost_element e = cost_element_of(c);
  /* Numbers of fp64 are two of fp32. */
  double width = (double)c->width * (c->precision == PRECISION_FP64 ? 2 : 1);
  double row_bytes = width * (e == COST_BF16 ? 2 : 4);
  double beyond = log((double)cols * row_bytes / m->cached_bytes) / log(m->distant_bytes / m->cached_bytes);
  double cached = cost_at_width(m->cached[e], width), distant = cost_at_width(m->distant[e], width);
  double arc = cost_weighted(c, m->arc_weighted[e], 1, fmin(width, width_of[COST_WIDTHS - 1]));
  double tile = cost_at_width(m->tile[e], width);
  if (tile > 0) tile = cost_weighted(c, m->tile_weighted[e], tile, width);
  return (struct cost_rates){.tile = TILE_CELLS * tile,
                             .near = arc * cost_at_width(m->near[e], width),
                             .far = arc * (cached + fmin(fmax(beyond, 0), 1) * (distant - cached)),
                             .result = m->row + row_bytes * m->row_byte,
                             .merge = width * 4 * m->merge_byte,
                             .planes = e == COST_FP32 ? (double)cols * row_bytes * m->plane_byte : 0,
                             .launch = m->launch};
}
