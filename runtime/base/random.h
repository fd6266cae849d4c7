/* random: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
 *
 * Counter-based: a stream is keyed by what it is for and indexed by global ids, never by rank, thread or
 * local index, so the same numbers appear on any number of ranks. */
#ifndef RUNTIME_BASE_RANDOM_H
#define RUNTIME_BASE_RANDOM_H

#include <stdint.h>

#include "runtime/base/host_device.h"

struct philox_key {
  uint32_t word[2];
};
struct philox_block {
  uint32_t word[4];
};

enum { PHILOX_ROUNDS = 10 };

static inline HOST_DEVICE struct philox_block philox_round(struct philox_block counter,
                                                           struct philox_key key) {
  uint64_t p0 = (uint64_t)0xD2511F53u * counter.word[0];
  uint64_t p1 = (uint64_t)0xCD9E8D57u * counter.word[2];
  struct philox_block next = {{(uint32_t)(p1 >> 32) ^ counter.word[1] ^ key.word[0], (uint32_t)p1,
                               (uint32_t)(p0 >> 32) ^ counter.word[3] ^ key.word[1], (uint32_t)p0}};
  return next;
}

/* The key of the round after that of `key`. */
static inline HOST_DEVICE struct philox_key philox_next(struct philox_key key) {
  struct philox_key next = {{key.word[0] + 0x9E3779B9u, key.word[1] + 0xBB67AE85u}};
  return next;
}

static inline HOST_DEVICE struct philox_block philox(struct philox_block counter, struct philox_key key) {
  for (int round = 0; round < PHILOX_ROUNDS; round++) {
    counter = philox_round(counter, key);
    key = philox_next(key);
  }
  return counter;
}

/* What a stream is for; part of its key. */
enum random_site {
  RANDOM_DROPOUT_INPUT,
  RANDOM_DROPOUT_HIDDEN,
  RANDOM_DROPOUT_ATTENTION,
  RANDOM_WEIGHTS,
  RANDOM_SYNTH_DEGREE,
  RANDOM_SYNTH_EDGE,
  RANDOM_SYNTH_FEATURE,
  RANDOM_SYNTH_LABEL,
  RANDOM_SHUFFLE,
  RANDOM_SPLIT,
  RANDOM_PARTITION,
  RANDOM_IMPORT,
};

/* Key of the stream for (seed, run, layer, site); run r of seed s is run 0 of seed s + r. Two rounds of a
 * 64-bit mix set near seeds far apart. */
static inline struct philox_key random_key(uint64_t seed, uint32_t run, uint32_t layer,
                                           enum random_site site) {
  uint64_t x = seed + run + 0x9E3779B97F4A7C15u * (((uint64_t)layer << 8) + (uint64_t)site + 1);
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  x ^= x >> 31;
  struct philox_key key = {{(uint32_t)x, (uint32_t)(x >> 32)}};
  return key;
}

/* The four words of stream `key` at a 64-bit index and a 64-bit sub-index. */
static inline HOST_DEVICE struct philox_block random_block(struct philox_key key, uint64_t index,
                                                           uint64_t sub) {
  struct philox_block counter = {
      {(uint32_t)index, (uint32_t)(index >> 32), (uint32_t)sub, (uint32_t)(sub >> 32)}};
  return philox(counter, key);
}

/* Uniform in [0, 1): 24 bits, exact in float. */
static inline HOST_DEVICE float random_unit(uint32_t word) {
  return (float)(word >> 8) * 0x1p-24f;
}

/* Uniform in [0, 1) with 53 bits from two words. */
static inline HOST_DEVICE double random_unit_double(uint32_t high, uint32_t low) {
  return (double)((((uint64_t)high << 32) | low) >> 11) * 0x1p-53;
}

/* Uniform integer in [0, n) from 64 random bits (bias below n / 2^64). */
static inline uint64_t random_below(uint32_t high, uint32_t low, uint64_t n) {
  return (uint64_t)(((unsigned __int128)(((uint64_t)high << 32) | low) * n) >> 64);
}

#endif
