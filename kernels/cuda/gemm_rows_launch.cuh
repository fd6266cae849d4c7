/* C = A B for a tall A: shapes, memory and launch of the kernel in gemm_rows.cuh. */
#ifndef KERNELS_CUDA_GEMM_ROWS_LAUNCH_CUH
#define KERNELS_CUDA_GEMM_ROWS_LAUNCH_CUH

#include "kernels/cuda/gemm.h"
#include "kernels/cuda/gemm_rows.cuh"
#include "kernels/cuda/partials.cuh"

/* A launch but for its kernel. */
struct rows_launch {
  struct rows_product product;
  unsigned blocks, column_tiles, threads;
  int bytes; /* of shared memory */
};

template <class T, class G>
static __global__ void __launch_bounds__(BLOCK)
    panel_kernel(const __grid_constant__ struct rows_product p, uint4 *panel) {
  write_panel<T>(p, 2 * p.parts, (int64_t)blockIdx.y * G::COLS, G::BLOCKS,
                 (int64_t)blockIdx.x * blockDim.x + threadIdx.x, (int64_t)gridDim.x * blockDim.x,
                 panel + (int64_t)blockIdx.y * 2 * p.parts * G::STEP);
}

/* As many groups, then as many stages, as fit into shared memory; false if none does. */
template <class G> static bool fit(const struct cuda_state *state, bool sums, struct rows_launch *launch) {
  struct rows_product &p = launch->product;
  const int totals = sums ? G::GROUPS * G::M * G::COLS * (int)sizeof(double) : 0;
  const int pieces = G::GROUPS * G::THREADS / 32 * PIECE * 16;
  const int fixed = G::COLS * (int)sizeof(float) + totals + pieces +
                    (G::STREAMS ? 0 : p.steps * G::STEP * 16);
  const int slots = (state->shared_bytes - fixed) / (G::SLOT * 16);
  if (slots < 2) return false;
  const int groups = slots / 2 < G::GROUPS ? slots / 2 : G::GROUPS;
  p.stages = slots / groups < 4 ? slots / groups : 4;
  launch->threads = (unsigned)(groups * G::THREADS);
  launch->bytes = fixed + groups * p.stages * G::SLOT * 16;
  return true;
}

/* Tiles of equal height, in as few rounds as their largest height allows. */
template <class G> static void lay_tiles(const struct cuda_state *state, struct rows_launch *launch) {
  struct rows_product &p = launch->product;
  const int64_t groups = launch->threads / G::THREADS;
  launch->column_tiles = blocks_of(p.n, G::COLS);
  const int64_t blocks = max((int64_t)1, (int64_t)(state->multiprocessors / launch->column_tiles));
  const int64_t rounds = (p.m + blocks * groups * G::ROWS - 1) / (blocks * groups * G::ROWS);
  const int64_t tiles = rounds * blocks * groups;
  p.height = (int)((p.m + tiles - 1) / tiles);
  p.tiles = (p.m + p.height - 1) / p.height;
  launch->blocks = (unsigned)min(blocks, (p.tiles + groups - 1) / groups);
}

template <class T, class G> static int start(struct kernels *k, const struct rows_launch *launch) {
  const auto kernel = rows_kernel<T, G>;
  TRY_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, launch->bytes));
  kernel<<<dim3(launch->blocks, launch->column_tiles), launch->threads, (size_t)launch->bytes,
           cuda_stream(k)>>>(launch->product);
  TRY_LAUNCH();
  return OK;
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
  p.end.sums = sums ? (double *)(workspace + panel) : NULL;
  if (G::STREAMS) {
    dim3 grid(blocks_of(2 * p.parts * G::STEP, BLOCK), launch->column_tiles);
    panel_kernel<T, G><<<grid, BLOCK, 0, cuda_stream(k)>>>(p, workspace);
    TRY_LAUNCH();
  }
  TRY((start<T, G>(k, launch)));
  if (!sums) return OK;
  return cuda_add_partials(k, p.end.sums, launch->blocks, p.n, (float *)op->backward->bias_grad);
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

static bool are_aligned(const struct end *e) {
  const struct tensor *all[] = {&e->c, &e->out, &e->residual, &e->saved};
  for (int i = 0; i < 4; i++) {
    if (all[i]->data && !cuda_is_aligned(*all[i])) return false;
  }
  return true;
}

static struct end end_of(const struct kernels *k, const struct gemm *op) {
  struct end e = {};
  const struct update *update = op->backward ? op->backward->forward : op->update;
  e.c = e.out = op->c;
  e.accumulate = op->accumulate;
  e.scalars = k->scalars;
  if (update) {
    e.activation = update->activation;
    e.dropout = update->dropout;
    e.bias = (const float *)update->bias;
  }
  if (op->update) {
    e.out = update->y;
    e.residual = update->residual;
    e.keep = update->y.data != op->c.data;
  }
  if (op->backward) {
    e.backward = true;
    e.out = op->backward->dz;
    e.residual = op->backward->residual_grad;
    e.saved = update->z;
    e.from_y = update->y.data == update->z.data;
    if (e.from_y) e.bias = NULL;
  }
  e.aligned = are_aligned(&e);
  return e;
}

static struct rows_launch launch_of(const struct kernels *k, const struct gemm *op) {
  struct rows_launch launch = {};
  struct rows_product &p = launch.product;
  const int64_t step = 64 / dtype_bytes(op->a.dtype);
  p.a = op->a.data;
  p.b = op->b.data;
  p.a_stride = op->a.stride;
  p.b_stride = op->b.stride;
  p.m = op->c.rows;
  p.n = (int)op->c.cols;
  p.k = (int)op->a.cols;
  p.steps = (int)((p.k + step - 1) / step);
  p.parts = p.steps > 2 ? (p.steps + 1) / 2 : 1;
  p.a_aligned = cuda_is_aligned(op->a);
  p.transpose_b = op->transpose_b;
  p.end = end_of(k, op);
  return launch;
}

template <class T> static int multiply_rows(struct kernels *k, const struct gemm *op) {
  struct rows_launch launch = launch_of(k, op);
  using wide = grouping<16, 4, 1, 2, false>;
  using wide_streaming = grouping<16, 8, 1, 1, true>;
  if (op->c.cols <= 48 && !op->backward)
    return fit_and_run<T, grouping<6, 4, 1, 3, false>, wide_streaming>(k, op, &launch);
  if (op->c.cols <= 64) return fit_and_run<T, grouping<8, 4, 1, 3, false>, wide_streaming>(k, op, &launch);
  if (op->c.cols <= 128) return fit_and_run<T, wide, wide_streaming>(k, op, &launch);
  return fit_and_run<T, grouping<16, 2, 2, 2, false>, grouping<16, 4, 2, 1, true>>(k, op, &launch);
}

#endif
