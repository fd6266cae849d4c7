/* spmm of plain compressed rows (LAYOUT_CSR). */
#ifndef KERNELS_CUDA_SPMM_SPMM_CSR_CUH
#define KERNELS_CUDA_SPMM_SPMM_CSR_CUH

#include "kernels/cuda/layout/layout.h"
#include "kernels/cuda/spmm/spmm_epilogue.cuh"

/* Rows of the matrix and of X, all on the device; pointers that are NULL are as in struct cuda_layout. */
struct csr_sums {
  const int64_t *start; /* [rows + 1] */
  const int32_t *col, *row;
  const float *value, *col_scale; /* NULL: 1 */
  const int32_t *value_id;        /* entry i has value[value_id[i]]; NULL: value[i] */
  const char *x;
  uint32_t x_bytes; /* from row to row */
  int32_t first;    /* column; those up to the epilogue's width are summed */
  int64_t rows;
  bool bare; /* rows end with their sums times the row scale, in y */
};

/* Sums columns [first, epilogue->width) of all rows and ends them by `epilogue`, which has neither norm nor
 * loss; queued. how: csr of the layout. */
int cuda_csr_sums(struct kernels *k, const struct csr_sums *sums, enum dtype dtype,
                  const struct cuda_csr *how, const struct spmm_epilogue *epilogue);

#endif
