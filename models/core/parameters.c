#include "models/core/parameters.h"

#include <math.h>

#include "runtime/base/base.h"

enum { ALIGNMENT = 32 };

int parameters_add(struct parameters *p, const struct run *run, const char *name, int64_t rows, int64_t cols,
                   enum start start, int *index) {
  if (p->length == p->capacity) {
    const int64_t each = (int64_t)sizeof *p->list, capacity = 2 * p->capacity + 16;
    TRY(memory_grow(&p->list, p->length * each, capacity * each, "the list of parameters"));
    p->capacity = (int)capacity;
  }
  struct parameter *added = &p->list[p->length];
  *added = (struct parameter){.rows = rows, .cols = cols, .offset = p->count, .first = p->numbers};
  added->stride = tensor_stride(run->kernels->dtype, cols);
  added->start = start;
  snprintf(added->name, sizeof added->name, "%s", name);
  p->numbers += rows * cols;
  p->count += (rows * added->stride + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  *index = p->length++;
  return OK;
}

void parameters_plan(struct parameters *p, const struct run *run, struct arena *arena) {
  int64_t bytes = p->count * dtype_bytes(run->kernels->real);
  p->w = arena_take(arena, bytes);
  p->dw = arena_take(arena, bytes);
  p->m = arena_take(arena, bytes);
  p->v = arena_take(arena, bytes);
  if (run->kernels->dtype != run->kernels->real)
    p->copy = arena_take(arena, p->count * dtype_bytes(run->kernels->dtype));
}

static double start_value(const struct parameter *piece, int64_t i, struct philox_key key) {
  if (piece->start == START_VALUE) return piece->value;
  if (piece->start != START_GLOROT) return piece->start == START_ONE ? 1 : 0;
  uint64_t index = (uint64_t)(piece->first + i);
  struct philox_block block = random_block(key, index / 4, 0);
  double limit = sqrt(6.0 / (double)(piece->rows + piece->cols));
  return limit * (2 * (double)random_unit(block.word[index % 4]) - 1);
}

int parameters_reset(struct parameters *p, struct run *run) {
  FREED double *value = NULL;
  TRY(memory_arrays("initial weights", ROOM(&value, p->numbers)));
  struct philox_key key = run_key(run, 0, RANDOM_WEIGHTS);
  for (int i = 0; i < p->length; i++) {
    const struct parameter *piece = &p->list[i];
    for (int64_t j = 0; j < piece->rows * piece->cols; j++)
      value[piece->first + j] = start_value(piece, j, key);
  }
  TRY(parameters_upload(p, run, p->w, value));
  int64_t bytes = p->count * dtype_bytes(run->kernels->real);
  TRY(device_clear(run->device, STREAM_COMPUTE, p->dw, bytes));
  TRY(device_clear(run->device, STREAM_COMPUTE, p->m, bytes));
  return device_clear(run->device, STREAM_COMPUTE, p->v, bytes);
}

void parameters_free(struct parameters *p) {
  free(p->list);
  *p = (struct parameters){0};
}

static struct tensor piece_of(const struct parameter *piece, void *block, enum dtype dtype) {
  char *data = (char *)block + piece->offset * dtype_bytes(dtype);
  return (struct tensor){data, dtype, piece->rows, piece->cols, piece->stride};
}

int parameters_upload(const struct parameters *p, struct run *run, void *block, const double *from) {
  for (int i = 0; i < p->length; i++) {
    const struct parameter *piece = &p->list[i];
    TRY(run_upload(run, piece_of(piece, block, run->kernels->real), from + piece->first));
    if (block == p->w && p->copy)
      TRY(run_upload(run, piece_of(piece, p->copy, run->kernels->dtype), from + piece->first));
  }
  return OK;
}

int parameters_download(const struct parameters *p, struct run *run, double *to, void *block) {
  for (int i = 0; i < p->length; i++) {
    const struct parameter *piece = &p->list[i];
    TRY(run_download(run, to + piece->first, piece_of(piece, block, run->kernels->real)));
  }
  return OK;
}

struct tensor parameter_value(const struct parameters *p, const struct run *run, int index) {
  return piece_of(&p->list[index], p->w, run->kernels->real);
}

struct tensor parameter_gradient(const struct parameters *p, const struct run *run, int index) {
  return piece_of(&p->list[index], p->dw, run->kernels->real);
}

struct tensor parameter_factor(const struct parameters *p, const struct run *run, int index) {
  if (!p->copy) return parameter_value(p, run, index);
  return piece_of(&p->list[index], p->copy, run->kernels->dtype);
}
