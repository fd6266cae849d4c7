/* The CPU's kernels, for REAL; also the readable reference for every other device.
 *
 * Work is cut into as many parts as the device has threads, by shape alone, so that sums come out the same
 * whichever thread takes which part. */
#ifndef KERNELS_CPU_COMMON_CPU_H
#define KERNELS_CPU_COMMON_CPU_H

#include "kernels/cpu/common/real.h"
#include "kernels/ops/attention.h"
#include "kernels/ops/ops.h"
#include "kernels/ops/reduce.h"

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

int REAL(cpu_layout_init)(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                          struct layout **layout);
int REAL(cpu_layout_share)(struct kernels *k, const struct layout *from, struct layout **layout);
void REAL(cpu_layout_free)(struct kernels *k, struct layout *layout);
int REAL(cpu_spmm)(struct kernels *k, const struct spmm *op);
int REAL(cpu_open)(struct kernels *k);
int REAL(cpu_gemm)(struct kernels *k, const struct gemm *op);
int REAL(cpu_gather)(struct kernels *k, const struct gather *op);
int REAL(cpu_dropout)(struct kernels *k, struct tensor x, const struct dropout *op, struct tensor y);
int REAL(cpu_sparse_dropout)(struct kernels *k, const struct sparse_dropout *op);
int REAL(cpu_epilogue)(struct kernels *k, const struct epilogue *op);
int REAL(cpu_epilogue_backward)(struct kernels *k, const struct epilogue_backward *op);
int REAL(cpu_batch_norm_backward)(struct kernels *k, const struct batch_norm_backward *op);
int REAL(cpu_batch_norm_stats)(struct kernels *k, const struct batch_norm_stats *op);
int REAL(cpu_column_sums)(struct kernels *k, const struct column_sums *op);
int REAL(cpu_column_moments)(struct kernels *k, const struct column_moments *op);
int REAL(cpu_add)(struct kernels *k, const struct add *op, int count);
int REAL(cpu_dot)(struct kernels *k, const struct dot *op);
int REAL(cpu_cross_entropy)(struct kernels *k, const struct loss_op *op);
int REAL(cpu_bce)(struct kernels *k, const struct loss_op *op);
int REAL(cpu_sum_losses)(struct kernels *k, const struct loss_op *op);
int REAL(cpu_accuracy)(struct kernels *k, const struct score *op);
int REAL(cpu_micro_f1)(struct kernels *k, const struct score *op);
int REAL(cpu_advance)(struct kernels *k, const double *rate, int64_t rates);
int REAL(cpu_sum_squares)(struct kernels *k, const void *x, int64_t count);
int REAL(cpu_optimizer)(struct kernels *k, const struct optimizer_op *op);
int REAL(cpu_reduce)(struct kernels *k, const struct reduce *op);
int REAL(cpu_reduce_backward)(struct kernels *k, const struct reduce_backward *op);
int REAL(cpu_attention)(struct kernels *k, const struct attention *op);
int REAL(cpu_attention_rows)(struct kernels *k, const struct attention_rows *op);
int REAL(cpu_attention_backward)(struct kernels *k, const struct attention_backward *op);
int REAL(cpu_attention_terms)(struct kernels *k, const struct attention_terms *op);
int REAL(cpu_attention_terms_backward)(struct kernels *k, const struct attention_terms_backward *op);
int REAL(cpu_cosine_rows)(struct kernels *k, const struct cosine_rows *op);
int REAL(cpu_cosine_attention)(struct kernels *k, const struct cosine_attention *op);
int REAL(cpu_cosine_backward)(struct kernels *k, const struct cosine_backward *op);
int REAL(cpu_cosine_epilogue)(struct kernels *k, const struct cosine_epilogue *op);
int REAL(cpu_sddmm)(struct kernels *k, const struct sddmm *op);
int64_t REAL(cpu_incidence_workspace)(const struct kernels *k, const struct incidence_sum *op);
int REAL(cpu_incidence_sum)(struct kernels *k, const struct incidence_sum *op);
int REAL(cpu_incidence_weights)(struct kernels *k, const struct incidence_weights *op);
int REAL(cpu_incidence_weights_backward)(struct kernels *k, const struct incidence_weights_backward *op);

#endif
