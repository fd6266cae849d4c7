/* Philox4x32-10 (runtime/random.h) on eight counters at once, written so that the compiler vectorises it. */
#ifndef KERNELS_CPU_PHILOX_LANES_H
#define KERNELS_CPU_PHILOX_LANES_H

#include "runtime/random.h"

enum { PHILOX_LANES = 8 };

struct philox_lanes {
  uint32_t word[4][PHILOX_LANES]; /* word w of lane l; counters on the way in, random words on the way out */
};

static inline void philox_lanes(struct philox_lanes *lanes, struct philox_key key) {
  uint32_t *restrict a = lanes->word[0], *restrict b = lanes->word[1], *restrict c = lanes->word[2],
                     *restrict d = lanes->word[3];
  for (int round = 0; round < 10; round++) {
#pragma omp simd
    for (int l = 0; l < PHILOX_LANES; l++) {
      uint64_t p0 = (uint64_t)0xD2511F53u * a[l];
      uint64_t p1 = (uint64_t)0xCD9E8D57u * c[l];
      a[l] = (uint32_t)(p1 >> 32) ^ b[l] ^ key.word[0];
      b[l] = (uint32_t)p1;
      c[l] = (uint32_t)(p0 >> 32) ^ d[l] ^ key.word[1];
      d[l] = (uint32_t)p0;
    }
    key.word[0] += 0x9E3779B9u;
    key.word[1] += 0xBB67AE85u;
  }
}

#endif
