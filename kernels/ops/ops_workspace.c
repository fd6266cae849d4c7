/* The scratch memory that ops share. */
#include "kernels/ops/ops.h"
#include "runtime/base/error.h"

int kernels_workspace(struct kernels *k, int64_t bytes, void **workspace) {
  if (bytes > k->workspace_bytes) {
    TRY(device_synchronize(k->device, STREAM_COMPUTE));
    device_release(k->device, k->workspace);
    k->workspace = NULL;
    k->workspace_bytes = 0;
    TRY(device_alloc(k->device, bytes, &k->workspace, "kernel workspace"));
    k->workspace_bytes = bytes;
    k->moves++;
  }
  *workspace = k->workspace;
  return OK;
}

int64_t spmm_workspace(const struct kernels *k, const struct spmm *op) {
  return k->ops->spmm_workspace ? k->ops->spmm_workspace(op) : 0;
}

int64_t gemm_workspace(const struct kernels *k, int64_t rows, int64_t cols) {
  return k->ops->gemm_workspace ? k->ops->gemm_workspace(k, rows, cols) : 0;
}
