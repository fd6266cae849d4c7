/* Groups of products by wgmma, which go on while the tensor cores work (PTX ISA; compute capability 9.0a).
 * What a product reads must not change before it has ended, nor may its sums be looked at. */
#ifndef KERNELS_CUDA_COMMON_WGMMA_CUH
#define KERNELS_CUDA_COMMON_WGMMA_CUH

/* Before the first product, and wherever registers that products read or write were touched since. */
static __device__ __forceinline__ void open_products() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}

static __device__ __forceinline__ void close_products() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

/* Until at most BEHIND of the latest groups of products (each closed once) are under way. */
template <int BEHIND> static __device__ __forceinline__ void wait_for_products() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(BEHIND) : "memory");
}

/* What ordinary stores and copies of this thread wrote to shared memory will be seen by products, after a
 * barrier. */
static __device__ __forceinline__ void show_to_products() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

#endif
