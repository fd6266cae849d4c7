#include "models/parameters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "runtime/error.h"
#include "runtime/memory.h"

enum { ALIGNMENT = 32 };

int parameters_add(struct parameters *p, const char *name, int64_t rows, int64_t cols, enum start start,
                   int *index) {
  if (p->length == p->capacity) {
    int capacity = p->capacity ? 2 * p->capacity : 16;
    struct parameter *list = realloc(p->list, (size_t)capacity * sizeof *list);
    if (!list) FAIL(FAILED, "out of memory for the list of parameters");
    p->list = list;
    p->capacity = capacity;
  }
  struct parameter *added = &p->list[p->length];
  *added = (struct parameter){.offset = p->count, .rows = rows, .cols = cols, .start = start};
  snprintf(added->name, sizeof added->name, "%s", name);
  p->count += (rows * cols + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  *index = p->length++;
  return OK;
}

void parameters_plan(struct parameters *p, const struct run *run, struct arena *arena) {
  int64_t bytes = p->count * dtype_bytes(run->kernels->dtype);
  p->w = arena_take(arena, bytes);
  p->dw = arena_take(arena, bytes);
  p->m = arena_take(arena, bytes);
  p->v = arena_take(arena, bytes);
}

static double start_value(const struct parameter *piece, int64_t i, struct philox_key key) {
  if (piece->start != START_GLOROT) return piece->start == START_ONE ? 1 : 0;
  uint64_t index = (uint64_t)(piece->offset + i);
  struct philox_block block = random_block(key, index / 4, 0);
  double limit = sqrt(6.0 / (double)(piece->rows + piece->cols));
  return limit * (2 * (double)random_unit(block.word[index % 4]) - 1);
}

int parameters_reset(struct parameters *p, struct run *run) {
  double *value = NULL;
  TRY(memory_alloc(&value, p->count * (int64_t)sizeof *value, "initial weights"));
  struct philox_key key = run_key(run, 0, RANDOM_WEIGHTS);
  for (int i = 0; i < p->length; i++) {
    const struct parameter *piece = &p->list[i];
    for (int64_t j = 0; j < piece->rows * piece->cols; j++)
      value[piece->offset + j] = start_value(piece, j, key);
  }
  int code = run_upload(run, p->w, value, p->count);
  free(value);
  TRY(code);
  int64_t bytes = p->count * dtype_bytes(run->kernels->dtype);
  TRY(device_clear(run->device, STREAM_COMPUTE, p->dw, bytes));
  TRY(device_clear(run->device, STREAM_COMPUTE, p->m, bytes));
  return device_clear(run->device, STREAM_COMPUTE, p->v, bytes);
}

void parameters_free(struct parameters *p) {
  free(p->list);
  *p = (struct parameters){0};
}

static struct tensor piece_of(const struct parameters *p, const struct run *run, int index, void *block) {
  const struct parameter *piece = &p->list[index];
  enum dtype dtype = run->kernels->dtype;
  return tensor_of((char *)block + piece->offset * dtype_bytes(dtype), dtype, piece->rows, piece->cols);
}

struct tensor parameter_value(const struct parameters *p, const struct run *run, int index) {
  return piece_of(p, run, index, p->w);
}

struct tensor parameter_gradient(const struct parameters *p, const struct run *run, int index) {
  return piece_of(p, run, index, p->dw);
}
