/* Recorded work of the GPU: CUDA graphs. */
#ifndef RUNTIME_DEVICE_DEVICE_CUDA_GRAPH_H
#define RUNTIME_DEVICE_DEVICE_CUDA_GRAPH_H

#include "runtime/device/device.h"

int device_cuda_capture_begin(struct device *device, enum stream stream);
int device_cuda_capture_end(struct device *device, enum stream stream, struct device_graph **graph);
int device_cuda_replay(struct device *device, enum stream stream, struct device_graph *graph);
void device_cuda_graph_free(struct device *device, struct device_graph *graph);

#endif
