/* slots: the rows of a sparse matrix cut into units of work, each for a group of a GPU's threads.
 *
 * A slot is a row, or a piece of one that is longer than a limit. Slots stand in windows of consecutive rows,
 * the longest first inside a window: the rows of one warp are about equally long, and neighbouring rows,
 * which share columns, still meet in the caches. Slots far longer than the mean stand before all windows:
 * begun late, they would run on alone. Pieces of a row leave partial sums, which are added in the order of
 * the pieces. Every entry is in one slot, every row has one at least. */
#ifndef KERNELS_FORMAT_ROW_SEGMENTS_H
#define KERNELS_FORMAT_ROW_SEGMENTS_H

#include "runtime/base/csr.h"
#include "runtime/base/host_device.h"

enum { DENSE_DEGREE = 100 }; /* from this mean on a row's entries outweigh all else */
enum { TALL_PIECES = 16 };   /* a row of more pieces has them added by many threads */

struct slot {
  int64_t first;  /* entry */
  int32_t count;  /* entries */
  int32_t target; /* row of the result, or ~piece */
};

/* Slots in SLOT_BYTES each, an array for each part: of rows of 50 entries they are .2 bytes an entry. */
enum { SLOT_BYTES = 10, SLOT_COUNT_BITS = 11, SLOT_ENTRY_BITS = 48 - SLOT_COUNT_BITS };
struct packed_slots {
  uint32_t *first;  /* the low bits of the entry */
  uint16_t *extent; /* its high bits above the count */
  int32_t *target;
};

static inline HOST_DEVICE struct slot slot_of(uint32_t first, uint16_t extent, int32_t target) {
  struct slot slot;
  slot.first = (int64_t)(extent >> SLOT_COUNT_BITS) << 32 | first;
  slot.count = extent & ((1 << SLOT_COUNT_BITS) - 1);
  slot.target = target;
  return slot;
}

struct long_row {
  int32_t row, first_piece, pieces, unused;
};

struct slots {
  const struct csr *csr;
  int32_t limit; /* entries of a slot */
  int32_t early; /* slots of more entries than this come before all others */
  int in_order;  /* slots stand as their rows do */
  int64_t windows, count, long_rows, pieces;
  int64_t *start;                    /* [2 windows + 1]: the early slots of each window, then the others */
  int64_t *long_start, *piece_start; /* [windows + 1]: long rows and pieces of each window */
  struct packed_slots slot;          /* [count] */
  struct long_row *long_row;
  int32_t *long_target; /* [long_rows] their rows */
  int32_t *piece_row;   /* [pieces] */
  int64_t tall_rows;
  int32_t *tall_row; /* [tall_rows] places in long_row of the rows of more than TALL_PIECES */
};

/* Whether streaming through the slots of so many rows is worth it, where it may be done at all: they are many
 * and short. */
static inline int slots_may_stream(int64_t rows, int64_t entries) {
  enum { SHORT_ROW = 16, MANY_ROWS = 1 << 15 };
  return rows >= MANY_ROWS && entries / rows < SHORT_ROW;
}

/* Entries of the longest slot of a matrix with so many rows and entries, its longest row among them, for rows
 * of X of that many bytes, 0: not known; streams: where long slots are shared among the groups of a warp. */
int32_t slots_limit(int64_t rows, int64_t entries, int64_t longest, int64_t row_bytes, int streams);

/* How to cut: for rows of X of that many bytes, 0: not known; for kernels that may stream; slots in the order
 * of their rows, not the longest first. */
struct slots_plan {
  int64_t row_bytes;
  int streams, in_order;
};

/* Cuts m, which is borrowed, by slots_limit. Errors: BAD_INPUT where there are more slots than a GPU's layout
 * can number, FAILED when memory is short. */
int slots_cut(const struct csr *m, const struct slots_plan *plan, struct slots *slots);
void slots_free(struct slots *slots);

/* y += m x by way of the slots, x [cols, width], y [rows of the result, width]: what a GPU computes, plainly.
 * Errors: FAILED when memory is short. */
int slots_multiply(const struct slots *slots, const double *x, int64_t width, double *y);

#endif
