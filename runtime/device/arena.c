#include "runtime/device/arena.h"

#include <assert.h>

#include "runtime/base/error.h"
#include "runtime/device/device.h"

int arena_allocate(struct arena *arena, const char *what) {
  arena->size = arena->used;
  arena->used = 0;
  void *base = NULL;
  TRY(device_alloc(arena->device, arena->size, &base, what));
  arena->base = base;
  return OK;
}

void arena_free(struct arena *arena) {
  if (arena->base) device_release(arena->device, arena->base);
  *arena = (struct arena){0};
}

void *arena_take(struct arena *arena, int64_t bytes) {
  void *taken = arena->base ? arena->base + arena->used : NULL;
  const int64_t least = bytes > 0 ? bytes : 1; /* what is empty, as on a rank without rows, has a place too */
  arena->used += (least + 255) / 256 * 256;
  assert(!arena->base || arena->used <= arena->size);
  return taken;
}

struct tensor arena_tensor(struct arena *arena, enum dtype dtype, int64_t rows, int64_t cols) {
  int64_t bytes = tensor_bytes(tensor_padded(NULL, dtype, rows, cols));
  return tensor_padded(arena_take(arena, bytes), dtype, rows, cols);
}
