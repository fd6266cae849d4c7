/* row_segments: the rows of a sparse matrix cut into units of work, each for a group of a GPU's threads.
 *
 * A row segment is a row, or a piece of one that is longer than a limit. Row segments stand in windows of
 * consecutive rows, the longest first inside a window: the rows of one warp are about equally long, and
 * neighbouring rows, which share columns, still meet in the caches. The last window is a long one, so that
 * the row segments that end a product are short. Row segments far longer than the mean stand before all
 * windows: begun late, they would run on alone. Pieces of a row leave partial sums, which are added in the
 * order of the pieces. Every entry is in one row segment, every row has one at least. */
#ifndef KERNELS_FORMAT_ROW_SEGMENTS_H
#define KERNELS_FORMAT_ROW_SEGMENTS_H

#include "kernels/cost/cost_rates.h"
#include "runtime/base/csr.h"
#include "runtime/base/host_device.h"

enum { DENSE_DEGREE = 100 }; /* from this mean on a row's entries outweigh all else */
enum { TALL_PIECES = 16 };   /* a row of more pieces has them added by many threads */

struct row_segment {
  int64_t first;  /* entry */
  int32_t count;  /* entries */
  int32_t target; /* row of the result, or ~piece */
};

/* Row segments in SLOT_BYTES each, an array for each part: of rows of 50 entries they are .2 bytes an entry.
 */
enum {
  ROW_SEGMENT_BYTES = 10,
  ROW_SEGMENT_COUNT_BITS = 11,
  ROW_SEGMENT_ENTRY_BITS = 48 - ROW_SEGMENT_COUNT_BITS
};
struct packed_row_segments {
  uint32_t *first;  /* the low bits of the entry */
  uint16_t *extent; /* its high bits above the count */
  int32_t *target;
};

static inline HOST_DEVICE struct row_segment row_segment_of(uint32_t first, uint16_t extent, int32_t target) {
  struct row_segment row_segment;
  row_segment.first = (int64_t)(extent >> ROW_SEGMENT_COUNT_BITS) << 32 | first;
  row_segment.count = extent & ((1 << ROW_SEGMENT_COUNT_BITS) - 1);
  row_segment.target = target;
  return row_segment;
}

struct long_row {
  int32_t row, first_piece, pieces, unused;
};

struct row_segments {
  const struct csr *csr;
  int32_t limit; /* entries of a row segment */
  int32_t early; /* row segments of more entries than this come before all others */
  int in_order;  /* row segments stand as their rows do */
  int64_t windows, count, long_rows, pieces;
  int64_t *start; /* [2 windows + 1]: the early row segments of each window, then the others */
  int64_t *long_start, *piece_start;      /* [windows + 1]: long rows and pieces of each window */
  struct packed_row_segments row_segment; /* [count] */
  struct long_row *long_row;
  int32_t *long_target; /* [long_rows] their rows */
  int32_t *piece_row;   /* [pieces] */
  int64_t tall_rows;
  int32_t *tall_row; /* [tall_rows] places in long_row of the rows of more than TALL_PIECES */
};

/* Whether streaming through the row segments of so many rows is worth it, where it may be done at all: they
 * are many and short. */
static inline int row_segments_may_stream(int64_t rows, int64_t entries) {
  enum { SHORT_ROW = 16, MANY_ROWS = 1 << 15 };
  return rows >= MANY_ROWS && entries / rows < SHORT_ROW;
}

/* Entries of the longest row segment of a matrix with so many rows and entries, its longest row among them,
 * for rows of X of that many bytes, 0: not known; streams: where long row segments are shared among the
 * groups of a warp. */
int32_t row_segments_limit(int64_t rows, int64_t entries, int64_t longest, int64_t row_bytes, int streams);

/* How to cut: for rows of X of that many bytes, 0: not known; for kernels that may stream; row segments in
 * the order of their rows, not the longest first. */
struct row_segments_plan {
  int64_t row_bytes;
  int streams, in_order;
};

/* What of the rows of m, cut so, decides how long a small product takes. */
struct cost_rows row_segments_foresee(const struct csr *m, const struct row_segments_plan *plan);

/* The same of rows that nobody cuts. */
struct cost_rows row_segments_uncut(const struct csr *m);

/* Cuts m, which is borrowed, by row_segments_limit. Errors: BAD_INPUT where there are more row segments than
 * a GPU's layout can number, FAILED when memory is short. */
int row_segments_cut(const struct csr *m, const struct row_segments_plan *plan,
                     struct row_segments *row_segments);
void row_segments_free(struct row_segments *row_segments);

#endif
