/* cost_csr: products of plain compressed rows (runtime.layout = "csr"), as GE-SpMM reads them (Huang et al.,
 * SC 2020): a warp sums some columns of one row, however long that is. Nothing is cut and nothing sorted, so
 * that a layout is made as fast as it is copied. */
#ifndef KERNELS_COST_COST_CSR_H
#define KERNELS_COST_COST_CSR_H

#include "kernels/cost/cost_model.h"

enum { CSR_COLS = 32 }; /* of a group: one for each thread of a warp */

/* Groups of columns that a warp sums at once, of 1, 2 and 4 those that were fastest in the mean on an H100.
 */
static inline int cost_csr_groups(int64_t width) {
  return width >= 2 * CSR_COLS ? 2 : 1;
}

/* Seconds of a product, roughly; c->rows is of rows that are not cut. Not measured. Rows of X are taken to
 * come from the caches and from memory as the gather's do, and the longest row and the result to take what
 * they take there. Column ids, weights and row offsets are read from memory once more for each further warp
 * of a row. So it is the faster one of two only where the gather cuts rows that are hardly too long. */
double cost_csr_seconds(const struct cost_case *c, const struct density *density);

#endif
