/* Long rows in segments: a sum of reals loses digits with every term that is much smaller than itself, so
 * that what a row has is summed in segments of about as many entries as there are segments, each from 0. */
#ifndef KERNELS_CPU_SEGMENT_H
#define KERNELS_CPU_SEGMENT_H

#include <omp.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/layout.h"

enum { SEGMENT = 256 }; /* entries of a segment, at least; shorter rows are in one piece */

static inline int64_t segment_of(int64_t entries) {
  return entries <= SEGMENT * SEGMENT ? SEGMENT : (int64_t)sqrt((double)entries);
}

/* Where a thread adds up a segment: `reals` for each of them, NULL where no row of `a` has two. */
static inline int segment_scratch(struct kernels *k, const struct cpu_layout *a, int threads, int64_t reals,
                                  real **scratch) {
  void *workspace = NULL;
  int64_t bytes = threads * tensor_stride(REAL_DTYPE, reals) * (int64_t)sizeof(real);
  int code = a->longest <= SEGMENT ? 0 : kernels_workspace(k, bytes, &workspace);
  *scratch = workspace;
  return code;
}

/* The calling thread's. */
static inline real *segment_mine(real *scratch, int64_t reals) {
  return scratch ? scratch + omp_get_thread_num() * tensor_stride(REAL_DTYPE, reals) : NULL;
}

#endif
