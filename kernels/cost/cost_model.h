/* cost_model: what a sparse product costs, predicted from counts of its pattern and the constants of a
 * device.
 *
 * The predictions decide between orders of nodes and between tiers of a layout. They depend on the pattern,
 * the configuration and stored constants, never on a measured time, so that choices repeat. Three tiers:
 * tiles, blocks of 128 rows x 64 columns that tensor cores multiply whole, zeros included; condensed windows,
 * of 16 rows with their columns moved together (kernels/cost/cost_windows.h); and the gather, which fetches a
 * row of X for each arc. A cell of the pattern becomes a tile where its arcs cost more to gather than the
 * tile does; of what is left a window is condensed where that is cheaper than to gather it. */
#ifndef KERNELS_COST_COST_MODEL_H
#define KERNELS_COST_COST_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/cost/cost_rates.h"

enum { DENSITY_BINS = 177 };

/* The cells (128 rows x 64 columns) of a pattern by the number of arcs in them: exact below 64, then in
 * steps of a sixteenth of an octave. Empty cells are not counted. */
struct density {
  int64_t rows, cols;
  int64_t cells[DENSITY_BINS], arcs[DENSITY_BINS];
  int64_t windows[DENSITY_BINS]; /* windows of 128 rows by the arcs of their densest cell */
};

/* Counts a cell of 1 to TILE_CELLS arcs; a window whose densest cell has so many. */
void density_count(struct density *density, int64_t arcs);
void density_count_window(struct density *density, int64_t arcs);
/* Adds the cells of `part` to `sum`, not its shape. */
void density_add(struct density *sum, const struct density *part);
int64_t density_arcs(const struct density *density);
/* Whether it can have been counted, or is all zero: every bin's cells have as many arcs as the bin stands
 * for, no more windows are densest there than cells, and there are at most `arcs` in all. */
int density_is_possible(const struct density *density, int64_t arcs);
/* Arcs of a cell of 3.5% density: a tile at most widths. */
enum { DENSE_CELL = TILE_CELLS * 9 / 256 };
/* Share of the arcs in cells of at least so many; exact where a bin begins, as at DENSE_CELL. */
double density_share(const struct density *density, int64_t least);

/* Where the arcs go and what each share is predicted to take. */
struct choice {
  int64_t tile_arcs_least;    /* fewest arcs that make a cell a tile; TILE_CELLS + 1: none does */
  int64_t tiles, merged_rows; /* rows of windows with tiles */
  double tile_arcs, near_arcs, far_arcs;
  double tile_seconds, near_seconds, far_seconds, rest_seconds; /* rest: writing the result, merging tiers */
  double start_seconds;                                         /* of kernels */
  double seconds;                                               /* all together */
  double gather_seconds;                                        /* without tiles */
};

/* The cheapest of the gather alone and of tiles with a gather of what they leave, for any least number of
 * arcs in a tile: few tiles may not be worth the merge of their rows. Tiles have to save a share of the
 * gather's time, since predictions are not exact. */
struct choice choose(const struct cost_case *c, const struct density *density);

/* The same for a layout whose cells of `least` arcs and more are tiles; TILE_CELLS + 1: the gather alone. */
struct choice cost_divided(const struct cost_case *c, const struct density *density, int64_t least);

/* Whether a choice with tiles saves nothing because one window has `most` of them: a multiprocessor
 * multiplies them one after the other, long after all others are done. */
int cost_is_crowded(const struct cost_case *c, const struct choice *choice, int64_t most);

/* What tiles of so many rows take, over what they would if all multiprocessors were busy to the end: each
 * multiplies whole windows. */
double cost_tile_waves(const struct cost_case *c, int64_t rows);

/* Seconds below which no order of that many rows and arcs is expected to come: all arcs in tiles an eighth
 * full or, without tiles, near. */
double cost_least(const struct cost_case *c, int64_t rows, int64_t arcs);

/* Fewest arcs in one cell that cost more to gather than as a tile, X having `cols` rows; TILE_CELLS + 1:
 * none. */
int64_t cost_tile_least(const struct cost_case *c, int64_t cols);

/* One line: which arcs go where, and the predicted times. Returns text. */
char *cost_explain(const struct cost_case *c, const struct density *density, char *text, size_t size);

#endif
