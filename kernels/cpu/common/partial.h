/* Column sums over rows that several threads share: one row of doubles for each part of the rows, added up
 * in the order of the parts. */
#ifndef KERNELS_CPU_COMMON_PARTIAL_H
#define KERNELS_CPU_COMMON_PARTIAL_H

#include <stdint.h>

#include "kernels/cpu/common/real.h"

/* out[j] = sum over parts p of partial[p stride + j]. */
static inline void add_parts(const double *partial, int64_t stride, int parts, int64_t cols, real *out) {
  for (int64_t j = 0; j < cols; j++) {
    double sum = 0;
    for (int p = 0; p < parts; p++) sum += partial[p * stride + j];
    out[j] = (real)sum;
  }
}

#endif
