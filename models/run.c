#include "models/run.h"

#include "runtime/error.h"

enum { PIECE = 8192 }; /* elements converted at a time */

/* One piece of at most PIECE elements, from doubles or floats. */
static int upload_piece(struct run *run, void *to, const double *wide, const float *narrow, int64_t count) {
  enum dtype dtype = run->kernels->dtype;
  float narrowed[PIECE];
  double widened[PIECE];
  for (int64_t i = 0; i < count; i++) {
    if (dtype == F64)
      widened[i] = wide ? wide[i] : (double)narrow[i];
    else
      narrowed[i] = wide ? (float)wide[i] : narrow[i];
  }
  const void *piece = dtype == F64 ? (const void *)widened : narrowed;
  TRY(device_upload(run->device, STREAM_COMPUTE, to, piece, count * dtype_bytes(dtype)));
  return device_synchronize(run->device, STREAM_COMPUTE);
}

int run_upload(struct run *run, void *to, const double *from, int64_t count) {
  int64_t bytes = dtype_bytes(run->kernels->dtype);
  for (int64_t done = 0; done < count; done += PIECE) {
    int64_t n = count - done < PIECE ? count - done : PIECE;
    TRY(upload_piece(run, (char *)to + done * bytes, from + done, NULL, n));
  }
  return OK;
}

int run_upload_floats(struct run *run, void *to, const float *from, int64_t count) {
  int64_t bytes = dtype_bytes(run->kernels->dtype);
  for (int64_t done = 0; done < count; done += PIECE) {
    int64_t n = count - done < PIECE ? count - done : PIECE;
    TRY(upload_piece(run, (char *)to + done * bytes, NULL, from + done, n));
  }
  return OK;
}

int run_download(struct run *run, double *to, const void *from, int64_t count) {
  enum dtype dtype = run->kernels->dtype;
  float narrow[PIECE];
  for (int64_t done = 0; done < count; done += PIECE) {
    int64_t n = count - done < PIECE ? count - done : PIECE;
    void *piece = dtype == F64 ? (void *)(to + done) : narrow;
    TRY(device_download(run->device, STREAM_COMPUTE, piece, (const char *)from + done * dtype_bytes(dtype),
                        n * dtype_bytes(dtype)));
    TRY(device_synchronize(run->device, STREAM_COMPUTE));
    if (dtype != F64) {
      for (int64_t i = 0; i < n; i++) to[done + i] = (double)narrow[i];
    }
  }
  return OK;
}
