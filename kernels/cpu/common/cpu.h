/* The CPU's kernels, for REAL; also the readable reference for every other device.
 *
 * Work is cut into as many parts as the device has threads, by shape alone, so that sums come out the same
 * whichever thread takes which part. */
#ifndef KERNELS_CPU_COMMON_CPU_H
#define KERNELS_CPU_COMMON_CPU_H

#include "kernels/cpu/common/real.h"
#include "kernels/ops/ops.h"

enum { SMALL_WORK = 1 << 15 };

/* Threads worth waking for that many elements. Only for loops whose parts do not depend on it. */
static inline int threads_for(const struct kernels *k, int64_t elements) {
  return elements < SMALL_WORK ? 1 : k->device->threads;
}

/* First of the items of part i when n items are cut into `parts` as equal as can be. */
static inline int64_t part_first(int64_t n, int parts, int i) {
  return n / parts * i + (i < n % parts ? i : n % parts);
}

/* Row v of t. */
static inline real *row_of(struct tensor t, int64_t v) {
  return (real *)t.data + v * t.stride;
}

/* y *= scale. */
static inline void scale_row(real scale, int64_t cols, real *y) {
#pragma omp simd
  for (int64_t j = 0; j < cols; j++) y[j] *= scale;
}

int REAL(cpu_open)(struct kernels *k);

/* The families of ops, each in its folder. */
extern const struct attention_ops REAL(cpu_attention_ops);
extern const struct elementwise_ops REAL(cpu_elementwise_ops);
extern const struct gemm_ops REAL(cpu_gemm_ops);
extern const struct incidence_ops REAL(cpu_incidence_ops);
extern const struct loss_ops REAL(cpu_loss_ops);
extern const struct optimizer_ops REAL(cpu_optimizer_ops);
extern const struct reduce_ops REAL(cpu_reduce_ops);
extern const struct sparse_ops REAL(cpu_sparse_ops);

#endif
