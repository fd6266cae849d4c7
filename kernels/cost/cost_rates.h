/* cost_rates: what a device takes for the pieces of a sparse product: its constants, and the costs of one
 * product that follow from them. */
#ifndef KERNELS_COST_COST_RATES_H
#define KERNELS_COST_COST_RATES_H

#include <stdint.h>

#include "runtime/base/types.h"

enum { TILE_ROWS = 128, TILE_COLS = 64, TILE_CELLS = TILE_ROWS * TILE_COLS };

enum { COST_WIDTHS = 5 };

/* What X is made of in a product, as far as costs go. */
enum cost_element { COST_BF16, COST_FP32, COST_ELEMENTS };

/* Picoseconds on the whole device, or on one thread of a processor, at 32, 64, 128, 256 and 512 columns;
 * other widths by interpolation. */
struct cost_model {
  const char *name;
  int of_a_thread;
  double tile[COST_ELEMENTS][COST_WIDTHS];    /* one of a tile's 8192 cells; 0: the device has no tiles */
  double near[COST_ELEMENTS][COST_WIDTHS];    /* an arc whose row of X was fetched for a row next to it */
  double cached[COST_ELEMENTS][COST_WIDTHS];  /* any other arc while X fits the caches */
  double distant[COST_ELEMENTS][COST_WIDTHS]; /* any other arc when X lies in memory */
  /* Sixteen columns of a condensed window, fetched from near; 0: the device has no such windows. */
  double block[COST_ELEMENTS][COST_WIDTHS];
  /* Where arcs have weights: a cell of a tile, what an arc that is gathered takes beside one without, and
   * sixteen columns of a condensed window. 0: as without. */
  double tile_weighted[COST_ELEMENTS][COST_WIDTHS];
  double arc_weighted[COST_ELEMENTS][COST_WIDTHS];
  double block_weighted[COST_ELEMENTS][COST_WIDTHS];
  /* The weights of the regression that chooses beside the model: struct window_selector. */
  double selector_bias[COST_ELEMENTS][COST_WIDTHS];
  double selector_sparsity[COST_ELEMENTS][COST_WIDTHS];
  double selector_columns[COST_ELEMENTS][COST_WIDTHS];
  double cached_bytes, distant_bytes; /* of X: between them the logarithm decides */
  double row, row_byte;               /* a row of the result, and each of its bytes */
  double merge_byte;                  /* a byte of it that two tiers touch */
  double plane_byte; /* a byte of floats made two planes of bf16, for tiles and condensed windows */
  double launch;     /* the start of a product; of each further kernel half of it */
};

extern const struct cost_model cost_model_h200, cost_model_cpu;

/* One product: Y [rows, width] = A X [cols, width]. */
struct cost_case {
  const struct cost_model *model;
  enum precision precision;
  int64_t width;
  int weighted; /* A has values of its own */
};

/* A constant at a width that the table may not have. */
double cost_at_width(const double cost[COST_WIDTHS], double width);

/* The element of X in that product. */
enum cost_element cost_element_of(const struct cost_case *c);

/* What a table of weighted arcs says at that width, where arcs have weights and the table has values;
 * otherwise `otherwise`. */
double cost_weighted(const struct cost_case *c, const double table[COST_WIDTHS], double otherwise,
                     double width);

/* Picoseconds of one product with X of a given size: a tile, an arc from near and from afar, a row of the
 * result, a row that two tiers touch, the planes of X, the start of a kernel. */
struct cost_rates {
  double tile, near, far, result, merge, planes, launch;
};

/* Those with X of `cols` rows. */
struct cost_rates cost_rates_of(const struct cost_case *c, int64_t cols);

#endif
