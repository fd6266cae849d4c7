/* grid: how ranks share the sums over a graph's arcs: in `rows` parts of the graph and `cols` slices of the
 * columns of what is summed.
 *
 * Rank r stands in row r / cols and column r % cols. The ranks of a row of the grid hold the same part of the
 * graph; each sums a slice of the columns over all of its arcs, and owns a piece of its nodes for everything
 * else. R x 1 divides the graph alone. 1 x C divides the columns alone and needs no cut: two transpositions
 * of the own rows travel in place of a halo. One and two dimensions: A. Tripathy, K. Yelick and A. Buluc, SC
 * 2020; slices of features: S. Gandhi and A. P. Iyer, OSDI 2021. */
#ifndef PARTITION_GRAPH_GRID_H
#define PARTITION_GRAPH_GRID_H

#include <stdint.h>

struct grid {
  int rows, cols;
};

/* Slices begin where wide loads may. */
enum { GRID_UNIT = 8 };

/* Columns of the widest slice of so many, which the first ranks of a row have; the last may have none. */
static inline int64_t grid_slice(struct grid grid, int64_t width) {
  const int64_t each = ((width + grid.cols - 1) / grid.cols + GRID_UNIT - 1) / GRID_UNIT * GRID_UNIT;
  return each < width ? each : width;
}

/* "4x2"; of "auto" ranks x 1. Errors: BAD_INPUT for anything else, and for another number of ranks, naming
 * partition.grid. */
int grid_read(const char *text, int ranks, struct grid *grid);

#endif
