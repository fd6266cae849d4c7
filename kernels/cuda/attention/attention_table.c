#include "kernels/cuda/attention/attention_ops.h"

const struct attention_ops cuda_attention_ops = {
    .attention_workspace = cuda_attention_workspace,
    .attention = cuda_attention,
    .attention_rows = cuda_attention_rows,
    .attention_backward = cuda_attention_backward,
    .attention_terms = cuda_attention_terms,
    .attention_terms_backward = cuda_attention_terms_backward,
    .dynamic_rows = cuda_dynamic_rows,
    .dynamic_backward = cuda_dynamic_backward,
    .cosine_rows = cuda_cosine_rows,
    .cosine_attention = cuda_cosine_attention,
    .cosine_backward = cuda_cosine_backward,
    .cosine_epilogue = cuda_cosine_epilogue,
    .sddmm = cuda_sddmm,
};
