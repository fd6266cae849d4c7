/* A binary matrix whose entries a function tells. */
#ifndef TESTS_KERNELS_SYNTHETIC_MATRIX_H
#define TESTS_KERNELS_SYNTHETIC_MATRIX_H

#include "runtime/base/csr.h"
#include "tests/check.h"

/* The caller frees it. */
static inline struct csr synthetic_matrix(int64_t rows, int64_t cols, int (*has_arc)(int64_t i, int64_t j)) {
  struct csr m;
  assert_ok(csr_init(&m, rows, cols, rows * cols, 0));
  m.nnz = 0;
  for (int64_t i = 0; i < rows; i++) {
    for (int64_t j = 0; j < cols; j++)
      if (has_arc(i, j)) m.col[m.nnz++] = (int32_t)j;
    m.start[i + 1] = m.nnz;
  }
  return m;
}

#endif
