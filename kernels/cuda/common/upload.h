/* Large copies to the device: kernels/cuda/common/upload.c. */
#ifndef KERNELS_CUDA_COMMON_UPLOAD_H
#define KERNELS_CUDA_COMMON_UPLOAD_H

#include "kernels/cuda/common/cuda.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Pinned memory on the way to the device, which a table keeps while it is open. */
struct staging;
/* *staging NULL: a system may refuse to lock so much; copies go by the driver's own memory then. Errors: none
 * that stop a run. */
void cuda_staging_open(struct kernels *k, struct staging **staging);
void cuda_staging_close(struct staging *staging); /* NULL is fine */

/* A copy to the device through pinned memory that the host's threads fill: several times as fast as the
 * driver's own from pageable memory. Returns when `from` has been read; the last 32 MiB may still be on their
 * way, before all that is queued on the compute stream from then on. */
int cuda_upload_large(struct kernels *k, void *to, const void *from, int64_t bytes);

/* What all these took of the host's time so far. */
double cuda_upload_seconds(const struct kernels *k);

#ifdef __cplusplus
}
#endif

#endif
