#include "kernels/cuda/elementwise/elementwise_ops.h"

const struct elementwise_ops cuda_elementwise_ops = {
    .gather = cuda_gather,
    .dropout = cuda_dropout,
    .epilogue = cuda_epilogue,
    .epilogue_backward = cuda_epilogue_backward,
    .batch_norm_backward = cuda_batch_norm_backward,
    .batch_norm_stats = cuda_batch_norm_stats,
    .column_sums = cuda_column_sums,
    .column_moments = cuda_column_moments,
    .add = cuda_add,
    .dot = cuda_dot,
    .signs = cuda_signs,
    .put = cuda_put,
};
