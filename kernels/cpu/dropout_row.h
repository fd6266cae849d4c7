/* Inverted dropout of one row of a matrix; see struct dropout. */
#ifndef KERNELS_CPU_DROPOUT_ROW_H
#define KERNELS_CPU_DROPOUT_ROW_H

#include "kernels/cpu/philox_lanes.h"
#include "kernels/cpu/real.h"
#include "kernels/ops.h"

enum { DROPOUT_COLUMNS = 8 * PHILOX_LANES };

/* bits[j] = the 16 bits of element (id, first + j); `first` is a multiple of 8. */
static inline void dropout_bits(const struct dropout *op, uint32_t epoch, int64_t id, int64_t first,
                                uint32_t bits[DROPOUT_COLUMNS]) {
  struct philox_lanes lanes;
  for (int l = 0; l < PHILOX_LANES; l++) {
    lanes.word[0][l] = (uint32_t)id;
    lanes.word[1][l] = (uint32_t)((uint64_t)id >> 32);
    lanes.word[2][l] = (uint32_t)(first / 8) + (uint32_t)l;
    lanes.word[3][l] = epoch;
  }
  philox_lanes(&lanes, op->key);
  for (int l = 0; l < PHILOX_LANES; l++) {
    for (int w = 0; w < 4; w++) {
      bits[8 * l + 2 * w] = lanes.word[w][l] & 0xFFFF;
      bits[8 * l + 2 * w + 1] = lanes.word[w][l] >> 16;
    }
  }
}

/* y_j = x_j scale where kept, 0 elsewhere, over the columns of local row v. y may be x. */
static inline void dropout_row(const struct dropout *op, uint32_t epoch, int64_t v, int64_t cols,
                               const real *x, real *y) {
  uint32_t bits[DROPOUT_COLUMNS], threshold = op->threshold;
  real scale = (real)op->scale;
  for (int64_t first = 0; first < cols; first += DROPOUT_COLUMNS) {
    dropout_bits(op, epoch, op->id[v], first, bits);
    int64_t end = cols - first < DROPOUT_COLUMNS ? cols - first : DROPOUT_COLUMNS;
#pragma omp simd
    for (int64_t j = 0; j < end; j++) y[first + j] = bits[j] >= threshold ? x[first + j] * scale : (real)0;
  }
}

#endif
