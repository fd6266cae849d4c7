/* One block's work on one piece of a window of attention's tiles, in the instructions of sm_90a.
 *
 * Two groups of four warps hold 64 rows each of two sums, over arcs on LeakyReLU's positive side and over the
 * others. Of each step of 16 columns and each chunk a thread makes its part of two A operands, [64, 16]: its
 * cells take their columns' factors (attention_terms_of_tiles.cuh) where they have an arc and are on that
 * side. What is none is masked away, never multiplied by 0. Two cells make a word, for
 *   a comparison of halves, which leaves a mask of the positive ones,
 *   a logic operation for each operand: factors, that mask, the mask of arcs,
 *   a permutation and a shift for the mask of arcs, which serves all chunks.
 * While tensor cores multiply a step, the next is made. The sums of the weights alone come from a product of
 * the same operands with eight columns, of ones or of deltas: what divides a row and what is divided have the
 * same roundings. A row's own factors multiply its finished sums. */
#ifndef KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TILES_WINDOW_CUH
#define KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TILES_WINDOW_CUH

#include "kernels/cuda/attention/tiles/attention_tiles_again.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* Likewise eight columns, 16 bytes a term of the sum, not swizzled: eight terms follow each other. address:
 * narrow_address. */
static __device__ __forceinline__ uint64_t numbers_matrix(uint32_t address) {
  constexpr uint32_t eight_terms = NUMBERS_BYTES / 2;
  uint64_t matrix;
  asm("mov.b64 %0, {%1, %2};"
      : "=l"(matrix)
      : "r"(address + ((eight_terms >> 4) - 1) * (1u << 16)), "n"(eight_terms >> 4));
  return matrix;
}

/* All ones in the half where x > y, of halves. */
static __device__ __forceinline__ uint32_t mask_of_greater(uint32_t x, uint32_t y) {
  uint32_t mask;
  asm("set.gt.u32.f16x2 %0, %1, %2;" : "=r"(mask) : "r"(x), "r"(y));
  return mask;
}

template <class S>
static __device__ __forceinline__ void fetch(const struct attention_product &op, const CUtensorMap *x,
                                             unsigned char *stages, attention_block<S> &block,
                                             const struct fetched_piece &piece, int t, int32_t &segment) {
  const auto copy = [&](int i, unsigned char *to, uint64_t *full, int32_t segment) {
    const uint32_t *terms = op.columns.terms + (int64_t)segment * op.heads * S::WORDS;
    if (i < S::CHUNKS)
      copy_box(to + i * S::BOX_BYTES, x, full, block.chunk[i].x_col, segment * TILE_COLS);
    else if (block.in_line)
      copy_line(to + S::TERMS_AT, terms + block.chunk[0].head * S::WORDS, S::CHUNKS * S::TERM_BYTES, full);
    else
      for (int c = 0; c < S::CHUNKS; c++)
        copy_line(to + S::TERMS_AT + c * S::TERM_BYTES, terms + block.chunk[c].head * S::WORDS, S::TERM_BYTES,
                  full);
  };
  fetch_tile<S>(op, stages, block.ring, piece, t, segment, copy);
}

/* A thread's two pairs of columns of a step, 8 apart. */
struct step_terms {
  uint4 factors;   /* of the positive and of the other side of one pair, then of the other */
  uint2 negatives; /* minus their terms */
};

/* Compilers would read those of several steps early, and have no registers left. */
static __device__ __forceinline__ struct step_terms read_step(const uint32_t *terms, int negatives, int k) {
  const int place = 4 * k + (int)threadIdx.x % 4;
  struct step_terms of;
  asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(of.factors.x), "=r"(of.factors.y), "=r"(of.factors.z), "=r"(of.factors.w)
               : "r"(shared_address(terms + 4 * place)));
  asm volatile("ld.volatile.shared.v2.u32 {%0, %1}, [%2];"
               : "=r"(of.negatives.x), "=r"(of.negatives.y)
               : "r"(shared_address(terms + negatives + 2 * place)));
  return of;
}

/* This thread's cells of a step: factors of the columns with an arc on each side. */
static __device__ __forceinline__ void weigh_step(const struct step_terms &of, const uint32_t (&mine)[2],
                                                  const uint32_t (&arcs)[4], uint32_t (&positive)[4],
                                                  uint32_t (&negative)[4]) {
#pragma unroll
  for (int i = 0; i < 4; i++) { /* 2 pair + row */
    const uint32_t side = mask_of_greater(mine[i % 2], i < 2 ? of.negatives.x : of.negatives.y);
    positive[i] = (i < 2 ? of.factors.x : of.factors.z) & arcs[i] & side;
    negative[i] = (i < 2 ? of.factors.y : of.factors.w) & arcs[i] & ~side;
  }
}

/* What a thread holds of its two rows, 8 apart: sums of both sides, and those of the numbers, all chunks'. */
template <class S> struct side_sums {
  float positive[S::CHUNKS][S::N / 2], negative[S::CHUNKS][S::N / 2];
  float numbers[2][4];
};

/* A thread's parts of A operands of two steps: tensor cores multiply one, the next is made. */
struct side_cells {
  uint32_t positive[2][4], negative[2][4];
};

/* One tile whose columns and terms lie at `from`; some of its products are still under way at the end.
 * mine: terms of the rows. release(): is called when those of the tile before are complete. */
template <class S, class RELEASE>
static __device__ __forceinline__ void
sum_tile(const unsigned char *from, attention_block<S> &block, const uint32_t (&mine)[S::CHUNKS][2],
         struct side_cells &cells, struct side_sums<S> &sums, const RELEASE &release) {
  typedef tile_terms<S::FORWARD> T;
  /* Alike in the warp, and known to be: products want it in registers of the warp. */
  const uint32_t boxes = __shfl_sync(~0u, narrow_address(shared_address(from)), 0);
  const uint32_t *terms = (const uint32_t *)(from + S::TERMS_AT);
  const uint32_t word = ((const uint32_t *)(from + S::BITS))[threadIdx.x];
  struct step_terms of = read_step(terms, T::NEGATIVES, 0);
  block.seen[threadIdx.x] |= word;
#pragma unroll
  for (int k = 0; k < S::STEPS; k++) {
    uint32_t arcs[4];
#pragma unroll
    for (int i = 0; i < 4; i++) arcs[i] = mask_of_arcs(word, 4 * k + i);
#pragma unroll
    for (int c = 0; c < S::CHUNKS; c++) {
      const int step = k * S::CHUNKS + c, next = step + 1;
      uint32_t(&a)[4] = cells.positive[step % 2], (&b)[4] = cells.negative[step % 2];
      weigh_step(of, mine[c], arcs, a, b);
      pin(a);
      pin(b);
      if (next < S::STEPS * S::CHUNKS)
        of = read_step(terms + next % S::CHUNKS * S::WORDS, T::NEGATIVES, next / S::CHUNKS);
      open_products();
      const uint64_t x = narrow_matrix<S::N>(boxes + (c * S::BOX_BYTES + k * TERMS * S::N * 2) / 16);
      const uint64_t numbers = numbers_matrix(
          boxes + (S::FORWARD ? S::ONES + c * NUMBERS_BYTES
                              : S::TERMS_AT + c * S::TERM_BYTES + T::DELTAS * 4 + k * NUMBERS_BYTES) /
                      16);
      multiply(sums.positive[c], a, x);
      multiply(sums.negative[c], b, x);
      multiply(sums.numbers[0], a, numbers);
      multiply(sums.numbers[1], b, numbers);
      close_products();
      wait_for_products<1>();
      pin(cells.positive[next % 2]);
      pin(cells.negative[next % 2]);
      if (step == 0) release();
    }
  }
}

template <class S>
static __device__ __forceinline__ void pin_sums(struct side_cells &cells, struct side_sums<S> &sums) {
#pragma unroll
  for (int i = 0; i < 2; i++) pin(cells.positive[i]), pin(cells.negative[i]);
#pragma unroll
  for (int c = 0; c < S::CHUNKS; c++) pin(sums.positive[c]), pin(sums.negative[c]);
  pin(sums.numbers[0]);
  pin(sums.numbers[1]);
}

/* A chunk's numbers of one of this thread's rows, of both sides: its slot's two columns are those of one of
 * the four lanes that share the row. Backward all chunks of a head have added to them. */
template <class S>
static __device__ __forceinline__ float2 numbers_of(const struct side_sums<S> &sums, int half, int c,
                                                    const attention_block<S> &block) {
  const int slot = S::FORWARD ? c : block.chunk[c].head % SLOTS;
  const int lane = ((int)threadIdx.x % 32 & ~3) + slot;
  const float share = S::FORWARD ? 1 : block.chunk[c].share;
  const float positive = sums.numbers[0][2 * half] + sums.numbers[0][2 * half + 1],
              negative = sums.numbers[1][2 * half] + sums.numbers[1][2 * half + 1];
  return make_float2(share * __shfl_sync(~0u, positive, lane), share * __shfl_sync(~0u, negative, lane));
}

/* This thread's accumulators of a chunk for one of its rows. Whether a sum is not finite. */
template <class S>
static __device__ __forceinline__ bool write_chunk(const struct attention_product &op, float *row, int c,
                                                   int half, const struct tile_row &of,
                                                   const struct side_sums<S> &sums) {
  const int32_t columns = kept_columns(op);
  const int32_t first = (int32_t)blockIdx.y * S::COLUMNS + c * S::N + 2 * ((int)threadIdx.x % 4);
  bool spoilt = false;
#pragma unroll
  for (int j = 0; j < S::N / 8; j++) {
    float all[2], some[2];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      some[i] = of.positive * sums.positive[c][4 * j + 2 * half + i];
      all[i] = some[i] + of.negative * sums.negative[c][4 * j + 2 * half + i];
      spoilt |= !is_finite(all[i]) || !is_finite(some[i]);
    }
    if (first + 8 * j >= columns) continue;
    *(float2 *)(row + first + 8 * j) = make_float2(op.factor * all[0], op.factor * all[1]);
    *(float2 *)(row + columns + first + 8 * j) = make_float2(op.factor * some[0], op.factor * some[1]);
  }
  return spoilt;
}

/* What this thread has of one of its rows. seen: bits of the row's arcs. Whether the row must be summed
 * again. */
template <class S>
static __device__ __forceinline__ bool write_row(const struct attention_product &op,
                                                 attention_block<S> &block, int r, int half, bool seen,
                                                 const struct side_sums<S> &sums) {
  float *row = sums_of_row(op, op.piece[blockIdx.x].place, r);
  bool again = false;
#pragma unroll
  for (int c = 0; c < S::CHUNKS; c++) {
    const auto &chunk = block.chunk[c];
    const struct tile_row of = block.row[c][r];
    const float2 numbers = numbers_of(sums, half, c, block);
    const float some = of.positive * numbers.x, all = some + of.negative * numbers.y;
    if (!chunk.there) continue;
    again |= write_chunk<S>(op, row, c, half, of, sums) || !is_finite(all) || !is_finite(some);
    if (S::FORWARD)
      again |= seen && !(all >= LEAST_ALL);
    else
      again |= seen && !(fmaxf(of.positive, of.negative) <= MOST_FACTOR);
    if (threadIdx.x % 4 != 0) continue;
    if (S::FORWARD) block.all[c][r] = all;
    if (chunk.first) write_numbers(op, row, chunk.head, S::FORWARD && all > 0 ? of.base : LOWEST, all, some);
  }
  again = __shfl_xor_sync(~0u, (int)again, 1) || again;
  again = __shfl_xor_sync(~0u, (int)again, 2) || again;
  if (threadIdx.x % 4 == 0) block.again[r] = again;
  return again;
}

/* A row's factors, from the highest ones of columns. */
template <class S> static __device__ __forceinline__ struct tile_row row_of_term(float term, float2 highest) {
  const float positive = term + highest.x, negative = SCORE_SLOPE * term + highest.y;
  const float base = S::FORWARD ? fmaxf(positive, negative) : 0, minus = -scaled(base);
  return {pair_of_halves(term, term), exp2_of(scaled(positive) + minus), exp2_of(scaled(negative) + minus),
          base};
}

/* Behind what is copied to each stage: for each chunk ones in the first column of its slot. */
template <class S> static __device__ __forceinline__ void write_ones(unsigned char *stages) {
  constexpr uint32_t ONE = 0x3F80; /* of bf16, in the lower half of a word */
  for (int i = (int)threadIdx.x; i < S::STAGES * S::CHUNKS * TERMS * SLOTS; i += BLOCK) {
    const int slot = i % SLOTS, c = i / SLOTS / TERMS % S::CHUNKS, stage = i / SLOTS / TERMS / S::CHUNKS;
    uint32_t *to = (uint32_t *)(stages + stage * S::STAGE_BYTES + S::ONES + c * NUMBERS_BYTES);
    to[i % (TERMS * SLOTS)] = slot == c ? ONE : 0;
  }
  show_to_products();
}

/* What is known of the chunks and of the rows; by a thread a chunk, then by a thread a row of each. */
template <class S>
static __device__ __forceinline__ void open_block(const struct attention_product &op, unsigned char *stages,
                                                  attention_block<S> &block) {
  const struct window_piece w = op.piece[blockIdx.x];
  const int32_t window = w.window;
  block.seen[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    open_ring<S>(block.ring);
    block.in_line = op.each == S::N && op.heads % S::CHUNKS == 0;
  }
  if (threadIdx.x < S::CHUNKS) {
    const int32_t block_col = (int32_t)blockIdx.y * S::COLUMNS, col = block_col + (int)threadIdx.x * S::N;
    const int32_t head = min(col / op.each, op.heads - 1);
    int like = 0;
    for (int c = 0; c < S::CHUNKS; c++) like += min((block_col + c * S::N) / op.each, op.heads - 1) == head;
    auto &chunk = block.chunk[threadIdx.x];
    chunk.head = head;
    chunk.x_col = col - (op.x_cols == op.width ? 0 : head * op.each);
    chunk.there = col < op.width;
    chunk.first = col == head * op.each;
    chunk.share = 1.f / (float)like;
  }
  if (S::FORWARD) write_ones<S>(stages);
  __syncthreads();
  for (int i = (int)threadIdx.x; i < S::CHUNKS * TILE_ROWS; i += BLOCK) {
    const int32_t head = block.chunk[i / TILE_ROWS].head;
    const uint2 highest = __ldg((const uint2 *)op.columns.highest + head);
    block.row[i / TILE_ROWS][i % TILE_ROWS] = row_of_term<S>(
        row_term(op, window, i % TILE_ROWS, head), make_float2(of_ordered(highest.x), of_ordered(highest.y)));
  }
  __syncthreads();
}

template <class S>
static __device__ __forceinline__ void attend_window(const CUtensorMap &map,
                                                     const struct attention_product &op) {
  extern __shared__ __align__(1024) unsigned char stages[];
  __shared__ attention_block<S> block;
  open_block<S>(op, stages, block);
  const int r = row_of_thread();
  struct side_sums<S> sums = {};
  struct side_cells cells = {};
  uint32_t mine[S::CHUNKS][2];
#pragma unroll
  for (int c = 0; c < S::CHUNKS; c++)
    mine[c][0] = block.row[c][r].term, mine[c][1] = block.row[c][r + 8].term;
  const struct fetched_piece piece = fetched_piece_of(op.piece[blockIdx.x]);
  int32_t segment = __ldg(op.segment + piece.first);
#pragma unroll 1
  for (int t = 0; t < S::AHEAD; t++) fetch<S>(op, &map, stages, block, piece, t, segment);
  pin_sums<S>(cells, sums);
#pragma unroll 1
  for (int t = 0; t < piece.tiles; t++) {
    const int slot = t % S::STAGES;
    fetch<S>(op, &map, stages, block, piece, t + S::AHEAD, segment);
    barrier_wait(&block.ring.full[slot], (uint32_t)(t / S::STAGES) & 1);
    sum_tile<S>(stages + slot * S::STAGE_BYTES, block, mine, cells, sums, [&] {
      if (t > 0 && threadIdx.x % 32 == 0) barrier_arrive(&block.ring.empty[(t - 1) % S::STAGES]);
    });
    if constexpr (!S::CARRIES) {
      wait_for_products<0>();
      pin_sums<S>(cells, sums);
    }
  }
  wait_for_products<0>();
  pin_sums<S>(cells, sums);
  uint32_t seen = block.seen[threadIdx.x];
  seen |= __shfl_xor_sync(~0u, seen, 1);
  seen |= __shfl_xor_sync(~0u, seen, 2);
  bool again = write_row<S>(op, block, r, 0, seen & 0x55555555u, sums);
  again |= write_row<S>(op, block, r + 8, 1, seen & 0xAAAAAAAAu, sums);
  if (__syncthreads_or(again)) rows_again<S>(op, block);
}

#endif

#endif
