/* What a block of the backward of cosines on tiles holds and shares; and rows of a window that are summed arc
 * by arc: those with a sum that is not finite, since 0 times what is not finite reaches rows without such an
 * arc too. */
#ifndef KERNELS_CUDA_ATTENTION_TILES_COSINE_TILES_BACKWARD_AGAIN_CUH
#define KERNELS_CUDA_ATTENTION_TILES_COSINE_TILES_BACKWARD_AGAIN_CUH

#include "kernels/cuda/attention/tiles/cosine_tiles.cuh"

/* ARCS: COSINE_IN | COSINE_OUT. N: columns of x, with zeros behind the last. A thread holds products of CELLS
 * columns of a tile at a time; of two times as many where BUFFERS is 2, so that tensor cores make some while
 * it works on the others. BLOCKS: on a multiprocessor. */
template <int ARCS_, int N_, int CELLS_, int BUFFERS_, int BLOCKS_> struct cosine_backward_tile {
  static constexpr bool IN = ARCS_ & COSINE_IN, OUT = ARCS_ & COSINE_OUT;
  static constexpr int N = N_, CELLS = CELLS_, BUFFERS = BUFFERS_, BLOCKS = BLOCKS_;
  static constexpr int CHUNKS = TILE_COLS / CELLS, STEPS = CELLS / TERMS; /* of a tile, of a chunk */
  static constexpr int STAGES = 4, AHEAD = 2; /* AHEAD: tiles that are fetched before their turn */
  static constexpr uint32_t BOX_BYTES = TILE_COLS * N * 2;
  /* Of a stage: boxes of x and dz, 1 / |x|, log_sum and delta, the tile's bits. */
  static constexpr uint32_t DZ = BOX_BYTES, INVERSE = (OUT ? 2 : 1) * BOX_BYTES,
                            REALS = INVERSE + REALS_BYTES;
  static constexpr uint32_t BITS = REALS + (OUT ? REALS_BYTES : 0), FILL_BYTES = BITS + TILE_WORDS * 4;
  static constexpr uint32_t STAGE_BYTES = FILL_BYTES;
  static_assert(STAGE_BYTES % TMA_ALIGNMENT == 0, "boxes begin at multiples of that");
  static_assert(AHEAD + 2 <= STAGES, "a stage is filled anew two tiles after its own");
  static_assert(CHUNKS % 2 == 0, "each tile begins with the first of two buffers");
};

/* Of messages of columns; the latter two of COSINE_OUT. */
struct cosine_maps {
  CUtensorMap x, inverse, dz, reals;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

template <class S> struct cosine_backward_block {
  ring<S> ring;
  struct feeder feeder;  /* of one thread, whose registers all others would keep free, too */
  bool again[TILE_ROWS]; /* rows that are summed again */
};

/* A lane's columns of a row: lane and lane + 32. */
struct lane_columns {
  float at[2];
};

static __device__ __forceinline__ struct lane_columns columns_of_lane(const char *from, int32_t width) {
  struct lane_columns x;
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const int col = (int)threadIdx.x % 32 + 32 * i;
    x.at[i] = from && col < width ? (float)((const bf16 *)from)[col] : 0;
  }
  return x;
}

/* The same in each lane. */
static __device__ __forceinline__ float product_of(const struct lane_columns &x,
                                                   const struct lane_columns &y) {
  float sum = fmaf(x.at[1], y.at[1], x.at[0] * y.at[0]);
#pragma unroll
  for (int o = 1; o < 32; o *= 2) sum += __shfl_xor_sync(~0u, sum, o);
  return sum;
}

static __device__ __forceinline__ void add_times(float factor, const struct lane_columns &x,
                                                 struct lane_columns &sum) {
#pragma unroll
  for (int i = 0; i < 2; i++) sum.at[i] = fmaf(factor, x.at[i], sum.at[i]);
}

static __device__ __forceinline__ float cosine_weight(float beta, float c, float log_sum) {
  return exp2_of(fmaf(__fmul_rn(beta, c), LOG2_E, -scaled(log_sum)));
}

/* Row r, by a warp. */
template <class S>
static __device__ void row_again(const struct cosine_product &op, const struct window_piece &w, int r) {
  const int lane = (int)threadIdx.x % 32, columns = (int)partial_columns(op.width);
  const char *mine = message_of_row(op, window_of(op, w.place), r);
  const struct lane_columns x = columns_of_lane(mine, op.width),
                            dz = columns_of_lane(mine ? mine + op.dz : NULL, op.width);
  const float beta = __ldg(op.beta), inverse = real_of(mine, op.inverse);
  const float log_sum = real_of(mine, op.reals), delta = real_of(mine, op.reals + sizeof(float));
  struct lane_columns dx = {}, dn = {};
  float beta_grad = 0;
  each_arc(op, w, r, [&](int32_t segment, int u) {
    const char *other = at<char>(op.message, segment * TILE_COLS + u, 0);
    const struct lane_columns other_x = columns_of_lane(other, op.width);
    const float c = product_of(x, other_x) * inverse * real_of(other, op.inverse);
    float coefficient = 0;
    if (S::IN) {
      coefficient = cosine_weight(beta, c, log_sum) * (product_of(dz, other_x) - delta);
      beta_grad += coefficient * c;
    }
    if (S::OUT) {
      const struct lane_columns other_dz = columns_of_lane(other + op.dz, op.width);
      const float weight = cosine_weight(beta, c, real_of(other, op.reals));
      coefficient += weight * (product_of(x, other_dz) - real_of(other, op.reals + sizeof(float)));
      add_times(weight, other_dz, dx);
    }
    add_times(coefficient * beta * real_of(other, op.inverse), other_x, dn);
  });
  float *row = sums_of_row(op, w.place, r);
#pragma unroll
  for (int i = 0; i < 2; i++) {
    if (lane + 32 * i >= columns) continue;
    const bool there = lane + 32 * i < op.width;
    row[lane + 32 * i] = there ? dx.at[i] : 0;
    row[columns + lane + 32 * i] = there ? dn.at[i] : 0;
  }
  if (lane == 0) row[2 * columns] = beta_grad;
}

template <class S>
static __device__ __noinline__ void rows_again(const struct cosine_product &op,
                                               const cosine_backward_block<S> &block) {
  for (int r = (int)threadIdx.x / 32; r < TILE_ROWS; r += BLOCK / 32)
    if (block.again[r]) row_again<S>(op, op.piece[blockIdx.x], r);
}

#endif

#endif
