#include <dlfcn.h>
#include <sched.h>

#include "runtime/base/base.h"
#include "runtime/device/device_cuda.h"

/* The part of the library's interface that is used. It comes with the driver, not with the toolkit: a program
 * linked against it would not start on a machine without a GPU. */
struct nvml_memory {
  unsigned long long total, free, used;
};
static struct {
  int tried, ready;
  int (*init)(void);
  int (*handle)(const char *bus, void **device);
  int (*memory)(void *device, struct nvml_memory *memory);
} nvml;

static void open_library(void) {
  nvml.tried = 1;
  void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!library) return;
  *(void **)&nvml.init = dlsym(library, "nvmlInit_v2");
  *(void **)&nvml.handle = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
  *(void **)&nvml.memory = dlsym(library, "nvmlDeviceGetMemoryInfo");
  nvml.ready = nvml.init && nvml.handle && nvml.memory && nvml.init() == 0;
}

static int64_t bytes_taken(const char *bus) {
  void *device = NULL;
  struct nvml_memory memory = {0};
  if (!nvml.tried) open_library();
  if (!nvml.ready || nvml.handle(bus, &device) != 0) return 0;
  return nvml.memory(device, &memory) == 0 ? (int64_t)memory.used : 0;
}

/* A device_graph is a cudaGraphExec_t by another name. */
static cudaGraphExec_t executable(struct device_graph *graph) {
  return (cudaGraphExec_t)(void *)graph;
}

/* Of this thread alone: NCCL queues the work of a non-blocking communicator from a thread of its own, which
 * may allocate meanwhile. */
static int cuda_capture_begin(struct device *device, enum stream stream) {
  TRY_CUDA(cudaStreamBeginCapture(device_cuda_stream(device, stream), cudaStreamCaptureModeThreadLocal));
  return OK;
}

/* Nodes keep the priority of the stream that they were recorded on: transfers go first here too. */
static int cuda_capture_end(struct device *device, enum stream stream, struct device_graph **graph) {
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

static int cuda_replay(struct device *device, enum stream stream, struct device_graph *graph) {
  TRY_CUDA(cudaGraphLaunch(executable(graph), device_cuda_stream(device, stream)));
  return OK;
}

static void cuda_graph_free(struct device *device, struct device_graph *graph) {
  (void)device;
  cudaGraphExecDestroy(executable(graph));
}

static struct device_cuda *cuda_of(const struct device *device) {
  return device->impl;
}

enum { GPUS = 64, LEAST = 8 /* compute capability that kernels are written for */ };

/* Why there is no GPU, where it is worth a word. */
static char reason[200];

/* The numbers of those that can be used; returns how many. A machine without a driver has none, and that is
 * all. */
static int list_gpus(int gpu[GPUS]) {
  int count = 0, usable = 0, driver = 0, major = 0, minor = 0;
  cudaError_t result = cudaGetDeviceCount(&count);
  reason[0] = '\0';
  if (result != cudaSuccess) {
    int installed = cudaDriverGetVersion(&driver) == cudaSuccess && driver > 0;
    if (installed && result != cudaErrorNoDevice)
      snprintf(reason, sizeof reason, "%.150s", cudaGetErrorString(result));
    (void)cudaGetLastError();
    return 0;
  }
  for (int i = 0; i < count && usable < GPUS; i++) {
    int known = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, i) == cudaSuccess &&
                cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, i) == cudaSuccess;
    if (known && major >= LEAST)
      gpu[usable++] = i;
    else if (known)
      snprintf(reason, sizeof reason, "GPU %d has compute capability %d.%d; %d.0 is the least", i, major,
               minor, LEAST);
  }
  (void)cudaGetLastError();
  return usable;
}

static int cuda_available(void) {
  int gpu[GPUS];
  return list_gpus(gpu);
}

static const char *cuda_absent(void) {
  return reason;
}

/* CUDA_VISIBLE_DEVICES or Slurm may show each rank one GPU of its own: then it is number 0 for all of them.
 * That no two ranks share a GPU is checked when the ranks meet (comm_nccl). */
static int choose_gpu(struct device *device, int local_rank, int local_size) {
  int gpu[GPUS], count = list_gpus(gpu);
  if (count == 0) FAIL(FAILED, "the GPUs are gone: %s", reason);
  if (count > 1 && local_size > count)
    FAIL(BAD_INPUT,
         "%d ranks on a node with %d GPUs; start at most one rank a GPU: mpirun -n %d, or --map-by "
         "ppr:%d:node",
         local_size, count, count, count);
  device->index = gpu[local_rank % count];
  return OK;
}

static int64_t used_since_open(const struct device_cuda *cuda) {
  return bytes_taken(cuda->bus) - cuda->used_before;
}

static void note_peak(struct device_cuda *cuda) {
  int64_t used = used_since_open(cuda);
  if (used > cuda->peak) cuda->peak = used;
}

/* Transfers are kernels too. Those of the exchange go before blocks of the compute stream that have not
 * started, or they would wait until nothing else is left to run beside them. */
static int open_streams(struct device_cuda *cuda) {
  int last = 0, first = 0;
  TRY_CUDA(cudaDeviceGetStreamPriorityRange(&last, &first));
  for (int i = 0; i < STREAMS; i++)
    TRY_CUDA(cudaStreamCreateWithPriority(&cuda->stream[i], cudaStreamNonBlocking,
                                          i == STREAM_EXCHANGE || i == STREAM_STORES ? first : last));
  for (int i = 0; i < EVENTS; i++)
    TRY_CUDA(cudaEventCreateWithFlags(&cuda->event[i], cudaEventDisableTiming));
  for (int i = 0; i < MARKS; i++) TRY_CUDA(cudaEventCreate(&cuda->mark[i]));
  return OK;
}

/* What does not take a context. */
static int cuda_choose(struct device *device, int local_rank, int local_size) {
  struct device_cuda *cuda = NULL;
  struct cudaDeviceProp properties;
  TRY(choose_gpu(device, local_rank, local_size));
  TRY(memory_arrays("a device", ROOM(&cuda, 1)));
  device->impl = cuda;
  TRY(device_cuda_bus(device, cuda->bus));
  TRY_CUDA(cudaGetDeviceProperties(&properties, device->index));
  snprintf(device->name, sizeof device->name, "%.127s", properties.name);
  device->memory = (int64_t)properties.totalGlobalMem;
  return OK;
}

static int cuda_open(struct device *device) {
  struct device_cuda *cuda = cuda_of(device);
  cuda->used_before = bytes_taken(cuda->bus); /* the next call makes the context */
  TRY_CUDA(cudaSetDevice(device->index));
  TRY(open_streams(cuda));
  note_peak(cuda);
  return OK;
}

static void cuda_close(struct device *device) {
  struct device_cuda *cuda = cuda_of(device);
  if (!cuda) return;
  for (int i = 0; i < EVENTS; i++) {
    if (cuda->event[i]) cudaEventDestroy(cuda->event[i]);
  }
  for (int i = 0; i < MARKS; i++) {
    if (cuda->mark[i]) cudaEventDestroy(cuda->mark[i]);
  }
  for (int i = 0; i < STREAMS; i++) {
    if (cuda->stream[i]) cudaStreamDestroy(cuda->stream[i]);
  }
  free(cuda);
}

/* What the operating system's tools would call full: the size asked for beside what is free. */
static int cuda_alloc(struct device *device, int64_t bytes, void **pointer, const char *what) {
  char wanted[16], left[16];
  size_t free_bytes = 0, total = 0;
  *pointer = NULL;
  cudaError_t result = cudaMalloc(pointer, (size_t)(bytes ? bytes : 1));
  if (result == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    cudaMemGetInfo(&free_bytes, &total);
    FAIL(FAILED,
         "out of GPU memory: %s for %s, %s free on %s; use more ranks, a smaller model.hidden or fewer "
         "model.layers",
         memory_text(bytes, wanted), what, memory_text((int64_t)free_bytes, left), device->name);
  }
  TRY(device_cuda_check(result, "cudaMalloc"));
  TRY_CUDA(cudaMemsetAsync(*pointer, 0, (size_t)bytes, device_cuda_stream(device, STREAM_COMPUTE)));
  note_peak(cuda_of(device));
  return OK;
}

static void cuda_release(struct device *device, void *pointer) {
  (void)device;
  cudaFree(pointer);
}

static int copy(struct device *device, enum stream stream, void *to, const void *from, int64_t bytes,
                enum cudaMemcpyKind kind) {
  if (bytes <= 0 || to == from) return OK;
  TRY_CUDA(cudaMemcpyAsync(to, from, (size_t)bytes, kind, device_cuda_stream(device, stream)));
  return OK;
}

static int cuda_upload(struct device *device, enum stream stream, void *to, const void *from, int64_t bytes) {
  return copy(device, stream, to, from, bytes, cudaMemcpyHostToDevice);
}

static int cuda_download(struct device *device, enum stream stream, void *to, const void *from,
                         int64_t bytes) {
  return copy(device, stream, to, from, bytes, cudaMemcpyDeviceToHost);
}

static int cuda_copy(struct device *device, enum stream stream, void *to, const void *from, int64_t bytes) {
  return copy(device, stream, to, from, bytes, cudaMemcpyDeviceToDevice);
}

static int cuda_clear(struct device *device, enum stream stream, void *pointer, int64_t bytes) {
  if (bytes > 0) TRY_CUDA(cudaMemsetAsync(pointer, 0, (size_t)bytes, device_cuda_stream(device, stream)));
  return OK;
}

static int cuda_record(struct device *device, enum event event, enum stream stream) {
  TRY_CUDA(cudaEventRecord(cuda_of(device)->event[event], device_cuda_stream(device, stream)));
  return OK;
}

static int cuda_wait(struct device *device, enum stream stream, enum event event) {
  TRY_CUDA(cudaStreamWaitEvent(device_cuda_stream(device, stream), cuda_of(device)->event[event], 0));
  return OK;
}

static int cuda_host_alloc(struct device *device, int64_t bytes, void **pointer, const char *what) {
  (void)device;
  *pointer = NULL;
  cudaError_t result = cudaMallocHost(pointer, (size_t)(bytes ? bytes : 1));
  if (result == cudaErrorMemoryAllocation)
    FAIL(FAILED, "out of memory: %lld bytes of pinned memory for %s", (long long)bytes, what);
  TRY(device_cuda_check(result, "cudaMallocHost"));
  memset(*pointer, 0, (size_t)bytes);
  return OK;
}

static void cuda_host_release(struct device *device, void *pointer) {
  (void)device;
  cudaFreeHost(pointer);
}

static int cuda_mark(struct device *device, int mark, enum stream stream) {
  TRY_CUDA(cudaEventRecord(cuda_of(device)->mark[mark], device_cuda_stream(device, stream)));
  return OK;
}

static int cuda_elapsed(struct device *device, int from, int to, double *ms) {
  const struct device_cuda *cuda = cuda_of(device);
  float elapsed = 0;
  TRY_CUDA(cudaEventElapsedTime(&elapsed, cuda->mark[from], cuda->mark[to]));
  *ms = (double)elapsed;
  return OK;
}

/* The device has come as far as `mark`, or, without one, has done all that `stream` holds. */
static cudaError_t query(struct device *device, const cudaEvent_t *mark, enum stream stream) {
  return mark ? cudaEventQuery(*mark) : cudaStreamQuery(device_cuda_stream(device, stream));
}

/* Polls: a blocking wait would keep this rank from noticing that another has died. */
static int poll_device(struct device *device, const cudaEvent_t *mark, enum stream stream) {
  for (;;) {
    cudaError_t result = query(device, mark, stream);
    if (result != cudaErrorNotReady) return device_cuda_check(result, "waiting for the GPU");
    if (device->wait.poll)
      TRY(device->wait.poll(device->wait.context));
    else
      sched_yield();
  }
}

static int await(struct device *device, const cudaEvent_t *mark, enum stream stream) {
  const struct device_wait *wait = &device->wait;
  if (wait->start) wait->start(wait->context);
  int code = poll_device(device, mark, stream);
  if (wait->finish) wait->finish(wait->context);
  return code;
}

static int cuda_synchronize(struct device *device, enum stream stream) {
  return await(device, NULL, stream);
}

static int cuda_reach(struct device *device, int mark) {
  return await(device, &cuda_of(device)->mark[mark], STREAM_COMPUTE);
}

static int64_t cuda_memory_free(struct device *device) {
  (void)device;
  size_t free_bytes = 0, total = 0;
  return cudaMemGetInfo(&free_bytes, &total) == cudaSuccess ? (int64_t)free_bytes : -1;
}

static int64_t cuda_memory_used(struct device *device) {
  return used_since_open(cuda_of(device));
}

static int64_t cuda_memory_peak(struct device *device) {
  note_peak(cuda_of(device));
  return cuda_of(device)->peak;
}

const struct device_ops device_cuda_ops = {
    .name = "cuda",
    .on_host = 0,
    .available = cuda_available,
    .absent = cuda_absent,
    .choose = cuda_choose,
    .open = cuda_open,
    .adopt = device_cuda_adopt,
    .close = cuda_close,
    .profile = device_cuda_profile,
    .memory = {.alloc = cuda_alloc,
               .release = cuda_release,
               .upload = cuda_upload,
               .download = cuda_download,
               .post = device_cuda_post,
               .copy = cuda_copy,
               .clear = cuda_clear,
               .host_alloc = cuda_host_alloc,
               .host_release = cuda_host_release,
               .left = cuda_memory_free,
               .used = cuda_memory_used,
               .peak = cuda_memory_peak},
    .share = &device_cuda_share,
    .stream = {.record = cuda_record,
               .wait = cuda_wait,
               .synchronize = cuda_synchronize,
               .mark = cuda_mark,
               .reach = cuda_reach,
               .elapsed = cuda_elapsed,
               .delay = device_cuda_delay,
               .capture_begin = cuda_capture_begin,
               .capture_end = cuda_capture_end,
               .replay = cuda_replay,
               .graph_free = cuda_graph_free},
};
