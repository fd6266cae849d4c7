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

/* What a product takes before and beside its arithmetic. On a GPU a small product takes little else: its
 * longest row is summed batch after batch while most of the device has nothing to do. */
struct cost_start {
  double launch; /* until the first results of a kernel: its launch, the first ids, the first rows of X */
  double kernel; /* each further kernel: tiles, condensed windows, planes */
  double pieces; /* the kernel that adds the pieces of long rows and waits for the last of them */
  double entry;  /* an entry of the longest row segment */
  double block;  /* sixteen columns of the mean condensed window, whose warp takes them one after the other */
};

/* The rows of the result. Written again and again, small ones stay in the caches. */
struct cost_result {
  double row, byte_cached, byte; /* a row; each of its bytes while X fits the caches, and in memory */
  double merge_byte;             /* a byte of it that two tiers touch */
};

/* What an epoch has beside sparse products. Passes over whole matrices (kernels/cost/cost_pass.h): before the
 * first byte, once another kernel has ended; a byte; an operation of a product. Factors of sparse products:
 * whose rows end in an epilogue; whose arcs have scores, as attention's. weight: of a tile's cell, made by
 * its score for one head of attention; cosine: likewise, by a cosine. */
struct cost_pass {
  double start, byte, flop_bf16, flop_tf32, flop_fp32;
  double ends, scores;
  double weight, cosine;
  int has_cosines; /* arcs do: cost_cosines */
};

/* The exchange of rows between GPUs of a host: before the first byte; a byte that a GPU sends, or receives,
 * whichever are more. Of sums over ranks: before one over two of them has begun; a byte of a short one, which
 * goes sooner and slower than a long one, 0: as any byte. beside: the share of its time that the exchange
 * takes from what runs meanwhile, since it runs on multiprocessors, too. Those of the source are of stores
 * between four H100s and of sums of 1 and 656 KB between two and four H200s, which have the same links.
 * Between hosts all zero: not measured. Of stores, which have a start and a byte alone, zero: as messages. */
struct cost_exchange {
  double start, byte, reduce_start, reduce_byte, beside;
};

/* Picoseconds on the whole device, or on one thread of a processor, at 32, 64, 128, 256 and 512 columns;
 * other widths by interpolation. */
struct cost_model {
  const char *name;
  int of_a_thread;
  double memory_bytes;                        /* of a GPU */
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
  double cached_bytes, distant_bytes; /* of X: between them the logarithm decides */
  double plane_byte; /* a byte of floats made two planes of bf16, for tiles and condensed windows */
  struct cost_result result;
  struct cost_start start;
  struct cost_pass pass;
  struct cost_exchange exchange, between; /* inside a host; between hosts */
  struct cost_exchange stores;            /* inside a host, of rows stored into another GPU's memory */
};

extern const struct cost_model cost_model_h200, cost_model_h100, cost_model_cpu;

/* What of a matrix's rows decides how long a small product takes. All zero: not known. */
struct cost_rows {
  int64_t longest; /* entries of the longest row segment (kernels/format/row_segments.h) */
  int cut;         /* longer rows are cut, and their pieces added */
};

/* One product: Y [rows, width] = A X [cols, width]. */
struct cost_case {
  const struct cost_model *model;
  enum precision precision;
  int64_t width;
  int weighted; /* A has values of its own */
  struct cost_rows rows;
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
 * result, a row that tiles touch as well, or condensed windows, the planes of X and their kernel. */
struct cost_rates {
  double tile, near, far, result, merge, merge_window, planes;
};

/* Picoseconds that the rows take to start and to end: the longest, and the pieces of those that are cut. */
double cost_rows_start(const struct cost_case *c);

/* Those with X of `cols` rows. */
struct cost_rates cost_rates_of(const struct cost_case *c, int64_t cols);

#endif
