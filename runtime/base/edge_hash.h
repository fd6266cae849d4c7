/* edge_hash: 64 bits that depend on every bit of what they are made of, for sums by which sets of edges are
 * told apart, and for tables. Not for keeping apart what somebody wants to be taken for the same. */
#ifndef RUNTIME_BASE_EDGE_HASH_H
#define RUNTIME_BASE_EDGE_HASH_H

#include <stdint.h>

/* A bijection (Steele, Lea and Flood, OOPSLA 2014: the last step of SplitMix). */
static inline uint64_t mixed_bits(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

/* Of one edge; weight as bits, 0 when binary. */
static inline uint64_t edge_hash(int64_t row, int64_t col, uint32_t weight) {
  return mixed_bits(mixed_bits(((uint64_t)row << 32) | (uint64_t)col) + weight);
}

/* Of an edge and its reverse alike. */
static inline uint64_t pair_hash(int64_t row, int64_t col, uint32_t weight) {
  const uint64_t low = (uint64_t)(row < col ? row : col), high = (uint64_t)(row < col ? col : row);
  return mixed_bits((low << 32 | high) + weight * 0xD1342543DE82EF95u);
}

#endif
