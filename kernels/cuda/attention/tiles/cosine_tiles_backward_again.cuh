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
  static constexpr int COPIES = OUT ? 5 : 3;  /* of a stage */
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
  bool again[TILE_ROWS]; /* rows that are summed again */
};

/* By a warp. */
template <class S>
static __device__ void row_again(const struct cosine_product &op, const struct window_piece &w, int r) {
  backward_again<S::IN, S::OUT>(
      op, message_of_row(op, w.window, r), sums_of_row(op, w.place, r), [&](const auto &add) {
        each_arc(op, w, r, [&](int32_t segment, int u) { add(segment * TILE_COLS + u); });
      });
}

template <class S>
static __device__ __noinline__ void rows_again(const struct cosine_product &op,
                                               const cosine_backward_block<S> &block) {
  for (int r = (int)threadIdx.x / 32; r < TILE_ROWS; r += BLOCK / 32)
    if (block.again[r]) row_again<S>(op, op.piece[blockIdx.x], r);
}

#endif

#endif
