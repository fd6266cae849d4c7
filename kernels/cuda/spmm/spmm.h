/* spmm by parts, for ops that are made of products. */
#ifndef KERNELS_CUDA_SPMM_SPMM_H
#define KERNELS_CUDA_SPMM_SPMM_H

#include "kernels/cuda/common/cuda.h"

/* Which part of a product, and what it works with beside struct spmm's own. */
struct spmm_part {
  int64_t first, end;      /* columns; first a multiple of 32 bytes */
  const float *value;      /* entry i has value[value_id[i]]; NULL: the layout's values */
  const int32_t *value_id; /* [nnz] */
  bool streams;            /* rows may be short: see spmm_stream.cuh */
  bool pdl;                /* the kernel queued before writes X, earlier ones wrote all else */
  uint32_t crowded;        /* bit i: of columns i, i + 32, ... one has very many entries; with `streams` */
  char *workspace;         /* of cuda_spmm_workspace's size, at a multiple of 128 bytes */
};

/* Parts of one product are computed in the order of their columns; with a layer norm rows end in the last. */
int cuda_spmm_part(struct kernels *k, const struct spmm *op, const struct spmm_part *part);

#endif
