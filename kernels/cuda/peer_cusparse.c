#include "kernels/cuda/peer_cusparse.h"

#include <cusparse.h>
#include <stdlib.h>

#include "kernels/cuda/common/cuda.h"
#include "runtime/base/memory.h"

static const cusparseSpMMAlg_t algorithms[] = {CUSPARSE_SPMM_CSR_ALG1, CUSPARSE_SPMM_CSR_ALG2,
                                               CUSPARSE_SPMM_CSR_ALG3};

struct cusparse {
  cusparseHandle_t handle;
  void *start, *col, *value, *buffer; /* on the device */
  cusparseSpMatDescr_t a;
  cusparseDnMatDescr_t x, y;
  int algorithm;
};

static int check(cusparseStatus_t status, const char *what) {
  if (status == CUSPARSE_STATUS_SUCCESS) return OK;
  FAIL(FAILED, "cuSPARSE: %s in %.60s", cusparseGetErrorString(status), what);
}

#define TRY_CUSPARSE(call) TRY(check((call), #call))

static void forget_product(struct kernels *k, struct cusparse *peer) {
  if (peer->x) cusparseDestroyDnMat(peer->x);
  if (peer->y) cusparseDestroyDnMat(peer->y);
  device_release(k->device, peer->buffer);
  peer->x = peer->y = NULL;
  peer->buffer = NULL;
}

static void cusparse_close(struct kernels *k, void *of) {
  struct cusparse *peer = of;
  if (!peer) return;
  forget_product(k, peer);
  if (peer->a) cusparseDestroySpMat(peer->a);
  device_release(k->device, peer->start);
  device_release(k->device, peer->col);
  device_release(k->device, peer->value);
  if (peer->handle) cusparseDestroy(peer->handle);
  free(peer);
}

/* Values of a binary matrix: cuSPARSE reads them all the same. */
static int upload_values(struct kernels *k, struct cusparse *peer, const struct csr *m, float *value) {
  for (int64_t e = 0; e < m->nnz; e++) value[e] = m->weight ? m->weight[e] : 1;
  TRY(device_alloc(k->device, m->nnz * 4, &peer->value, "values for cuSPARSE"));
  TRY(device_upload(k->device, STREAM_COMPUTE, peer->value, value, m->nnz * 4));
  return device_synchronize(k->device, STREAM_COMPUTE);
}

/* Its fastest form: 32-bit offsets where they suffice. */
static int upload_offsets(struct kernels *k, struct cusparse *peer, const struct csr *m, int32_t *narrow) {
  int64_t count = m->rows + 1, wide = m->nnz > INT32_MAX;
  for (int64_t i = 0; i < count && !wide; i++) narrow[i] = (int32_t)m->start[i];
  TRY(device_alloc(k->device, count * (wide ? 8 : 4), &peer->start, "offsets for cuSPARSE"));
  TRY(device_upload(k->device, STREAM_COMPUTE, peer->start, wide ? (const void *)m->start : narrow,
                    count * (wide ? 8 : 4)));
  return device_synchronize(k->device, STREAM_COMPUTE);
}

static int upload(struct kernels *k, struct cusparse *peer, const struct csr *m) {
  float *value = NULL;
  int32_t *narrow = NULL;
  int code = memory_alloc(&value, m->nnz * 4, "values for cuSPARSE");
  if (code == OK) code = memory_alloc(&narrow, (m->rows + 1) * 4, "offsets for cuSPARSE");
  if (code == OK) code = upload_values(k, peer, m, value);
  if (code == OK) code = upload_offsets(k, peer, m, narrow);
  free(value);
  free(narrow);
  TRY(code);
  TRY(device_alloc(k->device, m->nnz * 4, &peer->col, "columns for cuSPARSE"));
  return device_upload(k->device, STREAM_COMPUTE, peer->col, m->col, m->nnz * 4);
}

static int cusparse_open(struct kernels *k, const struct csr *m, void **of) {
  struct cusparse *peer = NULL;
  TRY(memory_alloc(&peer, (int64_t)sizeof *peer, "cuSPARSE"));
  *of = peer;
  TRY(upload(k, peer, m));
  TRY_CUSPARSE(cusparseCreate(&peer->handle));
  TRY_CUSPARSE(cusparseSetStream(peer->handle, cuda_stream(k)));
  TRY_CUSPARSE(cusparseCreateCsr(&peer->a, m->rows, m->cols, m->nnz, peer->start, peer->col, peer->value,
                                 m->nnz > INT32_MAX ? CUSPARSE_INDEX_64I : CUSPARSE_INDEX_32I,
                                 CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, CUDA_R_32F));
  return OK;
}

static int describe(struct cusparse *peer, struct tensor x, struct tensor y) {
  TRY_CUSPARSE(
      cusparseCreateDnMat(&peer->x, x.rows, x.cols, x.stride, x.data, CUDA_R_32F, CUSPARSE_ORDER_ROW));
  TRY_CUSPARSE(
      cusparseCreateDnMat(&peer->y, y.rows, y.cols, y.stride, y.data, CUDA_R_32F, CUSPARSE_ORDER_ROW));
  return OK;
}

static int cusparse_prepare(struct kernels *k, void *of, int algorithm, struct tensor x, struct tensor y,
                            int *able) {
  const float one = 1, zero = 0;
  struct cusparse *peer = of;
  cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
  size_t bytes = 0;
  forget_product(k, peer);
  peer->algorithm = algorithm;
  TRY(describe(peer, x, y));
  *able = cusparseSpMM_bufferSize(peer->handle, as_is, as_is, &one, peer->a, peer->x, &zero, peer->y,
                                  CUDA_R_32F, algorithms[algorithm], &bytes) == CUSPARSE_STATUS_SUCCESS;
  if (!*able) return OK;
  TRY(device_alloc(k->device, (int64_t)bytes, &peer->buffer, "buffer for cuSPARSE"));
  *able = cusparseSpMM_preprocess(peer->handle, as_is, as_is, &one, peer->a, peer->x, &zero, peer->y,
                                  CUDA_R_32F, algorithms[algorithm], peer->buffer) == CUSPARSE_STATUS_SUCCESS;
  return device_synchronize(k->device, STREAM_COMPUTE);
}

static int cusparse_run(struct kernels *k, const void *of) {
  (void)k;
  const float one = 1, zero = 0;
  const struct cusparse *peer = of;
  cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE;
  TRY_CUSPARSE(cusparseSpMM(peer->handle, as_is, as_is, &one, peer->a, peer->x, &zero, peer->y, CUDA_R_32F,
                            algorithms[peer->algorithm], peer->buffer));
  return OK;
}

static int cusparse_prepare_scores(struct kernels *k, void *of, struct tensor x, struct tensor y, int *able) {
  const float one = 1, zero = 0;
  struct cusparse *peer = of;
  cusparseOperation_t as_is = CUSPARSE_OPERATION_NON_TRANSPOSE, turned = CUSPARSE_OPERATION_TRANSPOSE;
  size_t bytes = 0;
  forget_product(k, peer);
  TRY(describe(peer, x, y));
  *able = cusparseSDDMM_bufferSize(peer->handle, as_is, turned, &one, peer->x, peer->y, &zero, peer->a,
                                   CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT, &bytes) == CUSPARSE_STATUS_SUCCESS;
  if (!*able) return OK;
  TRY(device_alloc(k->device, (int64_t)bytes, &peer->buffer, "buffer for cuSPARSE"));
  *able = cusparseSDDMM_preprocess(peer->handle, as_is, turned, &one, peer->x, peer->y, &zero, peer->a,
                                   CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT,
                                   peer->buffer) == CUSPARSE_STATUS_SUCCESS;
  return device_synchronize(k->device, STREAM_COMPUTE);
}

static int cusparse_run_scores(struct kernels *k, const void *of) {
  (void)k;
  const float one = 1, zero = 0;
  const struct cusparse *peer = of;
  TRY_CUSPARSE(cusparseSDDMM(peer->handle, CUSPARSE_OPERATION_NON_TRANSPOSE, CUSPARSE_OPERATION_TRANSPOSE,
                             &one, peer->x, peer->y, &zero, peer->a, CUDA_R_32F, CUSPARSE_SDDMM_ALG_DEFAULT,
                             peer->buffer));
  return OK;
}

const struct peer_ops peer_cusparse = {
    .name = "cuSPARSE",
    .device = "cuda",
    .algorithms = (int)(sizeof algorithms / sizeof algorithms[0]),
    .open = cusparse_open,
    .close = cusparse_close,
    .prepare = cusparse_prepare,
    .run = cusparse_run,
    .prepare_scores = cusparse_prepare_scores,
    .run_scores = cusparse_run_scores,
};
