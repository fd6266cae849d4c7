/* Philox4x32-10 (runtime/base/random.h) on eight counters at once. Words stand in 64-bit lanes, of which only
 * the low halves count, so that a product of two words needs no shuffling; compilers do not find that by
 * themselves, hence the two spellings of the product. */
#ifndef KERNELS_CPU_COMMON_PHILOX_LANES_H
#define KERNELS_CPU_COMMON_PHILOX_LANES_H

#include "runtime/base/random.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

enum { PHILOX_LANES = 8 };

struct philox_lanes {
  _Alignas(
      32) uint64_t word[4][PHILOX_LANES]; /* word w of lane l: counters going in, random words coming out */
};

typedef uint64_t philox_vector __attribute__((vector_size(32), may_alias));
enum { PHILOX_VECTORS = PHILOX_LANES * 8 / 32 };

/* product = low half of a times m, 64 bits. */
static inline void philox_multiply(const philox_vector *a, uint32_t m, philox_vector *product) {
#ifdef __AVX2__
  *product = (philox_vector)_mm256_mul_epu32((__m256i)*a, _mm256_set1_epi64x(m));
#else
  *product = (*a & 0xFFFFFFFFu) * m;
#endif
}

static inline void philox_lanes(struct philox_lanes *lanes, struct philox_key key) {
  philox_vector *at = (philox_vector *)lanes->word, word[4][PHILOX_VECTORS];
  philox_vector key0 = (philox_vector){0} + key.word[0], key1 = (philox_vector){0} + key.word[1];
  for (int i = 0; i < 4 * PHILOX_VECTORS; i++) word[i / PHILOX_VECTORS][i % PHILOX_VECTORS] = at[i];
  for (int round = 0; round < 10; round++) {
    for (int i = 0; i < PHILOX_VECTORS; i++) {
      philox_vector p0, p1;
      philox_multiply(&word[0][i], 0xD2511F53u, &p0);
      philox_multiply(&word[2][i], 0xCD9E8D57u, &p1);
      word[0][i] = (p1 >> 32) ^ word[1][i] ^ key0;
      word[1][i] = p1;
      word[2][i] = (p0 >> 32) ^ word[3][i] ^ key1;
      word[3][i] = p0;
    }
    key0 += 0x9E3779B9u; /* carries into the high half, which does not count */
    key1 += 0xBB67AE85u;
  }
  for (int i = 0; i < 4 * PHILOX_VECTORS; i++)
    at[i] = word[i / PHILOX_VECTORS][i % PHILOX_VECTORS] & 0xFFFFFFFFu;
}

#endif
