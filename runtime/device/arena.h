/* arena: one device block per lifetime. The same code lays it out twice: first with no memory behind it, to
 * measure, then over one allocation of that size. */
#ifndef RUNTIME_DEVICE_ARENA_H
#define RUNTIME_DEVICE_ARENA_H

#include <stdint.h>

#include "runtime/base/tensor.h"

struct device;

struct arena {
  struct device *device; /* borrowed */
  char *base;            /* NULL while measuring */
  int64_t used, size;    /* bytes */
};

/* A measuring arena on `device`. */
static inline struct arena arena_measure(struct device *device) {
  return (struct arena){.device = device};
}

/* Allocates what was measured and starts over. Errors: FAILED, naming `what`. */
int arena_allocate(struct arena *arena, const char *what);
void arena_free(struct arena *arena);

/* The next `bytes`, 256-byte aligned; NULL while measuring. */
void *arena_take(struct arena *arena, int64_t bytes);

/* A tensor of that shape; its data is NULL while measuring. */
struct tensor arena_tensor(struct arena *arena, enum dtype dtype, int64_t rows, int64_t cols);

#endif
