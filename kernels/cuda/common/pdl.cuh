/* Kernels queued one behind another: by programmatic dependent launch a kernel's blocks may take their places
 * while the one before still runs, and wait there until it has ended and what it wrote is seen. That hides
 * some of the time between two kernels. Compiled for less than compute capability 9.0 kernels do not wait,
 * whatever runs them: then they follow one another.
 *
 * For products, whose blocks fill a multiprocessor, and for small kernels. Those that gather rows take longer
 * so, probably because a multiprocessor that is never empty keeps its first-level cache as small as the
 * shared memory of the product before has left it; but the kernel behind them may begin early.
 *
 * A kernel that lets the next begin may still be waiting itself: before its wait a kernel reads only what
 * was there before the epoch, such as a layout, and writes nothing. */
#ifndef KERNELS_CUDA_COMMON_PDL_CUH
#define KERNELS_CUDA_COMMON_PDL_CUH

#include <utility>

#include "kernels/cuda/common/cuda.h"

/* The kernel queued behind may begin: it waits for this one itself. */
static __device__ __forceinline__ void pdl_launch_dependents() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

#ifndef KERNELS_WITHOUT_PDL /* of sources that are compiled for sm_80 alone, whatever runs them */

/* Until all kernels queued before have ended. x goes through it so that nothing is read there before. */
static __device__ __forceinline__ void pdl_wait(const char *&x) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" : "+l"(x)::"memory");
#endif
}

/* Both: what a kernel begins with that has nothing to prepare. */
static __device__ __forceinline__ void pdl_prologue() {
#if __CUDA_ARCH__ >= 900
  pdl_launch_dependents();
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Queues a kernel that waits by itself for the one before, with `bytes` of dynamic shared memory. */
template <class... PARAMETERS, class... ARGUMENTS>
static int pdl_launch(struct kernels *k, void (*kernel)(PARAMETERS...), dim3 grid, dim3 block, int64_t bytes,
                      ARGUMENTS &&...arguments) {
  cudaLaunchAttribute early = {};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  int may = 0;
  TRY(cuda_pdl_is_on(k, &may));
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = (size_t)bytes;
  config.stream = cuda_stream(k);
  config.attrs = &early;
  config.numAttrs = may ? 1 : 0;
  TRY_CUDA(cudaLaunchKernelEx(&config, kernel, std::forward<ARGUMENTS>(arguments)...));
  return OK;
}

#endif

#endif
