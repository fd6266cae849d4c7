/* Forward attention by cosines on column vectors: the exponentials of a block's scores, rounded to bf16,
 * multiply the rows that made them. A cosine is 1 at most: all weights are relative to exp(|beta|), a number
 * that is known before, so that nothing is scaled on the way. Cells without an entry are masked away. */
#include "kernels/cuda/attention/vectors/cosine_vectors.cuh"

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/* What a thread holds: row g of the window; of rows 2q and 2q + 1 the factor of scores, and sums. */
template <int N> struct vector_sums {
  uint32_t row[N / 8];
  float factor[2], base; /* in units of log 2 */
  float y[N / 16][4], total[2];
};

/* The thread's cells as pairs of two rows: the weights of entries, from products of vectors and rows. */
template <int N>
static __device__ __forceinline__ void weigh(const float (&product)[4], const float (&inverse)[2],
                                             const struct vector_pair &pair, struct vector_sums<N> &g,
                                             uint32_t (&cells)[2]) {
#pragma unroll
  for (int i = 0; i < 2; i++) {
    float weight[2];
#pragma unroll
    for (int j = 0; j < 2; j++)
      weight[j] = exp2_of(fmaf(product[2 * i + j] * inverse[i], g.factor[j], -g.base));
    cells[i] = rounded_pair(weight[0], weight[1]) & mask_of_rows(pair.bits[i]);
    g.total[0] += low_half(cells[i]);
    g.total[1] += high_half(cells[i]);
  }
}

template <int N>
static __device__ __forceinline__ void sum_vectors(const struct cosine_vectors &op,
                                                   const struct window_piece &w, struct vector_sums<N> &g) {
  struct vector_pair next = read_pair(op, w.first, w.end);
  for (int b = w.first; b < w.end; b += 2) {
    const struct vector_pair pair = next;
    uint32_t x[2][N / 8], cells[2];
    float inverse[2], product[4];
#pragma unroll
    for (int i = 0; i < 2; i++) {
      const char *from = at<char>(op.message, pair.id[i], 0);
      read_words<N>(from, op.width, x[i]);
      inverse[i] = real_of(from, op.inverse);
    }
    next = read_pair(op, min(b + 2, w.end - 1), w.end);
    multiply_rows<N>(x, g.row, product);
    weigh(product, inverse, pair, g, cells);
    add_products<N>(x, cells, g.y);
  }
}

template <int N>
static __device__ __forceinline__ void open_sums(const struct cosine_vectors &op, int32_t window, float beta,
                                                 struct vector_sums<N> &g) {
  const int lane = (int)threadIdx.x % 32;
  read_words<N>(message_of_row(op, window, lane / 4), op.width, g.row);
#pragma unroll
  for (int j = 0; j < 2; j++) {
    const char *mine = message_of_row(op, window, lane % 4 * 2 + j);
    g.factor[j] = scaled(beta) * real_of(mine, op.inverse);
    g.total[j] = 0;
  }
#pragma unroll
  for (int i = 0; i < N / 4; i++) g.y[i / 4][i % 4] = 0;
  g.base = scaled(fabsf(beta));
}

/* Whether all of them are finite. */
template <int N>
static __device__ __forceinline__ bool write_rows(const struct cosine_vectors &op, int32_t place, float beta,
                                                  struct vector_sums<N> &g, sums_of_window<N> &shared) {
  const int lane = (int)threadIdx.x % 32;
  bool finite = are_finite<N>(g.y);
  write_sums<N>(op, place, 0, 1, g.y, shared);
#pragma unroll
  for (int j = 0; j < 2; j++) {
    const float total = sum_of_row(g.total[j]);
    float *row = sums_of_row(op, place, lane % 4 * 2 + j);
    finite &= __all_sync(~0u, is_finite(total));
    if (lane / 4 == 0) write_numbers(op, row, total > 0 ? fabsf(beta) : LOWEST, total);
  }
  return finite;
}

static __device__ __noinline__ void rows_again(const struct cosine_vectors &op,
                                               const struct window_piece &w) {
  for (int r = 0; r < VECTOR_ROWS; r++)
    forward_again(op, message_of_row(op, w.window, r), sums_of_row(op, w.place, r),
                  [&](const auto &add) { each_arc(op, w, r, add); });
}

template <int N> static __device__ __forceinline__ void attend_piece(const struct cosine_vectors &op) {
  __shared__ __align__(16) sums_of_window<N> shared[WARPS];
  const int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  if (i >= op.a.pieces) return;
  const struct window_piece w = op.a.piece[i];
  const float beta = __ldg(op.beta);
  bool finite = false;
  if (fabsf(beta) <= MOST_BETA) { /* of all threads alike */
    struct vector_sums<N> g;
    open_sums(op, w.window, beta, g);
    sum_vectors(op, w, g);
    finite = write_rows(op, w.place, beta, g, shared[threadIdx.x / 32]);
    __syncwarp();
  }
  if (!finite) rows_again(op, w);
}

#endif

/* BLOCKS: on a multiprocessor. */
template <int N, int BLOCKS>
static __global__ void __launch_bounds__(WARPS * 32, BLOCKS)
    cosine_vectors_kernel(const __grid_constant__ struct cosine_vectors op) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  attend_piece<N>(op);
#endif
}

template <int N, int BLOCKS> static int sum(struct kernels *k, const struct cosine_windows *op) {
  const struct cosine_vectors vectors = cosine_vectors_of(k, op);
  cosine_vectors_kernel<N, BLOCKS>
      <<<blocks_of(vectors.a.pieces, WARPS), WARPS * 32, 0, cuda_stream(k)>>>(vectors);
  TRY_LAUNCH();
  return OK;
}

int cuda_cosine_vectors(struct kernels *k, const struct cosine_windows *op) {
  if (!has_vectors(op)) return OK;
  TRY(check_cosine_windows(op));
  if (op->width <= 16) return sum<16, 8>(k, op);
  return op->width <= 32 ? sum<32, 8>(k, op) : sum<64, 6>(k, op);
}
