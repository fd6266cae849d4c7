#include "kernels/cuda/common/cuda.h"

/* The launchers look at the elements of what they are given: one set serves both tables. */
#define LAUNCHERS                                                                                 \
  .device = "cuda", .open = cuda_open, .close = cuda_close, .attention = &cuda_attention_ops,     \
  .elementwise = &cuda_elementwise_ops, .gemm = &cuda_gemm_ops, .incidence = &cuda_incidence_ops, \
  .loss = &cuda_loss_ops, .optimizer = &cuda_optimizer_ops, .reduce = &cuda_reduce_ops,           \
  .sparse = &cuda_sparse_ops

const struct kernel_ops cuda_ops_f32 = {
    LAUNCHERS,
    .dtype = F32,
    .real = F32,
    .precisions = 1u << PRECISION_FP32 | 1u << PRECISION_FP32_STRICT | 1u << PRECISION_TF32,
};

const struct kernel_ops cuda_ops_bf16 = {
    LAUNCHERS,
    .dtype = BF16,
    .real = F32,
    .precisions = 1u << PRECISION_BF16,
};
