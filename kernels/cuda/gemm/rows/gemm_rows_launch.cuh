/* C = A B for a tall A: shapes, memory and launch of the kernel in gemm_rows.cuh. */
#ifndef KERNELS_CUDA_GEMM_ROWS_GEMM_ROWS_LAUNCH_CUH
#define KERNELS_CUDA_GEMM_ROWS_GEMM_ROWS_LAUNCH_CUH

#include "kernels/cuda/common/partials.cuh"
#include "kernels/cuda/gemm/gemm.h"
#include "kernels/cuda/gemm/gemm_epilogue_of.cuh"
#include "kernels/cuda/gemm/rows/gemm_rows.cuh"

/* A launch but for its kernel. */
struct rows_launch {
  struct rows_product product;
  unsigned blocks, column_tiles, threads;
  int bytes; /* of shared memory */
};

template <class T, class G>
static __global__ void __launch_bounds__(BLOCK)
    panel_kernel(const __grid_constant__ struct rows_product p, uint4 *panel) {
  pdl_prologue();
  write_panel<T, G::BLOCKS>(p, (int64_t)blockIdx.y * G::COLS, (int)(blockIdx.x * blockDim.x + threadIdx.x),
                            (int)(gridDim.x * blockDim.x),
                            panel + (int64_t)blockIdx.y * 2 * p.parts * G::STEP);
}

/* Bytes of shared memory for so many teams, but for their rings. */
template <class G> static int fixed_bytes(const struct rows_product &p, int teams, bool sums) {
  const int per_warp = sums ? G::SUM_COLS * (int)sizeof(double) : 0;
  const int panel = G::STREAMS ? 0 : 2 * p.parts * G::STEP * 16;
  return panel + teams * G::THREADS / 32 * per_warp + G::COLS * (int)sizeof(float);
}

/* As many teams as fit into shared memory with three slots each, or one with fewer, and a fourth slot if
 * there is room; false if not even that fits. */
template <class G> static bool fit(const struct cuda_state *state, bool sums, struct rows_launch *launch) {
  struct rows_product &p = launch->product;
  for (int teams = G::TEAMS; teams > 0; teams--) {
    const int fixed = fixed_bytes<G>(p, teams, sums), least = teams > 1 ? 3 : G::IN_USE + 1;
    const int slots = (state->shared_bytes - fixed) / (teams * G::SLOT * 16);
    if (fixed > state->shared_bytes || slots < least) continue;
    p.stages = min(4, slots);
    launch->threads = (unsigned)(teams * G::THREADS);
    launch->bytes = fixed + teams * p.stages * G::SLOT * 16;
    return true;
  }
  return false;
}

/* Tiles of equal height, in as few rounds as their largest height allows. */
template <class G> static void lay_tiles(const struct cuda_state *state, struct rows_launch *launch) {
  struct rows_product &p = launch->product;
  const int64_t teams = launch->threads / G::THREADS;
  launch->column_tiles = blocks_of(p.n, G::COLS);
  const int64_t blocks = max((int64_t)1, (int64_t)(state->multiprocessors / launch->column_tiles));
  const int64_t rounds = (p.m + blocks * teams * G::ROWS - 1) / (blocks * teams * G::ROWS);
  const int64_t tiles = rounds * blocks * teams;
  p.height = (int)((p.m + tiles - 1) / tiles);
  p.tiles = (p.m + p.height - 1) / p.height;
  launch->blocks = (unsigned)min(blocks, (p.tiles + teams - 1) / teams);
}

template <class T, class G> static int start(struct kernels *k, const struct rows_launch *launch) {
  const auto kernel = rows_kernel<T, G>;
  TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, launch->bytes));
  return pdl_launch(k, kernel, dim3(launch->blocks, launch->column_tiles), launch->threads, launch->bytes,
                    launch->product);
}

/* Column sums lie behind B's panel in the workspace. */
template <class T, class G>
static int run(struct kernels *k, const struct gemm *op, bool sums, struct rows_launch *launch) {
  struct rows_product &p = launch->product;
  lay_tiles<G>((const struct cuda_state *)k->impl, launch);
  const int64_t panel = G::STREAMS ? (int64_t)launch->column_tiles * 2 * p.parts * G::STEP : 0;
  const int64_t partials = sums ? (int64_t)launch->blocks * p.n : 0;
  uint4 *workspace = NULL;
  TRY(kernels_workspace(k, panel * 16 + partials * (int64_t)sizeof(double), (void **)&workspace));
  p.panel = workspace;
  p.epilogue.sums = sums ? (double *)(workspace + panel) : NULL;
  if (G::STREAMS) {
    dim3 grid(blocks_of(2 * p.parts * G::STEP, BLOCK), launch->column_tiles);
    TRY((pdl_launch(k, panel_kernel<T, G>, grid, BLOCK, 0, p, workspace)));
  }
  TRY((start<T, G>(k, launch)));
  if (!sums) return OK;
  return cuda_add_partials(k, p.epilogue.sums, launch->blocks, p.n, (float *)op->backward->bias_grad);
}

/* B whole in shared memory if that can be, else streaming. */
template <class T, class WHOLE, class STREAMING>
static int fit_and_run(struct kernels *k, const struct gemm *op, struct rows_launch *launch) {
  const struct cuda_state *state = (const struct cuda_state *)k->impl;
  const bool sums = op->backward && op->backward->bias_grad;
  if (fit<WHOLE>(state, sums, launch)) return run<T, WHOLE>(k, op, sums, launch);
  if (fit<STREAMING>(state, sums, launch)) return run<T, STREAMING>(k, op, sums, launch);
  FAIL(FAILED, "a block on this GPU has too little shared memory for matrix products: %d bytes",
       state->shared_bytes);
}

static struct rows_launch launch_of(const struct kernels *k, const struct gemm *op) {
  struct rows_launch launch = {};
  struct rows_product &p = launch.product;
  const int64_t part = 128 / dtype_bytes(op->a.dtype);
  p.a = op->a.data;
  p.b = op->b.data;
  p.a_stride = op->a.stride;
  p.b_stride = op->b.stride;
  p.m = op->c.rows;
  p.n = (int)op->c.cols;
  p.k = (int)op->a.cols;
  p.parts = (int)max((int64_t)1, (p.k + part - 1) / part);
  p.transpose_b = op->transpose_b;
  p.epilogue = gemm_epilogue_of(k, op);
  return launch;
}

template <class T> static int multiply_tall(struct kernels *k, const struct gemm *op) {
  struct rows_launch launch = launch_of(k, op);
  using wide_streaming = team<16, 2, 1, true>;
  if (op->c.cols <= 48) return fit_and_run<T, team<6, 1, 4, false>, wide_streaming>(k, op, &launch);
  if (op->c.cols <= 64) return fit_and_run<T, team<8, 1, 4, false>, wide_streaming>(k, op, &launch);
  if (op->c.cols <= 128) return fit_and_run<T, team<16, 1, 3, false>, wide_streaming>(k, op, &launch);
  return fit_and_run<T, team<32, 1, 2, false>, team<32, 2, 1, true>>(k, op, &launch);
}

#endif
