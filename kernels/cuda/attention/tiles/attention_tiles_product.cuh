/* What the kernels of attention in tiles are given, and what a block of theirs shares. */
#ifndef KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TILES_PRODUCT_CUH
#define KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TILES_PRODUCT_CUH

#include "kernels/cuda/attention/parts/partial_columns.cuh"
#include "kernels/cuda/attention/tiles/attention_terms_of_tiles.cuh"
#include "kernels/cuda/attention/tiles/tile_products.cuh"

struct attention_product : tile_arcs {
  const float *mine; /* [rows, mine_stride] */
  int64_t mine_stride;
  int32_t heads, each, width;
  int32_t x_cols; /* width, or `each`: the same columns for all heads */
  const bf16 *x;
  int64_t x_stride;
  struct column_terms columns;
  float factor;
};

/* Eight columns of numbers for 16 terms of the sum. */
constexpr uint32_t NUMBERS_BYTES = TERMS * SLOTS * 4;

/* A block has COLUMNS columns of the result, N of them a product of tensor cores: a chunk, of one head. */
template <bool FORWARD_, int N_> struct attention_tile {
  static constexpr bool FORWARD = FORWARD_;
  static constexpr int N = N_, COLUMNS = 64, CHUNKS = COLUMNS / N, STEPS = TILE_COLS / TERMS;
  static constexpr int COPIES = CHUNKS + 2; /* of a stage: boxes, terms, bits */
  /* Products may be under way from one tile to the next; of 64 columns ptxas would let none be then. */
  static constexpr bool CARRIES = N < 64;
  static constexpr int STAGES = 4, AHEAD = 2,
                       BLOCKS = 2; /* AHEAD: tiles that are fetched before their turn */
  static constexpr int WORDS = tile_terms<FORWARD>::WORDS;
  static constexpr uint32_t BOX_BYTES = TILE_COLS * N * 2, TERM_BYTES = WORDS * 4;
  /* Of a stage: boxes, then terms, then the tile's bits; forward ones behind what is copied. */
  static constexpr uint32_t TERMS_AT = CHUNKS * BOX_BYTES, BITS = TERMS_AT + CHUNKS * TERM_BYTES;
  static constexpr uint32_t FILL_BYTES = BITS + TILE_WORDS * 4, ONES = FILL_BYTES;
  static constexpr uint32_t USED_BYTES = FILL_BYTES + (FORWARD ? CHUNKS * NUMBERS_BYTES : 0);
  static constexpr uint32_t STAGE_BYTES = (USED_BYTES + TMA_ALIGNMENT - 1) / TMA_ALIGNMENT * TMA_ALIGNMENT;
  static_assert(AHEAD + 2 <= STAGES, "a stage is filled anew two tiles after its own");
  static_assert(CHUNKS <= SLOTS, "heads of a block have slots of their own");
};

/* A row whose weights add up to less, though it has arcs, was summed relative to too high a score. Above that
 * at most 8192 weights of less than 2^-126 were lost: 2^-33 of the sum. */
constexpr float LEAST_ALL = 0x1p-80f;

/* Backward weights are absolute, and softmax's: 1 at most. A row's factor above that would show what columns'
 * factors below 2^-126 have lost: weights of up to 2^-46. */
constexpr float MOST_FACTOR = 0x1p80f;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* A row for a head. */
struct tile_row {
  uint32_t term;            /* two halves */
  float positive, negative; /* its factors of both sides */
  float base;               /* forward: its score with the highest term of all columns */
};

template <class S> struct attention_block {
  ring<S> ring;
  bool in_line; /* the chunks' heads follow each other */
  struct {
    int32_t head, x_col; /* of its first column */
    bool there, first;   /* its columns are of the result; it is its head's first chunk */
    float share;         /* 1 / chunks of its head in the block */
  } chunk[S::CHUNKS];
  struct tile_row row[S::CHUNKS][TILE_ROWS];
  float all[S::CHUNKS][TILE_ROWS]; /* forward */
  uint32_t seen[TILE_WORDS];       /* bits of all tiles */
  bool again[TILE_ROWS];           /* rows that are summed again */
};

/* The term of row r of the window for that head; behind the last row 0. */
static __device__ __forceinline__ float row_term(const struct attention_product &op, int32_t window, int r,
                                                 int32_t head) {
  const int32_t row = row_of_window(op, window, r);
  return row < 0 ? 0 : __ldg(op.mine + row * op.mine_stride + head);
}

static __device__ __forceinline__ int32_t kept_columns(const struct attention_product &op) {
  return (int32_t)partial_columns(op.width);
}

/* Three numbers of a row and head behind its sums, as write_piece leaves them. */
static __device__ __forceinline__ void write_numbers(const struct attention_product &op, float *row,
                                                     int32_t head, float max, float all, float some) {
  float *to = row + 2 * kept_columns(op) + head;
  to[0] = max;
  to[op.heads] = all;
  to[2 * op.heads] = some;
}

#endif

#endif
