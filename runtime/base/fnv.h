/* fnv: the hash of Fowler, Noll and Vo (FNV-1a, 64 bits), for telling apart, not for keeping. */
#ifndef RUNTIME_BASE_FNV_H
#define RUNTIME_BASE_FNV_H

#include <stdint.h>

#define FNV_START 14695981039346656037u

/* `hash` with `count` more bytes; it begins as FNV_START. */
static inline uint64_t fnv_add(uint64_t hash, const void *bytes, int64_t count) {
  const unsigned char *byte = bytes;
  for (int64_t i = 0; i < count; i++) hash = (hash ^ byte[i]) * 1099511628211u;
  return hash;
}

#endif
