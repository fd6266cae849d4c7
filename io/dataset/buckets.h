/* buckets: the entries of an adjacency's rows, dealt to buckets of neighbouring rows (see edges). */
#ifndef IO_DATASET_BUCKETS_H
#define IO_DATASET_BUCKETS_H

#include <stdint.h>

#include "io/dataset/arcs.h"
#include "runtime/base/csr.h"

struct bucket {
  int64_t first, end;     /* its rows */
  int64_t count, filled;  /* entries: in all, dealt so far */
  struct spilled entries; /* [count]: (row - first) << 32 | column << 1 | whether the arc is reversed here */
  struct spilled weights; /* [count] floats, in a weighted list */
};

/* Zeroed: none. */
struct buckets {
  struct arcs *list; /* borrowed; its arcs are ranked: rows and columns in [0, rows) */
  int64_t rows;
  int shift; /* rows are counted by ranges of 1 << shift */
  int64_t ranges;
  int64_t *in_range; /* entries of each range of rows */
  int32_t *of_range; /* its bucket */
  struct bucket *bucket;
  int64_t count;
};

/* What merging found. */
struct merged {
  int64_t own;       /* arcs that are different ones, without those that were added */
  int64_t unmatched; /* halves of pairs whose other half is missing or has another weight */
  int64_t unequal;   /* halves of pairs of two weights */
};

/* Room for counting entries by ranges of rows. */
int buckets_begin(struct buckets *buckets, struct arcs *list, int64_t rows);
void buckets_free(struct buckets *buckets);

/* Counts an arc's two entries; `in_range` is a thread's own, [ranges]. */
static inline void buckets_count(const struct buckets *buckets, const struct arc *arc, int64_t *in_range) {
  in_range[arc->target >> buckets->shift]++;
  in_range[arc->source >> buckets->shift]++;
}

/* Deals all entries, in the order of the list, and uses up its blocks. */
int buckets_deal(struct buckets *buckets);

/* Sorts and merges the rows into `graph`, which the caller frees, and uses up the buckets. `both`: arcs in
 * both directions. Errors: BAD_INPUT: a sum of weights that is not finite. */
int buckets_merge(struct buckets *buckets, int both, struct csr *graph, struct merged *merged);

#endif
