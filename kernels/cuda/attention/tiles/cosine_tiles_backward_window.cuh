/* One block's work on one piece of a window of cosines' tiles, backward, in the instructions of sm_90a.
 *
 * Two groups of four warps hold 64 rows each. Of a chunk of a tile's columns tensor cores make the products
 * x_i . x_j, dz_i . x_j and x_i . dz_j. A thread makes of each of its cells the coefficients of x_j and dz_j,
 * rounded to bf16, and these multiply the same boxes of x and dz. Cells without an arc are masked away, never
 * multiplied by 0. What is the row's own, beta and 1 / |x_i|, multiplies finished sums.
 *
 * While tensor cores sum a chunk, the thread works on the next; products of the one after that are asked for
 * before or after that work, as registers allow. */
#ifndef KERNELS_CUDA_ATTENTION_TILES_COSINE_TILES_BACKWARD_WINDOW_CUH
#define KERNELS_CUDA_ATTENTION_TILES_COSINE_TILES_BACKWARD_WINDOW_CUH

#include "kernels/cuda/attention/tiles/cosine_tiles_backward_again.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* sum [64, 16] = a (registers, [64, 16]) times the transpose of x (shared memory, [16, 16]), or += where
 * ADDS; likewise of 32 rows of x. */
template <bool ADDS>
static __device__ __forceinline__ void multiply_rows(float (&sum)[8], const uint32_t (&a)[4], uint64_t x) {
  asm volatile("{ .reg .pred add; setp.ne.b32 add, %13, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
               "%0,%1,%2,%3,%4,%5,%6,%7},"
               "{%8,%9,%10,%11}, %12, add, 1, 1, 0; }"
               : LIST8(sum, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(x), "n"((int)ADDS));
}

template <bool ADDS>
static __device__ __forceinline__ void multiply_rows(float (&sum)[16], const uint32_t (&a)[4], uint64_t x) {
  asm volatile("{ .reg .pred add; setp.ne.b32 add, %21, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
               "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15},"
               "{%16,%17,%18,%19}, %20, add, 1, 1, 0; }"
               : LIST8(sum, 0), LIST8(sum, 8)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(x), "n"((int)ADDS));
}

/* A thread's two rows, 8 apart, as A operands; and numbers of each. */
template <class S> struct backward_rows {
  uint32_t x[S::N / TERMS][4], dz[S::N / TERMS][4]; /* dz of COSINE_IN */
  float factor[2];            /* of x_i . x_j / |x_j|: makes the score, in units of log 2 */
  float log_sum[2], delta[2]; /* the former in these units, too */
};

/* Their sums, but for factors of the row; dx of COSINE_OUT. */
template <class S> struct backward_sums { float dx[S::N / 2], dn[S::N / 2], beta[2]; };

/* Of a thread's cells of a chunk the products with x_i . x_j, dz_i . x_j, x_i . dz_j. */
template <class S> struct chunk_products { float whole[S::CELLS / 2], in[S::CELLS / 2], out[S::CELLS / 2]; };

/* And their coefficients of x_j and dz_j as A operands. */
template <class S> struct chunk_cells { uint32_t x[S::STEPS][4], dz[S::STEPS][4]; };

template <class S> static __device__ __forceinline__ void pin_products(struct chunk_products<S> &products) {
  pin(products.whole);
  if constexpr (S::IN) pin(products.in);
  if constexpr (S::OUT) pin(products.out);
}

template <class S> static __device__ __forceinline__ void pin_cells(struct chunk_cells<S> &cells) {
#pragma unroll
  for (int k = 0; k < S::STEPS; k++) {
    pin(cells.x[k]);
    if constexpr (S::OUT) pin(cells.dz[k]);
  }
}

template <class S>
static __device__ __forceinline__ void fetch(const struct cosine_product &op, const struct cosine_maps &maps,
                                             unsigned char *stages, cosine_backward_block<S> &block,
                                             const struct fetched_piece &piece, int t, int32_t &segment) {
  fetch_tile<S>(op, stages, block.ring, piece, t, segment,
                [&](int i, unsigned char *to, uint64_t *full, int32_t segment) {
                  const int row = segment * TILE_COLS;
                  if (i == 0) copy_box(to, &maps.x, full, 0, row);
                  if (i == 1) copy_box(to + S::INVERSE, &maps.inverse, full, 0, row);
                  if (i == 2) copy_box(to + S::DZ, &maps.dz, full, 0, row);
                  if (i == 3) copy_box(to + S::REALS, &maps.reals, full, 0, row);
                });
}

/* Of 16 columns of x, from 16 K on. */
template <class S, int K>
static __device__ __forceinline__ void multiply_columns(const struct backward_rows<S> &rows, uint32_t from,
                                                        struct chunk_products<S> &products) {
  const uint32_t at = from + K * TERMS * 2 / 16;
  multiply_rows<(K > 0)>(products.whole, rows.x[K], narrow_matrix<S::N>(at));
  if constexpr (S::IN) multiply_rows<(K > 0)>(products.in, rows.dz[K], narrow_matrix<S::N>(at));
  if constexpr (S::OUT) multiply_rows<(K > 0)>(products.out, rows.x[K], narrow_matrix<S::N>(at + S::DZ / 16));
  if constexpr (K + 1 < S::N / TERMS) multiply_columns<S, K + 1>(rows, from, products);
}

/* Asks for the products with chunk c of the tile in that stage. */
template <class S>
static __device__ __forceinline__ void ask_products(const struct backward_rows<S> &rows,
                                                    const unsigned char *stage, int c,
                                                    struct chunk_products<S> &products) {
  open_products();
  multiply_columns<S, 0>(rows, narrow_address(shared_address(stage)) + c * S::CELLS * S::N * 2 / 16,
                         products);
  close_products();
}

/* Asks for the sums of its columns. */
template <class S>
static __device__ __forceinline__ void ask_sums(const struct chunk_cells<S> &cells,
                                                const unsigned char *stage, int c,
                                                struct backward_sums<S> &sums) {
  const uint32_t from = narrow_address(shared_address(stage)) + c * S::CELLS * S::N * 2 / 16;
  open_products();
#pragma unroll
  for (int k = 0; k < S::STEPS; k++) {
    const uint32_t at = from + k * TERMS * S::N * 2 / 16;
    multiply(sums.dn, cells.x[k], narrow_matrix<S::N>(at));
    if constexpr (S::OUT) multiply(sums.dx, cells.dz[k], narrow_matrix<S::N>(at + S::DZ / 16));
  }
  close_products();
}

/* What a cell's column has. */
struct column_reals {
  float inverse, log_sum, delta; /* log_sum in units of log 2 */
};

/* Compilers would read those of several steps early, and have no registers left. */
template <class S>
static __device__ __forceinline__ struct column_reals read_column(const unsigned char *stage, int k,
                                                                  int col) {
  struct column_reals of = {0, 0, 0};
  asm volatile("ld.volatile.shared.f32 %0, [%1];"
               : "=f"(of.inverse)
               : "r"(shared_address(reals_of(stage + S::INVERSE, k, col))));
  if constexpr (S::OUT) {
    asm volatile("ld.volatile.shared.v2.f32 {%0, %1}, [%2];"
                 : "=f"(of.log_sum), "=f"(of.delta)
                 : "r"(shared_address(reals_of(stage + S::REALS, k, col))));
    of.log_sum = scaled(of.log_sum);
  }
  return of;
}

/* The coefficients of x_j and dz_j in product i of row `half`. */
template <class S>
static __device__ __forceinline__ float2 weigh_cell(const struct backward_rows<S> &rows, int half,
                                                    const struct column_reals &column, bool arc,
                                                    const struct chunk_products<S> &products, int i,
                                                    struct backward_sums<S> &sums) {
  const float cosine = products.whole[i] * column.inverse; /* times |x_i| */
  float gradient = 0, weight = 0;
  if constexpr (S::IN) {
    gradient = exp2_of(fmaf(cosine, rows.factor[half], -rows.log_sum[half])) *
               (products.in[i] - rows.delta[half]);
    sums.beta[half] = fmaf(arc ? gradient : 0, cosine, sums.beta[half]);
  }
  if constexpr (S::OUT) {
    weight = exp2_of(fmaf(cosine, rows.factor[half], -column.log_sum));
    gradient = fmaf(weight, products.out[i] - column.delta, gradient);
  }
  return make_float2(gradient * column.inverse, weight);
}

/* This thread's cells of step k of the tile, the chunk's step s. word: its bits of the tile. */
template <class S>
static __device__ __forceinline__ void
weigh_step(const struct backward_rows<S> &rows, const unsigned char *stage, uint32_t word, int k, int s,
           const struct chunk_products<S> &products, struct backward_sums<S> &sums,
           struct chunk_cells<S> &cells) {
#pragma unroll
  for (int pair = 0; pair < 2; pair++) {
    const int col = 8 * pair + 2 * ((int)threadIdx.x % 4);
    const struct column_reals columns[2] = {read_column<S>(stage, k, col), read_column<S>(stage, k, col + 1)};
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int i = 2 * pair + half;
      float2 of[2];
#pragma unroll
      for (int j = 0; j < 2; j++)
        of[j] = weigh_cell<S>(rows, half, columns[j], word >> (4 * k + i + 16 * j) & 1, products,
                              8 * s + 2 * i + j, sums);
      const uint32_t arcs = mask_of_arcs(word, 4 * k + i);
      cells.x[s][i] = rounded_pair(of[0].x, of[1].x) & arcs;
      if constexpr (S::OUT) cells.dz[s][i] = rounded_pair(of[0].y, of[1].y) & arcs;
    }
  }
}

/* Sums the block's tiles; complete when all products are. */
template <class S>
static __device__ __forceinline__ void
sum_tiles(const struct cosine_product &op, const struct cosine_maps &maps, unsigned char *stages,
          cosine_backward_block<S> &block, const struct fetched_piece &piece,
          const struct backward_rows<S> &rows, struct backward_sums<S> &sums) {
  struct chunk_products<S> products[S::BUFFERS] = {};
  struct chunk_cells<S> cells[2] = {};
  int32_t segment = __ldg(op.segment + piece.first);
#pragma unroll 1
  for (int t = 0; t < S::AHEAD; t++) fetch<S>(op, maps, stages, block, piece, t, segment);
  barrier_wait(&block.ring.full[0], 0);
  ask_products<S>(rows, stages, 0, products[0]);
  wait_for_products<0>();
  pin_products<S>(products[0]);
#pragma unroll 1
  for (int t = 0; t < piece.tiles; t++) {
    const unsigned char *stage = stages + t % S::STAGES * S::STAGE_BYTES;
    const unsigned char *next = stage; /* behind the last: any */
    const uint32_t word = ((const uint32_t *)(stage + S::BITS))[threadIdx.x];
    fetch<S>(op, maps, stages, block, piece, t + S::AHEAD, segment);
#pragma unroll
    for (int c = 0; c < S::CHUNKS; c++) {
      const bool last = c + 1 == S::CHUNKS;
      struct chunk_products<S> &mine = products[c % S::BUFFERS], &other = products[(c + 1) % S::BUFFERS];
      if (last && t + 1 < piece.tiles) {
        const int slot = (t + 1) % S::STAGES;
        barrier_wait(&block.ring.full[slot], (uint32_t)((t + 1) / S::STAGES) & 1);
        next = stages + slot * S::STAGE_BYTES;
      }
      if (S::BUFFERS > 1) ask_products<S>(rows, last ? next : stage, last ? 0 : c + 1, other);
#pragma unroll
      for (int s = 0; s < S::STEPS; s++)
        weigh_step<S>(rows, stage, word, c * S::STEPS + s, s, mine, sums, cells[c % 2]);
      pin_cells<S>(cells[c % 2]);
      if (S::BUFFERS == 1) pin_products<S>(mine);
      if (S::BUFFERS == 1) ask_products<S>(rows, last ? next : stage, last ? 0 : c + 1, other);
      ask_sums<S>(cells[c % 2], stage, c, sums);
      wait_for_products<1>(); /* for all but these sums */
      pin_products<S>(other);
      pin_cells<S>(cells[(c + 1) % 2]);
      if (c == 0 && t > 0 && threadIdx.x % 32 == 0) barrier_arrive(&block.ring.empty[(t - 1) % S::STAGES]);
    }
  }
  wait_for_products<0>();
  pin(sums.dn);
  if constexpr (S::OUT) pin(sums.dx);
  pin_cells<S>(cells[1]);
}

/* What this thread has of one of its rows. Whether the row must be summed again. */
template <class S>
static __device__ __forceinline__ bool write_row(const struct cosine_product &op, int32_t place, int r,
                                                 int half, float inverse,
                                                 const struct backward_sums<S> &sums) {
  const int columns = (int)partial_columns(op.width);
  const float beta = __ldg(op.beta), beta_grad = sum_of_quad(sums.beta[half]) * inverse;
  float *row = sums_of_row(op, place, r);
  bool spoilt = !is_finite(beta_grad);
#pragma unroll
  for (int j = 0; j < S::N / 8; j++) {
    const int col = 8 * j + 2 * ((int)threadIdx.x % 4);
    float dx[2], dn[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const bool there = col + i < op.width;
      dx[i] = S::OUT && there ? sums.dx[4 * j + 2 * half + i] : 0;
      dn[i] = there ? beta * sums.dn[4 * j + 2 * half + i] : 0;
      spoilt |= !is_finite(dx[i]) || !is_finite(dn[i]);
    }
    if (8 * j >= columns) continue;
    *(float2 *)(row + col) = make_float2(dx[0], dx[1]);
    *(float2 *)(row + columns + col) = make_float2(dn[0], dn[1]);
  }
  if (threadIdx.x % 4 == 0) row[2 * columns] = beta_grad;
  return spoilt;
}

template <class S>
static __device__ __forceinline__ void
open_block(const struct cosine_product &op, const struct window_piece &w, const char *const (&mine)[2],
           cosine_backward_block<S> &block, struct backward_rows<S> &rows, struct backward_sums<S> &sums) {
  const float beta = scaled(__ldg(op.beta));
  if (threadIdx.x == 0) open_ring<S>(block.ring);
  load_rows<S::N>(mine[0], mine[1], op.width, rows.x);
  if constexpr (S::IN)
    load_rows<S::N>(mine[0] ? mine[0] + op.dz : NULL, mine[1] ? mine[1] + op.dz : NULL, op.width, rows.dz);
#pragma unroll
  for (int i = 0; i < 2; i++) {
    rows.factor[i] = beta * real_of(mine[i], op.inverse);
    rows.log_sum[i] = scaled(real_of(mine[i], op.reals));
    rows.delta[i] = real_of(mine[i], op.reals + sizeof(float));
    sums.beta[i] = 0;
  }
#pragma unroll
  for (int i = 0; i < S::N / 2; i++) sums.dx[i] = sums.dn[i] = 0;
  __syncthreads();
}

template <class S>
static __device__ __forceinline__ void sum_window(const struct cosine_maps &maps,
                                                  const struct cosine_product &op) {
  extern __shared__ __align__(1024) unsigned char stages[];
  __shared__ cosine_backward_block<S> block;
  const struct window_piece w = op.piece[blockIdx.x];
  const int32_t window = w.window;
  const int r = row_of_thread();
  const char *const mine[2] = {message_of_row(op, window, r), message_of_row(op, window, r + 8)};
  struct backward_rows<S> rows;
  struct backward_sums<S> sums;
  bool again[2];
  open_block<S>(op, w, mine, block, rows, sums);
  sum_tiles<S>(op, maps, stages, block, fetched_piece_of(w), rows, sums);
#pragma unroll
  for (int i = 0; i < 2; i++) {
    again[i] = write_row<S>(op, w.place, r + 8 * i, i, real_of(mine[i], op.inverse), sums);
    again[i] = __ballot_sync(~0u, again[i]) >> ((int)threadIdx.x % 32 & ~3) & 15;
    if (threadIdx.x % 4 == 0) block.again[r + 8 * i] = again[i];
  }
  if (__syncthreads_or(again[0] || again[1])) rows_again<S>(op, block);
}

#endif

#endif
