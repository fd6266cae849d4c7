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
