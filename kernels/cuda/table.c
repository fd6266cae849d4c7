#include "kernels/ops/table_cuda.h"

#include "kernels/cuda/common/cuda.h"

/* The launchers look at the elements of what they are given: one set serves both tables. */
#define LAUNCHERS                                                                                  \
  .device = "cuda", .open = cuda_open, .close = cuda_close, .layout_init = cuda_layout_init,       \
  .layout_share = cuda_layout_share, .layout_free = cuda_layout_free, .spmm = cuda_spmm,           \
  .spmm_workspace = cuda_spmm_workspace, .gemm = cuda_gemm, .gemm_workspace = cuda_gemm_workspace, \
  .gemm_fused = cuda_gemm_fused, .gemm_repeats = cuda_gemm_repeats, .gather = cuda_gather,         \
  .dropout = cuda_dropout, .sparse_dropout = cuda_sparse_dropout, .epilogue = cuda_epilogue,       \
  .epilogue_backward = cuda_epilogue_backward, .batch_norm_backward = cuda_batch_norm_backward,    \
  .batch_norm_stats = cuda_batch_norm_stats, .column_sums = cuda_column_sums,                      \
  .column_moments = cuda_column_moments, .add = cuda_add, .dot = cuda_dot,                         \
  .cross_entropy = cuda_cross_entropy, .bce = cuda_bce, .sum_losses = cuda_sum_losses,             \
  .accuracy = cuda_accuracy, .micro_f1 = cuda_micro_f1, .advance = cuda_advance,                   \
  .sum_squares = cuda_sum_squares, .optimizer = cuda_optimizer, .reduce = cuda_reduce,             \
  .reduce_backward = cuda_reduce_backward, .attention_workspace = cuda_attention_workspace,        \
  .attention = cuda_attention, .attention_rows = cuda_attention_rows,                              \
  .attention_backward = cuda_attention_backward, .attention_terms = cuda_attention_terms,          \
  .attention_terms_backward = cuda_attention_terms_backward, .cosine_rows = cuda_cosine_rows,      \
  .cosine_attention = cuda_cosine_attention, .cosine_backward = cuda_cosine_backward,              \
  .cosine_epilogue = cuda_cosine_epilogue, .sddmm = cuda_sddmm, .incidence_fuses = 1,              \
  .incidence_workspace = cuda_incidence_workspace, .incidence_sum = cuda_incidence_sum,            \
  .incidence_weights = cuda_incidence_weights, .incidence_weights_backward = cuda_incidence_weights_backward

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
