/* One block's work on one piece of a window of attention's tiles, in the instructions of sm_90a.
 *
 * Two groups of four warps hold 64 rows each of both sums, over all arcs and over those on LeakyReLU's
 * positive side. Of each tile and chunk a thread makes its part of two A operands, [64, 16] a step: the
 * weights of its cells, rounded to bf16, and the same where the sign bit of the sum of terms is set. What is
 * no arc is selected away, never multiplied by 0. While tensor cores multiply a step, the next is made.
 *
 * The sums of the weights alone are of floats that are not rounded: log_sum, which every other part of the
 * row and the whole backward relies on, then keeps a float's accuracy, for the same work. Rounding of the
 * others is to nearest, and evens out over a row's arcs.
 *
 * Forward, weights are relative to the highest score that the row could have with any column of the piece:
 * scores grow with the column's term. */
#ifndef KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TILES_WINDOW_CUH
#define KERNELS_CUDA_ATTENTION_TILES_ATTENTION_TILES_WINDOW_CUH

#include "kernels/cuda/attention/tiles/attention_tiles_again.cuh"

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

/* sum [64, 16] += a (registers, [64, 16]) times x (shared memory, [16, 16]); likewise of 32 columns. */
static __device__ __forceinline__ void multiply(float (&sum)[8], const uint32_t (&a)[4], uint64_t x) {
  asm volatile("{ .reg .pred add; setp.ne.b32 add, 1, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {"
               "%0,%1,%2,%3,%4,%5,%6,%7},"
               "{%8,%9,%10,%11}, %12, add, 1, 1, 1; }"
               : LIST8(sum, 0)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(x));
}

static __device__ __forceinline__ void multiply(float (&sum)[16], const uint32_t (&a)[4], uint64_t x) {
  asm volatile("{ .reg .pred add; setp.ne.b32 add, 1, 0;\n"
               "wgmma.mma_async.sync.aligned.m64n32k16.f32.bf16.bf16 {"
               "%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,%12,%13,%14,%15},"
               "{%16,%17,%18,%19}, %20, add, 1, 1, 1; }"
               : LIST8(sum, 0), LIST8(sum, 8)
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(x));
}

static __device__ __forceinline__ void pin(uint32_t (&a)[4]) {
#pragma unroll
  for (int i = 0; i < 4; i++) asm volatile("" : "+r"(a[i])::"memory");
}

/* A matrix of wgmma's, terms of the sum in boxes of N columns: rows of 2 N bytes, chunks of 16 bytes swizzled
 * within 8 rows. Its address stands in units of 16 bytes in the lowest bits of the lower word. */
static __device__ __forceinline__ uint32_t narrow_address(uint32_t address) {
  return (address & 0x3FFFF) >> 4 | 1u << 16;
}

template <int N> static __device__ __forceinline__ uint64_t narrow_matrix(uint32_t address) {
  constexpr uint32_t swizzle = N == 64 ? 1 : N == 32 ? 2 : 3, eight_rows = 16 * N;
  uint64_t matrix;
  asm("mov.b64 %0, {%1, %2};" : "=l"(matrix) : "r"(address), "n"(eight_rows >> 4 | swizzle << 30));
  return matrix;
}

/* All ones in the half of each word whose float has its sign bit set: x in the lower one, y in the upper. */
static __device__ __forceinline__ uint32_t signs_of(float x, float y) {
  uint32_t signs;
  asm("prmt.b32 %0, %1, %2, 0xFFBB;" : "=r"(signs) : "r"(__float_as_uint(x)), "r"(__float_as_uint(y)));
  return signs;
}

/* x where `there` is not 0, else 0; in instructions, since compilers branch past what makes x, for each cell.
 */
static __device__ __forceinline__ float select(uint32_t there, float x) {
  float y;
  asm("{ .reg .pred there; setp.ne.u32 there, %1, 0;\n"
      "selp.f32 %0, %2, 0f00000000, there; }"
      : "=f"(y)
      : "r"(there), "f"(x));
  return y;
}

/* sum += w, or w x, where s < 0; likewise. */
static __device__ __forceinline__ void add_where_signed(float s, float w, float &sum) {
  asm("{ .reg .pred there; setp.lt.f32 there, %1, 0f00000000;\n"
      "@there add.f32 %0, %0, %2; }"
      : "+f"(sum)
      : "f"(s), "f"(w));
}

static __device__ __forceinline__ void add_where_signed(float s, float w, float x, float &sum) {
  asm("{ .reg .pred there; setp.lt.f32 there, %1, 0f00000000;\n"
      "@there fma.rn.f32 %0, %2, %3, %0; }"
      : "+f"(sum)
      : "f"(s), "f"(w), "f"(x));
}

static __device__ __forceinline__ void copy_line(void *to, const void *from, uint32_t bytes,
                                                 uint64_t *barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(from), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

/* Of the two rows of this thread in its window the first. */
static __device__ __forceinline__ int row_of_thread() {
  return (int)threadIdx.x / 32 * 16 + (int)threadIdx.x % 32 / 4;
}

/* Starts copies up to AHEAD tiles ahead, of which `left` are to be summed, waiting for stages to become
 * empty.
 */
template <class S>
static __device__ __forceinline__ void fetch_until(const struct attention_product &op, const CUtensorMap *x,
                                                   unsigned char *stages, attention_block<S> &block,
                                                   int left) {
  struct feeder &f = block.feeder; /* of one thread, whose registers all others would keep free, too */
  for (const int end = min(f.tiles - left + 1 + S::AHEAD, f.tiles); f.next < end;) {
    unsigned char *to = stages + f.slot * S::STAGE_BYTES;
    uint64_t *full = &block.ring.full[f.slot];
    if (f.next >= S::STAGES) barrier_wait(&block.ring.empty[f.slot], f.parity);
    barrier_expect(full, S::FILL_BYTES);
    copy_line(to + S::BITS, op.bits + (int64_t)(f.segment - op.segment + f.next) * TILE_WORDS, TILE_WORDS * 4,
              full);
#pragma unroll 1
    for (int c = 0; c < S::CHUNKS; c++) {
      const float *terms = op.terms + ((int64_t)f.row * op.heads + block.chunk[c].head) * S::FLOATS;
      copy_box(to + c * S::BOX_BYTES, x, full, block.chunk[c].x_col, f.row * TILE_COLS);
      copy_line(to + S::TERMS_AT + c * S::TERM_BYTES, terms, S::TERM_BYTES, full);
    }
    if (++f.next < f.tiles) f.row = __ldg(f.segment + f.next);
    if (++f.slot == S::STAGES) f.slot = 0, f.parity ^= 1;
  }
}

/* What a thread sums of its two rows, 8 apart, for one head. */
struct row_pair {
  float all[2], some[2];
};

/* A word of shared memory; compilers keep what they have made of its bits from chunk to chunk where they see
 * that it is the same, and have no registers left. */
static __device__ __forceinline__ uint32_t read_anew(const uint32_t *from) {
  uint32_t word;
  asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(word) : "r"(shared_address(from)));
  return word;
}

static __device__ __forceinline__ float2 read_anew(const float2 *from) {
  float2 x;
  asm volatile("ld.volatile.shared.v2.f32 {%0, %1}, [%2];"
               : "=f"(x.x), "=f"(x.y)
               : "r"(shared_address(from)));
  return x;
}

/* The weights of the cells of this thread in step k of a tile: of all arcs, and of the positive ones. */
template <class S>
static __device__ __forceinline__ void weigh_step(uint32_t word, const float *terms, int k,
                                                  const float2 (&mine)[2], struct row_pair &rows,
                                                  uint32_t (&all)[4], uint32_t (&positive)[4]) {
  const int quarter = (int)threadIdx.x % 4;
#pragma unroll
  for (int side = 0; side < 2; side++) {
    const int pair = k * 8 + side * 4 + quarter;
    const float2 term = read_anew((const float2 *)terms + pair);
    float2 minus_base = {}, delta = {};
    if (!S::FORWARD) {
      minus_base = read_anew((const float2 *)terms + TILE_COLS / 2 + pair);
      delta = read_anew((const float2 *)terms + TILE_COLS + pair);
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
      const int bit = 4 * k + 2 * side + half;
      const float s0 = mine[half].x + term.x, s1 = mine[half].x + term.y;
      const float e0 = log2_of_weight(s0, S::FORWARD ? mine[half].y : minus_base.x);
      const float e1 = log2_of_weight(s1, S::FORWARD ? mine[half].y : minus_base.y);
      const float w0 = select(word & 1u << bit, exp2_of(e0));
      const float w1 = select(word & 1u << (16 + bit), exp2_of(e1));
      const uint32_t both = rounded_pair(w0, w1);
      all[2 * side + half] = both;
      positive[2 * side + half] = both & signs_of(s0, s1);
      if constexpr (S::FORWARD) {
        rows.all[half] += w0;
        rows.all[half] += w1;
        add_where_signed(s0, w0, rows.some[half]);
        add_where_signed(s1, w1, rows.some[half]);
      } else {
        rows.all[half] = fmaf(w0, delta.x, rows.all[half]);
        rows.all[half] = fmaf(w1, delta.y, rows.all[half]);
        add_where_signed(s0, w0, delta.x, rows.some[half]);
        add_where_signed(s1, w1, delta.y, rows.some[half]);
      }
    }
  }
}

/* One tile whose columns and terms lie at `from`. */
template <class S>
static __device__ __forceinline__ void
sum_tile(const unsigned char *from, attention_block<S> &block, struct row_pair (&rows)[S::CHUNKS],
         float (&sum)[S::CHUNKS][S::N / 2], float (&positive)[S::CHUNKS][S::N / 2]) {
  const uint32_t boxes = narrow_address(shared_address(from));
  const float *terms = (const float *)(from + S::TERMS_AT);
  const int r = row_of_thread();
  uint32_t a[2][4] = {}, b[2][4] = {};
  block.seen[threadIdx.x] |= ((const uint32_t *)(from + S::BITS))[threadIdx.x];
#pragma unroll
  for (int c = 0; c < S::CHUNKS; c++) {
    const float2 mine[2] = {block.row[c][r], block.row[c][r + 8]};
    const uint32_t word = read_anew((const uint32_t *)(from + S::BITS) + threadIdx.x);
#pragma unroll
    for (int k = 0; k < S::STEPS; k++) {
      const int turn = k % 2;
      weigh_step<S>(word, terms + c * S::FLOATS, k, mine, rows[c], a[turn], b[turn]);
      pin(a[turn]);
      pin(b[turn]);
      asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
      const uint64_t x = narrow_matrix<S::N>(boxes + (c * S::BOX_BYTES + k * TERMS * S::N * 2) / 16);
      multiply(sum[c], a[turn], x);
      multiply(positive[c], b[turn], x);
      asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
      asm volatile("wgmma.wait_group.sync.aligned 1;" ::: "memory");
      pin(a[1 - turn]);
      pin(b[1 - turn]);
    }
  }
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
#pragma unroll
  for (int c = 0; c < S::CHUNKS; c++) pin(sum[c]), pin(positive[c]);
}

/* Over the four lanes that share a row. */
static __device__ __forceinline__ float sum_of_quad(float x) {
  x += __shfl_xor_sync(~0u, x, 1);
  return x + __shfl_xor_sync(~0u, x, 2);
}

/* This thread's accumulators of a chunk for one of its rows. Whether one of them is not finite. */
template <class S>
static __device__ __forceinline__ bool write_chunk(const struct attention_product &op, float *row, int c,
                                                   int half, const float (&sum)[S::N / 2],
                                                   const float (&positive)[S::N / 2]) {
  const int32_t columns = kept_columns(op);
  const int32_t first = (int32_t)blockIdx.y * S::COLUMNS + c * S::N + 2 * ((int)threadIdx.x % 4);
  bool spoilt = false;
#pragma unroll
  for (int j = 0; j < S::N / 8; j++) {
    const int i = 4 * j + 2 * half;
    spoilt |= !is_finite(sum[i]) || !is_finite(sum[i + 1]);
    if (first + 8 * j >= columns) continue;
    *(float2 *)(row + first + 8 * j) = make_float2(op.factor * sum[i], op.factor * sum[i + 1]);
    *(float2 *)(row + columns + first + 8 * j) = make_float2(op.factor * positive[i],
                                                             op.factor * positive[i + 1]);
  }
  return spoilt;
}

/* What this thread has of one of its rows. seen: bits of the row's arcs. Whether the row must be summed
 * again. */
template <class S>
static __device__ __forceinline__ bool
write_row(const struct attention_product &op, attention_block<S> &block, int r, int half, bool seen,
          const struct row_pair (&rows)[S::CHUNKS], const float (&sum)[S::CHUNKS][S::N / 2],
          const float (&positive)[S::CHUNKS][S::N / 2]) {
  float *row = sums_of_row(op, op.piece[blockIdx.x].place, r);
  bool again = false;
#pragma unroll
  for (int c = 0; c < S::CHUNKS; c++) {
    const auto &chunk = block.chunk[c];
    const float all = sum_of_quad(rows[c].all[half]), some = sum_of_quad(rows[c].some[half]);
    if (!chunk.there) continue;
    again |= write_chunk<S>(op, row, c, half, sum[c], positive[c]) || !is_finite(all) || !is_finite(some);
    if (S::FORWARD) again |= seen && !(all >= LEAST_ALL);
    if (threadIdx.x % 4 != 0) continue;
    if (S::FORWARD) block.all[c][r] = all;
    if (!chunk.first) continue;
    const float max = S::FORWARD && all > 0 ? score_of_terms(block.row[c][r].x, chunk.lowest) : NO_ARC;
    write_numbers(op, row, chunk.head, max, all, some);
  }
  again = __shfl_xor_sync(~0u, (int)again, 1) || again;
  again = __shfl_xor_sync(~0u, (int)again, 2) || again;
  if (threadIdx.x % 4 == 0) block.again[r] = again;
  return again;
}

/* What is known of the chunks and of the rows; by a warp a chunk, then by a thread a row of each. */
template <class S>
static __device__ __forceinline__ void open_block(const struct attention_product &op,
                                                  attention_block<S> &block) {
  const struct window_piece w = op.piece[blockIdx.x];
  const int lane = (int)threadIdx.x % 32, c = (int)threadIdx.x / 32;
  const int32_t window = window_of(op, w.place);
  block.seen[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    open_ring<S>(block.ring);
    block.feeder = {op.segment + w.first, w.end - w.first, 0, __ldg(op.segment + w.first), 0, 1};
  }
  __syncwarp();
  if (c < S::CHUNKS) {
    const int32_t col = (int32_t)blockIdx.y * S::COLUMNS + c * S::N;
    const int32_t head = min(col / op.each, op.heads - 1);
    float lowest = FLT_MAX;
    for (int t = w.first + lane; S::FORWARD && t < w.end; t += 32)
      lowest = fminf(lowest, __ldg(op.lowest + (int64_t)__ldg(op.segment + t) * op.heads + head));
#pragma unroll
    for (int o = 1; o < 32; o *= 2) lowest = fminf(lowest, __shfl_xor_sync(~0u, lowest, o));
    if (lane == 0)
      block.chunk[c] = {head, col - (op.x_cols == op.width ? 0 : head * op.each), col < op.width,
                        col == head * op.each, lowest};
  }
  __syncthreads();
  for (int i = (int)threadIdx.x; i < S::CHUNKS * TILE_ROWS; i += BLOCK) {
    const auto &chunk = block.chunk[i / TILE_ROWS];
    const float term = row_term(op, window, i % TILE_ROWS, chunk.head);
    block.row[i / TILE_ROWS][i % TILE_ROWS] = {term, -in_log2(score_of_terms(term, chunk.lowest))};
  }
  __syncthreads();
}

template <class S>
static __device__ __forceinline__ void attend_window(const CUtensorMap &map,
                                                     const struct attention_product &op) {
  extern __shared__ __align__(1024) unsigned char stages[];
  __shared__ attention_block<S> block;
  open_block<S>(op, block);
  int left = __shfl_sync(~0u, block.feeder.tiles, 0); /* alike in the warp, and known to be */
  struct row_pair rows[S::CHUNKS] = {};
  float sum[S::CHUNKS][S::N / 2] = {}, positive[S::CHUNKS][S::N / 2] = {};
  uint32_t parity = 0;
  int slot = 0;
#pragma unroll 1
  for (; left > 0; left--) {
    if (threadIdx.x == 0) fetch_until<S>(op, &map, stages, block, left);
    __syncwarp();
    barrier_wait(&block.ring.full[slot], parity);
    sum_tile<S>(stages + slot * S::STAGE_BYTES, block, rows, sum, positive);
    if (threadIdx.x % 32 == 0) barrier_arrive(&block.ring.empty[slot]);
    if (++slot == S::STAGES) slot = 0, parity ^= 1;
  }
  const int r = row_of_thread();
  uint32_t seen = block.seen[threadIdx.x];
  seen |= __shfl_xor_sync(~0u, seen, 1);
  seen |= __shfl_xor_sync(~0u, seen, 2);
  bool again = write_row<S>(op, block, r, 0, seen & 0x55555555u, rows, sum, positive);
  again |= write_row<S>(op, block, r + 8, 1, seen & 0xAAAAAAAAu, rows, sum, positive);
  if (__syncthreads_or(again)) rows_again<S>(op, block);
}

#endif

#endif
