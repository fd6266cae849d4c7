/* Large copies to the device by way of memory that it reads by itself, in PARTS, each filled by several
 * threads while others are on their way: from pageable memory the driver copies with one thread. Such memory
 * is allocated in large pages where the system has them and registered then, which takes a ninth of the time
 * of the driver's own allocation of it (measured on an H200: .07 ms a MiB). It is made once, while the device
 * opens: a layout would wait 2.6 ms for it. */
#include "kernels/cuda/common/upload.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/profile/profile.h"

enum { PARTS = 4, PART = 8 << 20, PAGE = 2 << 20, LEAST = 256 << 10 };

struct staging {
  char *memory;
  int64_t filled; /* parts, since it was made */
  double seconds; /* of the host in all copies */
  cudaEvent_t sent[PARTS];
};

/* Whether it is there, and all events. */
static int is_made(struct staging *s, int threads) {
  s->memory = aligned_alloc(PAGE, PARTS * PART);
  if (!s->memory) return 0;
  (void)madvise(s->memory, PARTS * PART, MADV_HUGEPAGE);
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t at = 0; at < PARTS * PART; at += 4096) s->memory[at] = 0; /* so that the pages are there */
  if (cudaHostRegister(s->memory, PARTS * PART, cudaHostRegisterDefault) != cudaSuccess) return 0;
  for (int i = 0; i < PARTS; i++)
    if (cudaEventCreateWithFlags(&s->sent[i], cudaEventDisableTiming) != cudaSuccess) return 0;
  return 1;
}

void cuda_staging_open(struct kernels *k, struct staging **staging) {
  *staging = calloc(1, sizeof **staging);
  if (!*staging || is_made(*staging, device_copying_threads(k->device))) return;
  cuda_staging_close(*staging);
  *staging = NULL;
}

void cuda_staging_close(struct staging *s) {
  if (!s) return;
  for (int i = 0; i < PARTS; i++) {
    if (!s->sent[i]) continue;
    cudaEventSynchronize(s->sent[i]);
    cudaEventDestroy(s->sent[i]);
  }
  if (s->memory) (void)cudaHostUnregister(s->memory);
  (void)cudaGetLastError(); /* it may not have been registered */
  free(s->memory);
  free(s);
}

static void copy_part(char *to, const char *from, int64_t bytes, int threads) {
#pragma omp parallel for num_threads(threads) schedule(static)
  for (int64_t at = 0; at < bytes; at += 64 << 10)
    memcpy(to + at, from + at, (size_t)(bytes - at < 64 << 10 ? bytes - at : 64 << 10));
}

static int copy_parts(struct kernels *k, char *to, const char *from, int64_t bytes, struct staging *s) {
  for (int64_t at = 0; at < bytes; at += PART) {
    const int64_t count = bytes - at < PART ? bytes - at : PART, slot = s->filled % PARTS;
    if (s->filled++ >= PARTS) TRY_CUDA(cudaEventSynchronize(s->sent[slot]));
    copy_part(s->memory + slot * PART, from + at, count, device_copying_threads(k->device));
    TRY_CUDA(cudaMemcpyAsync(to + at, s->memory + slot * PART, (size_t)count, cudaMemcpyHostToDevice,
                             cuda_stream(k)));
    TRY_CUDA(cudaEventRecord(s->sent[slot], cuda_stream(k)));
  }
  return OK;
}

int cuda_upload_large(struct kernels *k, void *to, const void *from, int64_t bytes) {
  const struct cuda_state *state = k->impl;
  if (bytes < LEAST || !state->staging) return device_upload(k->device, STREAM_COMPUTE, to, from, bytes);
  const double begun = profile_clock();
  const int code = copy_parts(k, to, from, bytes, state->staging);
  state->staging->seconds += profile_clock() - begun;
  return code;
}

double cuda_upload_seconds(const struct kernels *k) {
  const struct cuda_state *state = k->impl;
  return state->staging ? state->staging->seconds : 0;
}
