#include "kernels/simulated/simulated.h"

/* Sums over hyperedges are not there: a plan refuses hypergraphs. */
#define TABLES                                                                                             \
  .device = "simulated", .attention = &simulated_attention_ops, .elementwise = &simulated_elementwise_ops, \
  .gemm = &simulated_gemm_ops, .loss = &simulated_loss_ops, .optimizer = &simulated_optimizer_ops,         \
  .reduce = &simulated_reduce_ops, .sparse = &simulated_sparse_ops

/* The precisions of a GPU. */
const struct kernel_ops simulated_ops_f32 = {
    TABLES,
    .dtype = F32,
    .real = F32,
    .precisions = 1u << PRECISION_FP32 | 1u << PRECISION_FP32_STRICT | 1u << PRECISION_TF32,
};

const struct kernel_ops simulated_ops_bf16 = {
    TABLES,
    .dtype = BF16,
    .real = F32,
    .precisions = 1u << PRECISION_BF16,
};
