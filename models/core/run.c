#include "models/core/run.h"

#include "runtime/base/base.h"

enum { PIECE = 1 << 20 }; /* elements converted at a time, at least a row */

/* A host matrix in either width. */
struct numbers {
  const double *wide;
  struct floats narrow;
  int64_t stride;
};

static double number_at(const struct numbers *from, int64_t row, int64_t j) {
  int64_t i = row * from->stride + j;
  if (from->wide) return from->wide[i];
  double x = (double)from->narrow.value[i];
  return from->narrow.divisor ? x / from->narrow.divisor[row] : x;
}

static void put(void *to, enum dtype dtype, int64_t i, double x) {
  if (dtype == F64)
    ((double *)to)[i] = x;
  else if (dtype == F32)
    ((float *)to)[i] = (float)x;
  else
    ((uint16_t *)to)[i] = bf16_of_float((float)x);
}

/* Row `first` + `row`, as row `row` of t, with zeros in its gap; floats as they are go without a detour. */
static void put_row(void *to, struct tensor t, int64_t row, const struct numbers *from, int64_t first) {
  const struct floats *floats = &from->narrow;
  char *start = (char *)to + row * t.stride * dtype_bytes(t.dtype);
  memset(start + t.cols * dtype_bytes(t.dtype), 0, (size_t)((t.stride - t.cols) * dtype_bytes(t.dtype)));
  if (floats->value && !floats->divisor && t.dtype == F32) {
    memcpy(start, floats->value + (first + row) * from->stride, (size_t)t.cols * sizeof(float));
  } else {
    for (int64_t j = 0; j < t.cols; j++) put(start, t.dtype, j, number_at(from, first + row, j));
  }
}

static double get(const void *from, enum dtype dtype, int64_t i) {
  if (dtype == F64) return ((const double *)from)[i];
  if (dtype == F32) return (double)((const float *)from)[i];
  return (double)float_of_bf16(((const uint16_t *)from)[i]);
}

static int64_t rows_of_piece(struct tensor t) {
  return smaller(t.rows, larger(1, PIECE / larger(1, t.stride)));
}

/* Whole rows at a time, with zeros in the gaps. */
static int upload(struct run *run, struct tensor to, struct numbers from, char *staging) {
  int64_t each = rows_of_piece(to);
  for (int64_t first = 0; first < to.rows; first += each) {
    struct tensor piece = tensor_rows(to, first, smaller(to.rows - first, each));
#pragma omp parallel for num_threads(device_copying_threads(run->device)) schedule(static)
    for (int64_t i = 0; i < piece.rows; i++) put_row(staging, to, i, &from, first);
    TRY(device_upload(run->device, STREAM_COMPUTE, piece.data, staging, tensor_bytes(piece)));
    TRY(device_synchronize(run->device, STREAM_COMPUTE));
  }
  return OK;
}

static int download(struct run *run, double *to, struct tensor from, char *staging) {
  int64_t each = rows_of_piece(from);
  for (int64_t first = 0; first < from.rows; first += each) {
    struct tensor piece = tensor_rows(from, first, smaller(from.rows - first, each));
    TRY(device_download(run->device, STREAM_COMPUTE, staging, piece.data, tensor_bytes(piece)));
    TRY(device_synchronize(run->device, STREAM_COMPUTE));
    for (int64_t i = 0; i < piece.rows; i++) {
      for (int64_t j = 0; j < from.cols; j++)
        to[(first + i) * from.cols + j] = get(staging, from.dtype, i * from.stride + j);
    }
  }
  return OK;
}

static int staging_init(struct tensor t, char **staging) {
  return memory_alloc(staging, rows_of_piece(t) * t.stride * dtype_bytes(t.dtype), "a copy on its way");
}

static int staged_upload(struct run *run, struct tensor to, struct numbers from) {
  FREED char *staging = NULL;
  if (run->device->ops->stores_nothing) return OK;
  TRY(staging_init(to, &staging));
  return upload(run, to, from, staging);
}

int run_upload(struct run *run, struct tensor to, const double *from) {
  return staged_upload(run, to, (struct numbers){.wide = from, .stride = to.cols});
}

int run_upload_reals(struct run *run, void *to, int64_t count, const double *from) {
  return to ? run_upload(run, run_reals(run, to, count), from) : OK;
}

int run_upload_floats(struct run *run, struct tensor to, struct floats from) {
  return staged_upload(run, to, (struct numbers){.narrow = from, .stride = from.stride});
}

int run_download(struct run *run, double *to, struct tensor from) {
  FREED char *staging = NULL;
  TRY(staging_init(from, &staging));
  return download(run, to, from, staging);
}
