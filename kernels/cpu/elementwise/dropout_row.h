/* Inverted dropout of one row of a matrix; see struct dropout. */
#ifndef KERNELS_CPU_ELEMENTWISE_DROPOUT_ROW_H
#define KERNELS_CPU_ELEMENTWISE_DROPOUT_ROW_H

#include <string.h>

#include "kernels/cpu/common/philox_lanes.h"
#include "kernels/cpu/common/real.h"
#include "kernels/ops/epilogue.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the lower half of a word stands first");
enum { DROPOUT_COLUMNS = 8 * PHILOX_LANES };

/* bits[j] = the 16 bits of element (id, first + j); `first` is a multiple of 8. */
static inline void dropout_bits(const struct dropout *op, uint32_t epoch, int64_t id, int64_t first,
                                uint16_t bits[DROPOUT_COLUMNS]) {
  struct philox_lanes lanes;
  uint64_t words[2 * PHILOX_LANES]; /* four words a lane, in order */
  for (int l = 0; l < PHILOX_LANES; l++) {
    lanes.word[0][l] = (uint64_t)id & 0xFFFFFFFFu;
    lanes.word[1][l] = (uint64_t)id >> 32;
    lanes.word[2][l] = (uint64_t)(first / 8 + l);
    lanes.word[3][l] = epoch;
  }
  philox_lanes(&lanes, op->key);
  for (int l = 0; l < PHILOX_LANES; l++) {
    words[2 * l] = lanes.word[0][l] | lanes.word[1][l] << 32;
    words[2 * l + 1] = lanes.word[2][l] | lanes.word[3][l] << 32;
  }
  memcpy(bits, words, sizeof words);
}

/* y_j = x_j scale where kept, 0 elsewhere, over the columns of local row v. y may be x. */
static inline void dropout_row(const struct dropout *op, uint32_t epoch, int64_t v, int64_t cols,
                               const real *x, real *y) {
  uint16_t bits[DROPOUT_COLUMNS];
  uint32_t threshold = op->threshold;
  real scale = (real)op->wide_scale;
  for (int64_t first = 0; first < cols; first += DROPOUT_COLUMNS) {
    dropout_bits(op, epoch, op->id[v], first, bits);
    int64_t end = cols - first < DROPOUT_COLUMNS ? cols - first : DROPOUT_COLUMNS;
#pragma omp simd
    for (int64_t j = 0; j < end; j++) y[first + j] = bits[j] >= threshold ? x[first + j] * scale : (real)0;
  }
}

#endif
