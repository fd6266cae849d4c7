/* C = A B for a tall A: shapes, memory and launch of the kernel in gemm_rows.cuh. */
#ifndef KERNELS_CUDA_GEMM_ROWS_GEMM_ROWS_LAUNCH_CUH
#define KERNELS_CUDA_GEMM_ROWS_GEMM_ROWS_LAUNCH_CUH

#include "kernels/cuda/common/partials.cuh"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/gemm/gemm_epilogue_of.cuh"
#include "kernels/cuda/gemm/rows/gemm_rows.cuh"

constexpr int LEAST_SLOTS = 3; /* products read two */

/* B as tensor cores want it. */
template <class T, class G>
static __global__ void __launch_bounds__(BLOCK)
    panel_kernel(const __grid_constant__ struct rows_product p, uint4 *panel) {
  pdl_prologue();
  const int chunks = 2 * p.parts * G::STEP, i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < chunks)
    panel[(int64_t)blockIdx.y * chunks + i] = chunk_of_panel<T, G::BLOCKS>(p, (int64_t)blockIdx.y * G::COLS,
                                                                           i);
}

/* Tiles of equal height, in as few rounds of so many blocks as their largest height allows. */
template <class G> static unsigned lay_tiles(int64_t blocks, struct rows_product *p) {
  const int64_t rounds = (p->m + blocks * G::ROWS - 1) / (blocks * G::ROWS), tiles = rounds * blocks;
  p->height = (int)((p->m + tiles - 1) / tiles);
  p->tiles = (p->m + p->height - 1) / p->height;
  return (unsigned)min(blocks, p->tiles);
}

/* Column sums lie behind B's panel in the workspace. */
template <class T, class G> static int run(struct kernels *k, const struct gemm *op, struct rows_product p) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const bool sums = op->backward && op->backward->bias_grad;
  const int fixed = (sums ? G::WARPS * G::COLS * (int)sizeof(double) : 0) + G::COLS * (int)sizeof(float);
  p.ring = min(MOST_SLOTS, (state->shared_bytes - TMA_ALIGNMENT - fixed) / G::SLOT);
  if (p.ring < LEAST_SLOTS)
    FAIL(FAILED, "a block on this GPU has too little shared memory for matrix products: %d bytes",
         state->shared_bytes);
  const int bytes = fixed + p.ring * G::SLOT;
  const unsigned column_tiles = blocks_of(p.n, G::COLS);
  const unsigned blocks = lay_tiles<G>(max(1, state->multiprocessors / (int)column_tiles), &p);
  const int64_t chunks = 2 * p.parts * G::STEP, panel = column_tiles * chunks;
  const int64_t partials = sums ? (int64_t)blocks * p.n : 0;
  CUtensorMap a;
  uint4 *workspace = NULL;
  TRY(cuda_tma_map(op->a, p.height, &a));
  TRY(kernels_workspace(k, panel * 16 + partials * (int64_t)sizeof(double), (void **)&workspace));
  p.panel = workspace;
  p.epilogue.sums = sums ? (double *)(workspace + panel) : NULL;
  TRY((pdl_launch(k, panel_kernel<T, G>, dim3(blocks_of(chunks, BLOCK), column_tiles), BLOCK, 0, p,
                  workspace)));
  TRY_CUDA(cudaFuncSetAttribute(rows_kernel<T, G>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  TRY((pdl_launch(k, rows_kernel<T, G>, dim3(blocks, column_tiles), TWO_TEAMS_THREADS, bytes, a, p)));
  return sums ? cuda_add_partials(k, p.epilogue.sums, blocks, p.n, (float *)op->backward->bias_grad) : OK;
}

template <class T> static int multiply_tall(struct kernels *k, const struct gemm *op) {
  struct rows_product p = {};
  p.b = op->b.data;
  p.b_stride = op->b.stride;
  p.m = op->c.rows;
  p.n = (int)op->c.cols;
  p.k = (int)op->a.cols;
  p.parts = (int)blocks_of(p.k, TMA_COLS<T>);
  p.transpose_b = op->transpose_b;
  p.epilogue = gemm_epilogue_of(k, op);
  return op->c.cols <= 128 ? run<T, rows_shape<16>>(k, op, p) : run<T, rows_shape<32>>(k, op, p);
}

#endif
