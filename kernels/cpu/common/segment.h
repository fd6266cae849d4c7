/* Long rows in segments: a sum of reals loses digits with every term that is much smaller than itself, so
 * that no sum has more than SEGMENT terms: entries, or sums of segments, each from 0. */
#ifndef KERNELS_CPU_COMMON_SEGMENT_H
#define KERNELS_CPU_COMMON_SEGMENT_H

#include <omp.h>
#include <stddef.h>

#include "kernels/cpu/common/cpu.h"
#include "kernels/cpu/common/layout.h"

enum { SEGMENT = 256 };

/* Entries of each segment of that many; all of them where they are one. */
static inline int64_t segment_of(int64_t entries) {
  int64_t each = SEGMENT;
  if (entries <= SEGMENT) return entries;
  while (each * SEGMENT < entries) each *= SEGMENT;
  return each;
}

/* Where a segment is added up; behind it, those that it consists of. */
struct segment_place {
  real *at; /* NULL: no row has segments */
  int64_t reals, levels;
};

static inline struct segment_place segment_within(struct segment_place place) {
  place.at += place.reals;
  return place;
}

/* For each of the threads, of segments of `reals` numbers of the rows of `a`. */
static inline int segment_places(struct kernels *k, const struct cpu_layout *a, int threads, int64_t reals,
                                 struct segment_place *place) {
  void *workspace = NULL;
  *place = (struct segment_place){.reals = tensor_stride(REAL_DTYPE, reals)};
  for (int64_t entries = a->longest; entries > SEGMENT; entries = segment_of(entries)) place->levels++;
  int64_t bytes = threads * place->levels * place->reals * (int64_t)sizeof(real);
  int code = bytes ? kernels_workspace(k, bytes, &workspace) : 0;
  place->at = workspace;
  return code;
}

/* The calling thread's. */
static inline struct segment_place segment_mine(struct segment_place place) {
  if (place.at) place.at += omp_get_thread_num() * place.levels * place.reals;
  return place;
}

#endif
