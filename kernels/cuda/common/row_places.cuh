/* Where rows lie that column ids name: all in one matrix, or from id `near` on in a second one of the same
 * block of memory. A kernel turns an id into a place as soon as it has read it. */
#ifndef KERNELS_CUDA_COMMON_ROW_PLACES_CUH
#define KERNELS_CUDA_COMMON_ROW_PLACES_CUH

#include <cstdint>

#include "runtime/base/error.h"
#include "runtime/base/tensor.h"

/* Row c begins c step + shift units behind the first byte, by the second pair from row `near` on. */
struct row_places {
  int32_t near;
  uint32_t unit, step, shift, far_step, far_shift;
};

static __device__ __forceinline__ uint32_t place_of(const struct row_places &places, int32_t id) {
  const bool far = id >= places.near;
  return (uint32_t)id * (far ? places.far_step : places.step) + (far ? places.far_shift : places.shift);
}

/* Of `near` rows, `bytes` from one to the next, from *first on, and of those of `far`; near 0 or far without
 * rows: all are of the first matrix, and *first stays. Otherwise *first becomes the first byte of both, and
 * units the largest that there are: of ROW_BYTES 2^32 are 128 GiB. Errors: FAILED where these are too few. */
static inline int row_places_of(const char **first, int64_t bytes, int64_t near, struct tensor far,
                                struct row_places *places) {
  const int64_t far_bytes = far.stride * dtype_bytes(far.dtype);
  const char *const x = *first, *const other = (const char *)far.data;
  *places = {INT32_MAX, (uint32_t)bytes, 1, 0, 1, 0};
  if (near == 0 || far.rows == 0) return OK;
  *first = other < x ? other : x;
  const uint64_t before = (uint64_t)(x - *first), behind = (uint64_t)(other - *first);
  const uint64_t bits = before | behind | (uint64_t)bytes | (uint64_t)far_bytes, unit = bits & -bits;
  const uint64_t end = before + (uint64_t)(near * bytes), far_end = behind + (uint64_t)(far.rows * far_bytes);
  if ((end > far_end ? end : far_end) / unit > UINT32_MAX)
    FAIL(FAILED, "two matrices lie too far apart for a product of both; set runtime.late_rows = 0");
  *places = {(int32_t)near,
             (uint32_t)unit,
             (uint32_t)((uint64_t)bytes / unit),
             (uint32_t)(before / unit),
             (uint32_t)((uint64_t)far_bytes / unit),
             (uint32_t)(behind / unit) - (uint32_t)near * (uint32_t)((uint64_t)far_bytes / unit)};
  return OK;
}

#endif
