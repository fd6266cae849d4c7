#include "kernels/cuda/common/cuda.h"

/* What the next node of a recording will depend on. */
static cudaError_t recorded_before(cudaStream_t stream, enum cudaStreamCaptureStatus *status,
                                   const cudaGraphNode_t **nodes, size_t *count) {
#if CUDART_VERSION >= 13000
  return cudaStreamGetCaptureInfo(stream, status, NULL, NULL, nodes, NULL, count);
#else
  return cudaStreamGetCaptureInfo_v2(stream, status, NULL, NULL, nodes, count);
#endif
}

/* While recording, only behind a single kernel: the edge to each node before would be a programmatic one,
 * which others do not have. */
int cuda_pdl_is_on(struct kernels *k, int *may) {
  const struct cuda_state *state = k->impl;
  enum cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  enum cudaGraphNodeType type = cudaGraphNodeTypeEmpty;
  const cudaGraphNode_t *nodes = NULL;
  size_t count = 0;
  *may = 0;
  if (!state->pdl) return OK;
  TRY_CUDA(recorded_before(cuda_stream(k), &status, &nodes, &count));
  *may = status == cudaStreamCaptureStatusNone;
  if (*may || count != 1) return OK;
  TRY_CUDA(cudaGraphNodeGetType(nodes[0], &type));
  *may = type == cudaGraphNodeTypeKernel;
  return OK;
}
