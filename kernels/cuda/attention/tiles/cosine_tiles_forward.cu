/* Forward attention by cosines on tiles: of each tile a block makes its scores, [128, 64], by a product of
 * its rows and the tile's columns; their exponentials, rounded to bf16, multiply the same columns, which lie
 * in shared memory still. A cosine is 1 at most: all weights are relative to exp(|beta|), a number that is
 * known before, so that nothing is scaled on the way. Cells without an arc are masked away.
 *
 * While tensor cores sum a tile, its successor's scores are asked for; their exponentials hide behind the
 * work of the other warps. */
#include "kernels/cuda/attention/tiles/cosine_tiles.cuh"

template <int N_> struct cosine_tile {
  static constexpr int N = N_, STEPS = TILE_COLS / TERMS;
  static constexpr int STAGES = 6, AHEAD = 3;  /* AHEAD: tiles that are fetched before their turn */
  static constexpr int BLOCKS = 2, COPIES = 3; /* COPIES: of a stage */
  static constexpr uint32_t BOX_BYTES = TILE_COLS * N * 2;
  /* Of a stage: the box, then reals, then the tile's bits. */
  static constexpr uint32_t REALS = BOX_BYTES, BITS = REALS + REALS_BYTES, FILL_BYTES = BITS + TILE_WORDS * 4;
  static constexpr uint32_t STAGE_BYTES = FILL_BYTES;
  static_assert(STAGE_BYTES % TMA_ALIGNMENT == 0, "boxes begin at multiples of that");
  static_assert(AHEAD + 3 <= STAGES, "a stage is filled anew three tiles after its own");
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <class S> struct cosine_block {
  ring<S> ring;
  bool again[TILE_ROWS]; /* rows that are summed again */
};

/* What a thread holds: its two rows, 8 apart, as A operands, a factor of each row's scores, sums of both. */
template <class S> struct cosine_sums {
  uint32_t rows[S::N / TERMS][4];
  float factor[2], base; /* in units of log 2 */
  float y[S::N / 2], total[2];
};

template <class S>
static __device__ __forceinline__ void fetch(const struct cosine_product &op, const CUtensorMap *x,
                                             const CUtensorMap *inverses, unsigned char *stages,
                                             cosine_block<S> &block, const struct fetched_piece &piece, int t,
                                             int32_t &segment) {
  fetch_tile<S>(op, stages, block.ring, piece, t, segment,
                [&](int i, unsigned char *to, uint64_t *full, int32_t segment) {
                  copy_box(i ? to + S::REALS : to, i ? inverses : x, full, 0, segment * TILE_COLS);
                });
}

/* This thread's cells of a step: the weights of arcs, from products of rows and columns. */
template <class S>
static __device__ __forceinline__ void weigh_step(const float (&product)[32], int k,
                                                  const unsigned char *stage, uint32_t word,
                                                  struct cosine_sums<S> &g, uint32_t (&cells)[4]) {
  const int col = 2 * ((int)threadIdx.x % 4);
  const float inverse[4] = {*reals_of(stage + S::REALS, k, col), *reals_of(stage + S::REALS, k, col + 1),
                            *reals_of(stage + S::REALS, k, col + 8), *reals_of(stage + S::REALS, k, col + 9)};
#pragma unroll
  for (int i = 0; i < 4; i++) { /* 2 pair + row */
    float weight[2];
#pragma unroll
    for (int j = 0; j < 2; j++)
      weight[j] = exp2_of(
          fmaf(product[8 * k + 2 * i + j] * inverse[i / 2 * 2 + j], g.factor[i % 2], -g.base));
    cells[i] = rounded_pair(weight[0], weight[1]) & mask_of_arcs(word, 4 * k + i);
    g.total[i % 2] += low_half(cells[i]) + high_half(cells[i]);
  }
}

/* Sums tiles; those of the last one are complete when all products are. */
template <class S>
static __device__ __forceinline__ void sum_tiles(const struct cosine_product &op, const CUtensorMap *x,
                                                 const CUtensorMap *inverses, unsigned char *stages,
                                                 cosine_block<S> &block, const struct fetched_piece &piece,
                                                 struct cosine_sums<S> &g) {
  float product[32] = {};
  uint32_t cells[S::STEPS][4] = {};
  int32_t segment = __ldg(op.segment + piece.first);
#pragma unroll 1
  for (int t = 0; t < S::AHEAD; t++) fetch<S>(op, x, inverses, stages, block, piece, t, segment);
#pragma unroll 1
  for (int t = 0; t < piece.tiles; t++) {
    const int slot = t % S::STAGES;
    const unsigned char *stage = stages + slot * S::STAGE_BYTES;
    const uint32_t box = shared_address(stage);
    fetch<S>(op, x, inverses, stages, block, piece, t + S::AHEAD, segment);
    barrier_wait(&block.ring.full[slot], (uint32_t)(t / S::STAGES) & 1);
    pin(product);
    open_products();
    multiply_box<S::N>(product, g.rows, box);
    close_products();
    const uint32_t word = ((const uint32_t *)(stage + S::BITS))[threadIdx.x];
    wait_for_products<0>();
    pin(product);
    pin(g.y);
#pragma unroll
    for (int k = 0; k < S::STEPS; k++) pin(cells[k]);
    if (t > 0 && threadIdx.x % 32 == 0) barrier_arrive(&block.ring.empty[(t - 1) % S::STAGES]);
#pragma unroll
    for (int k = 0; k < S::STEPS; k++) {
      weigh_step<S>(product, k, stage, word, g, cells[k]);
      pin(cells[k]);
      open_products();
      multiply_step<S::N>(g.y, cells[k], k, box);
      close_products();
    }
  }
  wait_for_products<0>();
  pin(g.y);
#pragma unroll
  for (int k = 0; k < S::STEPS; k++) pin(cells[k]);
}

/* What this thread has of one of its rows. Whether the row must be summed again. */
template <class S>
static __device__ __forceinline__ bool write_row(const struct cosine_product &op, int32_t place, int r,
                                                 int half, float base, const struct cosine_sums<S> &g) {
  const int quarter = (int)threadIdx.x % 4, columns = (int)partial_columns(op.width);
  const float total = sum_of_quad(g.total[half]);
  float *row = sums_of_row(op, place, r);
  bool spoilt = !is_finite(total);
#pragma unroll
  for (int j = 0; j < S::N / 8; j++) {
    const float x = g.y[4 * j + 2 * half], y = g.y[4 * j + 2 * half + 1];
    spoilt |= !is_finite(x) || !is_finite(y);
    if (8 * j < columns) *(float2 *)(row + 8 * j + 2 * quarter) = make_float2(x, y);
  }
  if (quarter == 0) write_numbers(op, row, total > 0 ? base : LOWEST, total);
  return spoilt;
}

/* By a warp. */
template <class S>
static __device__ void row_again(const struct cosine_product &op, const struct window_piece &w, int r) {
  forward_again(op, message_of_row(op, w.window, r), sums_of_row(op, w.place, r), [&](const auto &add) {
    each_arc(op, w, r, [&](int32_t segment, int u) { add(segment * TILE_COLS + u); });
  });
}

template <class S>
static __device__ __noinline__ void rows_again(const struct cosine_product &op,
                                               const cosine_block<S> &block) {
  for (int r = (int)threadIdx.x / 32; r < TILE_ROWS; r += BLOCK / 32)
    if (block.again[r]) row_again<S>(op, op.piece[blockIdx.x], r);
}

template <class S>
static __device__ __forceinline__ void open_block(const struct cosine_product &op,
                                                  const struct window_piece &w, float beta,
                                                  cosine_block<S> &block, struct cosine_sums<S> &g) {
  const int32_t window = w.window;
  const int r = row_of_thread();
  const char *mine[2] = {message_of_row(op, window, r), message_of_row(op, window, r + 8)};
  if (threadIdx.x == 0) open_ring<S>(block.ring);
  load_rows<S::N>(mine[0], mine[1], op.width, g.rows);
#pragma unroll
  for (int i = 0; i < 2; i++) g.factor[i] = beta * real_of(mine[i], op.inverse) * LOG2_E, g.total[i] = 0;
#pragma unroll
  for (int i = 0; i < S::N / 2; i++) g.y[i] = 0;
  g.base = scaled(fabsf(beta));
  __syncthreads();
}

template <class S>
static __device__ __forceinline__ void attend_window(const CUtensorMap *x, const CUtensorMap *inverses,
                                                     const struct cosine_product &op) {
  extern __shared__ __align__(1024) unsigned char stages[];
  __shared__ cosine_block<S> block;
  const struct window_piece w = op.piece[blockIdx.x];
  const float beta = __ldg(op.beta);
  const int r = row_of_thread();
  struct cosine_sums<S> g;
  bool again[2] = {true, true};
  open_block<S>(op, w, beta, block, g);
  if (fabsf(beta) <= MOST_BETA) { /* of all threads alike */
    sum_tiles<S>(op, x, inverses, stages, block, fetched_piece_of(w), g);
#pragma unroll
    for (int i = 0; i < 2; i++) again[i] = write_row<S>(op, w.place, r + 8 * i, i, fabsf(beta), g);
  }
#pragma unroll
  for (int i = 0; i < 2; i++) {
    again[i] = __ballot_sync(~0u, again[i]) >> ((int)threadIdx.x % 32 & ~3) & 15;
    if (threadIdx.x % 4 == 0) block.again[r + 8 * i] = again[i];
  }
  if (__syncthreads_or(again[0] || again[1])) rows_again<S>(op, block);
}

#endif

template <class S>
static __global__ void __launch_bounds__(BLOCK, S::BLOCKS)
    cosine_tiles_kernel(const __grid_constant__ CUtensorMap x, const __grid_constant__ CUtensorMap inverses,
                        const __grid_constant__ struct cosine_product op) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  attend_window<S>(&x, &inverses, op);
#endif
}

template <int N> static int sum(struct kernels *k, const struct cosine_windows *op) {
  typedef cosine_tile<N> S;
  constexpr int bytes = S::STAGES * S::STAGE_BYTES;
  const struct cosine_product product = cosine_product_of(k, op);
  CUtensorMap x, inverses;
  TRY(map_of_message(op, 0, op->width, N, &x));
  TRY(map_of_message(op, product.inverse, REALS_COLUMNS, REALS_COLUMNS, &inverses));
  TRY_CUDA(cudaFuncSetAttribute(cosine_tiles_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const unsigned pieces = (unsigned)cuda_layout(op->a)->tiles.pieces;
  cosine_tiles_kernel<S><<<pieces, BLOCK, bytes, cuda_stream(k)>>>(x, inverses, product);
  TRY_LAUNCH();
  return OK;
}

int cuda_cosine_tiles(struct kernels *k, const struct cosine_windows *op) {
  TRY(check_cosine_windows(op));
  if (cuda_layout(op->a)->tiles.pieces == 0) return OK;
  if (op->width <= 16) return sum<16>(k, op);
  return op->width <= 32 ? sum<32>(k, op) : sum<64>(k, op);
}
