#include "kernels/cpu/attention/attention_ops.h"

const struct attention_ops REAL(cpu_attention_ops) = {
    .attention = REAL(cpu_attention),
    .attention_rows = REAL(cpu_attention_rows),
    .attention_backward = REAL(cpu_attention_backward),
    .attention_terms = REAL(cpu_attention_terms),
    .attention_terms_backward = REAL(cpu_attention_terms_backward),
    .dynamic_rows = REAL(cpu_dynamic_rows),
    .dynamic_backward = REAL(cpu_dynamic_backward),
    .cosine_rows = REAL(cpu_cosine_rows),
    .cosine_attention = REAL(cpu_cosine_attention),
    .cosine_backward = REAL(cpu_cosine_backward),
    .cosine_epilogue = REAL(cpu_cosine_epilogue),
    .sddmm = REAL(cpu_sddmm),
};
