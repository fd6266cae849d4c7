#include "kernels/cuda/spmm/spmm_ops.h"

const struct sparse_ops cuda_sparse_ops = {
    .layout_init = cuda_layout_init,
    .layout_share = cuda_layout_share,
    .layout_free = cuda_layout_free,
    .spmm = cuda_spmm,
    .spmm_workspace = cuda_spmm_workspace,
    .sparse_dropout = cuda_sparse_dropout,
};

const struct reduce_ops cuda_reduce_ops = {
    .reduce = cuda_reduce,
    .reduce_backward = cuda_reduce_backward,
};

const struct incidence_ops cuda_incidence_ops = {
    .fuses = 1,
    .splits = 1,
    .incidence_workspace = cuda_incidence_workspace,
    .incidence_sum = cuda_incidence_sum,
    .incidence_weights = cuda_incidence_weights,
    .incidence_weights_backward = cuda_incidence_weights_backward,
};
