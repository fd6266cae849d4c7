#include "kernels/cuda/common/tma.h"

#include <string.h>

typedef CUresult encode_function(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *,
                                 const cuuint64_t *, const cuuint32_t *, const cuuint32_t *,
                                 CUtensorMapInterleave, CUtensorMapSwizzle, CUtensorMapL2promotion,
                                 CUtensorMapFloatOOBfill);

/* The driver's function, found at run time: nothing else here needs the driver's library. */
static int find_encode(encode_function **function) {
  static void *found = NULL;
  if (!found) {
    enum cudaDriverEntryPointQueryResult state;
    TRY_CUDA(
        cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found, 12000, cudaEnableDefault, &state));
    if (!found) FAIL(FAILED, "CUDA: this driver has no cuTensorMapEncodeTiled");
  }
  memcpy(function, &found, sizeof found);
  return OK;
}

static CUtensorMapSwizzle swizzle_of(int row_bytes) {
  if (row_bytes == BOX_ROW_BYTES) return CU_TENSOR_MAP_SWIZZLE_128B;
  return row_bytes == BOX_ROW_BYTES / 2 ? CU_TENSOR_MAP_SWIZZLE_64B : CU_TENSOR_MAP_SWIZZLE_32B;
}

static int make_map(struct tensor t, int rows, int row_bytes, CUtensorMap *map) {
  encode_function *encode = NULL;
  TRY(find_encode(&encode));
  const cuuint64_t bytes = (cuuint64_t)dtype_bytes(t.dtype), pitch[1] = {(cuuint64_t)t.stride * bytes};
  const cuuint64_t size[2] = {(cuuint64_t)t.cols, (cuuint64_t)t.rows};
  const cuuint32_t box[2] = {(cuuint32_t)row_bytes / (cuuint32_t)bytes, (cuuint32_t)rows}, steps[2] = {1, 1};
  CUtensorMapDataType type = t.dtype == BF16 ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16
                                             : CU_TENSOR_MAP_DATA_TYPE_FLOAT32;
  CUresult result = encode(map, type, 2, t.data, size, pitch, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                           swizzle_of(row_bytes), CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                           CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  if (result != CUDA_SUCCESS) FAIL(FAILED, "CUDA: cuTensorMapEncodeTiled refuses a matrix (%d)", (int)result);
  return OK;
}

int cuda_tma_map(struct tensor t, int rows, CUtensorMap *map) {
  return make_map(t, rows, BOX_ROW_BYTES, map);
}

int cuda_tma_map_columns(struct tensor t, int rows, int cols, CUtensorMap *map) {
  return make_map(t, rows, cols * (int)dtype_bytes(t.dtype), map);
}
