#include "runtime/device/device_cuda_graph.h"

#include "runtime/base/error.h"
#include "runtime/device/device_cuda.h"

/* A device_graph is a cudaGraphExec_t by another name. */
static cudaGraphExec_t executable(struct device_graph *graph) {
  return (cudaGraphExec_t)(void *)graph;
}

/* Of this thread alone: NCCL queues the work of a non-blocking communicator from a thread of its own, which
 * may allocate meanwhile. */
int device_cuda_capture_begin(struct device *device, enum stream stream) {
  TRY_CUDA(cudaStreamBeginCapture(device_cuda_stream(device, stream), cudaStreamCaptureModeThreadLocal));
  return OK;
}

/* Nodes keep the priority of the stream that they were recorded on: transfers go first here too. */
int device_cuda_capture_end(struct device *device, enum stream stream, struct device_graph **graph) {
  cudaGraph_t recorded = NULL;
  cudaGraphExec_t exec = NULL;
  cudaError_t result = cudaStreamEndCapture(device_cuda_stream(device, stream), &recorded);
  if (result == cudaSuccess)
    result = cudaGraphInstantiate(&exec, recorded, cudaGraphInstantiateFlagUseNodePriority);
  if (recorded) cudaGraphDestroy(recorded);
  (void)cudaGetLastError(); /* a failed capture must not be taken for a failed launch later */
  *graph = (struct device_graph *)(void *)exec;
  return device_cuda_check(result, "recording a graph");
}

int device_cuda_replay(struct device *device, enum stream stream, struct device_graph *graph) {
  TRY_CUDA(cudaGraphLaunch(executable(graph), device_cuda_stream(device, stream)));
  return OK;
}

void device_cuda_graph_free(struct device *device, struct device_graph *graph) {
  (void)device;
  cudaGraphExecDestroy(executable(graph));
}
