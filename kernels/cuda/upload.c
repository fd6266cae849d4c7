/* Large copies to the device: pinned memory in two halves, filled by all threads while the other half is on
 * its way. */
#include <string.h>

#include "kernels/cuda/tiles_build.h"

enum { HALF = 4 << 20 };

static void copy_part(char *to, const char *from, int64_t bytes, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t at = 0; at < bytes; at += 64 << 10)
    memcpy(to + at, from + at, (size_t)(bytes - at < 64 << 10 ? bytes - at : 64 << 10));
}

static int copy_halves(struct kernels *k, char *to, const char *from, int64_t bytes, char *pinned,
                       cudaEvent_t (*sent)[2]) {
  for (int64_t at = 0, part = 0; at < bytes; at += HALF, part++) {
    int64_t count = bytes - at < HALF ? bytes - at : HALF, half = part % 2;
    if (part > 1) TRY_CUDA(cudaEventSynchronize((*sent)[half]));
    copy_part(pinned + half * HALF, from + at, count, k->device->threads);
    TRY_CUDA(cudaMemcpyAsync(to + at, pinned + half * HALF, (size_t)count, cudaMemcpyHostToDevice,
                             cuda_stream(k)));
    TRY_CUDA(cudaEventRecord((*sent)[half], cuda_stream(k)));
  }
  return device_synchronize(k->device, STREAM_COMPUTE);
}

static int make_events(cudaEvent_t (*sent)[2]) {
  for (int i = 0; i < 2; i++) TRY_CUDA(cudaEventCreateWithFlags(&(*sent)[i], cudaEventDisableTiming));
  return OK;
}

int cuda_upload_large(struct kernels *k, void *to, const void *from, int64_t bytes) {
  cudaEvent_t sent[2] = {NULL, NULL};
  void *pinned = NULL;
  if (bytes < 4 * (int64_t)HALF) return device_upload(k->device, STREAM_COMPUTE, to, from, bytes);
  int code = device_host_alloc(k->device, 2 * HALF, &pinned, "memory to copy from");
  if (code == OK) code = make_events(&sent);
  if (code == OK) code = copy_halves(k, to, from, bytes, pinned, &sent);
  for (int i = 0; i < 2; i++)
    if (sent[i]) cudaEventDestroy(sent[i]);
  device_host_release(k->device, pinned);
  return code;
}
