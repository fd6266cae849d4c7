/* cost_fit: the constants of the cost model that repeat measured products best.
 *
 * What a layout is predicted to take is a sum of constants, each times what the layout has of it, so that the
 * best ones are a problem of least squares without negative constants. Errors count in proportion to the
 * time, and less where another layout of the same product is faster: it will not be chosen. */
#ifndef KERNELS_COST_COST_FIT_H
#define KERNELS_COST_COST_FIT_H

#include "kernels/cost/cost_windows.h"

/* A measured product. */
struct cost_sample {
  enum precision precision;
  int64_t width; /* one of the table's */
  struct cost_rows rows;
  const struct density *density;
  int64_t least; /* arcs of its tiles; TILE_CELLS + 1: it has none */
  struct window_choice windows;
  double seconds, fastest; /* of this layout, of all layouts of the product */
};

/* Sets them, but those of tiles, which dense cells tell better, and of arcs with weights, and cached_bytes
 * and distant_bytes. One of which no sample has anything is 0. Errors: FAILED when memory is short. */
int cost_fit(struct cost_model *model, const struct cost_sample *sample, int samples);

/* What the model says of it, as a share of what it took. */
double cost_fit_ratio(const struct cost_model *model, const struct cost_sample *sample);

#endif
