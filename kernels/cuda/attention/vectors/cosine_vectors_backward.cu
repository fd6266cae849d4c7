/* Gradients of attention by cosines on column vectors. Of two blocks tensor cores make the products
 * x_i . x_j, dz_i . x_j and x_i . dz_j of all rows i and vectors j. A thread makes of each of its cells the
 * coefficients of x_j and dz_j, rounded to bf16, and these multiply the same rows. What is the row's own,
 * beta and 1 / |x_i|, multiplies finished sums. */
#include "kernels/cuda/attention/vectors/cosine_vectors.cuh"

/* ARCS: COSINE_IN | COSINE_OUT. BLOCKS: on a multiprocessor. */
template <int ARCS_, int N_, int BLOCKS_> struct backward_shape {
  static constexpr bool IN = ARCS_ & COSINE_IN, OUT = ARCS_ & COSINE_OUT;
  static constexpr int N = N_, BLOCKS = BLOCKS_;
};

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

/* What a thread holds: row g of the window; numbers and sums of rows 2q and 2q + 1. */
template <class S> struct backward_rows {
  uint32_t x[S::N / 8], dz[S::N / 8];           /* dz of COSINE_IN */
  float factor[2];                              /* of x_i . x_j / |x_j|: makes the score, in units of log 2 */
  float log_sum[2], delta[2], beta[2];          /* log_sum in these units, too; beta: a sum */
  float sum_dx[S::N / 16][4], dn[S::N / 16][4]; /* sums, but for factors of the row */
};

/* The rows of a thread's two vectors, and their numbers. */
template <class S> struct backward_columns {
  uint32_t x[2][S::N / 8], dz[2][S::N / 8]; /* dz of COSINE_OUT, as */
  float inverse[2], log_sum[2], delta[2];   /* log_sum and delta */
};

template <class S>
static __device__ __forceinline__ void read_columns(const struct cosine_vectors &op,
                                                    const struct vector_pair &pair,
                                                    struct backward_columns<S> &to) {
#pragma unroll
  for (int i = 0; i < 2; i++) {
    const char *from = at<char>(op.message, pair.id[i], 0);
    read_words<S::N>(from, op.width, to.x[i]);
    to.inverse[i] = real_of(from, op.inverse);
    if constexpr (S::OUT) {
      const float2 reals = __ldg((const float2 *)(from + op.reals));
      read_words<S::N>(from + op.dz, op.width, to.dz[i]);
      to.log_sum[i] = scaled(reals.x);
      to.delta[i] = reals.y;
    }
  }
}

/* The coefficients of x_j and dz_j in the cell of the thread's vector i and row j, from its three products.
 */
template <class S>
static __device__ __forceinline__ float2 weigh_cell(const struct backward_columns<S> &columns, int i, int j,
                                                    bool entry, float whole, float in, float out,
                                                    struct backward_rows<S> &rows) {
  const float cosine = whole * columns.inverse[i]; /* times |x_i| */
  float gradient = 0, weight = 0;
  if constexpr (S::IN) {
    gradient = exp2_of(fmaf(cosine, rows.factor[j], -rows.log_sum[j])) * (in - rows.delta[j]);
    rows.beta[j] = fmaf(entry ? gradient : 0, cosine, rows.beta[j]);
  }
  if constexpr (S::OUT) {
    weight = exp2_of(fmaf(cosine, rows.factor[j], -columns.log_sum[i]));
    gradient = fmaf(weight, out - columns.delta[i], gradient);
  }
  return make_float2(gradient * columns.inverse[i], weight);
}

template <class S>
static __device__ __forceinline__ void add_pair(const struct cosine_vectors &op,
                                                const struct vector_pair &pair, struct backward_rows<S> &rows,
                                                const struct backward_columns<S> &columns) {
  float whole[4], in[4] = {}, out[4] = {};
  uint32_t of_x[2], of_dz[2];
  multiply_rows<S::N>(columns.x, rows.x, whole);
  if constexpr (S::IN) multiply_rows<S::N>(columns.x, rows.dz, in);
  if constexpr (S::OUT) multiply_rows<S::N>(columns.dz, rows.x, out);
#pragma unroll
  for (int i = 0; i < 2; i++) {
    float2 of[2];
#pragma unroll
    for (int j = 0; j < 2; j++)
      of[j] = weigh_cell(columns, i, j, pair.bits[i] >> 8 * j & 1, whole[2 * i + j], in[2 * i + j],
                         out[2 * i + j], rows);
    const uint32_t entries = mask_of_rows(pair.bits[i]);
    of_x[i] = rounded_pair(of[0].x, of[1].x) & entries;
    of_dz[i] = rounded_pair(of[0].y, of[1].y) & entries;
  }
  add_products<S::N>(columns.x, of_x, rows.dn);
  if constexpr (S::OUT) add_products<S::N>(columns.dz, of_dz, rows.sum_dx);
}

template <class S>
static __device__ __forceinline__ void open_rows(const struct cosine_vectors &op, int32_t window,
                                                 struct backward_rows<S> &rows) {
  const int lane = (int)threadIdx.x % 32;
  const char *own = message_of_row(op, window, lane / 4);
  read_words<S::N>(own, op.width, rows.x);
  if constexpr (S::IN) read_words<S::N>(own ? own + op.dz : NULL, op.width, rows.dz);
#pragma unroll
  for (int j = 0; j < 2; j++) {
    const char *mine = message_of_row(op, window, lane % 4 * 2 + j);
    rows.factor[j] = scaled(__ldg(op.beta)) * real_of(mine, op.inverse);
    rows.log_sum[j] = scaled(real_of(mine, op.reals));
    rows.delta[j] = real_of(mine, op.reals + sizeof(float));
    rows.beta[j] = 0;
  }
#pragma unroll
  for (int i = 0; i < S::N / 4; i++) rows.sum_dx[i / 4][i % 4] = rows.dn[i / 4][i % 4] = 0;
}

/* Whether all of them are finite. */
template <class S>
static __device__ __forceinline__ bool
write_rows(const struct cosine_vectors &op, const struct window_piece &w, const struct backward_rows<S> &rows,
           sums_of_window<S::N> &shared) {
  const int lane = (int)threadIdx.x % 32, columns = (int)partial_columns(op.width);
  bool finite = are_finite<S::N>(rows.sum_dx) && are_finite<S::N>(rows.dn);
  write_sums<S::N>(op, w.place, 0, 1, rows.sum_dx, shared);
  write_sums<S::N>(op, w.place, columns, __ldg(op.beta), rows.dn, shared);
#pragma unroll
  for (int j = 0; j < 2; j++) {
    const int r = lane % 4 * 2 + j;
    const float beta = sum_of_row(rows.beta[j]) * real_of(message_of_row(op, w.window, r), op.inverse);
    finite &= __all_sync(~0u, is_finite(beta));
    if (lane / 4 == 0) sums_of_row(op, w.place, r)[2 * columns] = beta;
  }
  return finite;
}

template <class S>
static __device__ __noinline__ void rows_again(const struct cosine_vectors &op,
                                               const struct window_piece &w) {
  for (int r = 0; r < VECTOR_ROWS; r++)
    backward_again<S::IN, S::OUT>(op, message_of_row(op, w.window, r), sums_of_row(op, w.place, r),
                                  [&](const auto &add) { each_arc(op, w, r, add); });
}

template <class S> static __device__ __forceinline__ void sum_piece(const struct cosine_vectors &op) {
  __shared__ __align__(16) sums_of_window<S::N> shared[WARPS];
  const int64_t i = (int64_t)blockIdx.x * WARPS + threadIdx.x / 32;
  if (i >= op.a.pieces) return;
  const struct window_piece w = op.a.piece[i];
  struct backward_rows<S> rows;
  struct vector_pair next = read_pair(op, w.first, w.end);
  open_rows(op, w.window, rows);
  for (int b = w.first; b < w.end; b += 2) {
    const struct vector_pair pair = next;
    struct backward_columns<S> columns;
    read_columns(op, pair, columns);
    next = read_pair(op, min(b + 2, w.end - 1), w.end);
    add_pair(op, pair, rows, columns);
  }
  const bool finite = write_rows(op, w, rows, shared[threadIdx.x / 32]);
  __syncwarp();
  if (!finite) rows_again<S>(op, w);
}

#endif

template <class S>
static __global__ void __launch_bounds__(WARPS * 32, S::BLOCKS)
    cosine_vectors_backward_kernel(const __grid_constant__ struct cosine_vectors op) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  sum_piece<S>(op);
#endif
}

template <class S> static int sum(struct kernels *k, const struct cosine_windows *op) {
  const struct cosine_vectors vectors = cosine_vectors_of(k, op);
  cosine_vectors_backward_kernel<S>
      <<<blocks_of(vectors.a.pieces, WARPS), WARPS * 32, 0, cuda_stream(k)>>>(vectors);
  TRY_LAUNCH();
  return OK;
}

template <int ARCS> static int run(struct kernels *k, const struct cosine_windows *op) {
  if (op->width <= 16) return sum<backward_shape<ARCS, 16, 6>>(k, op);
  return op->width <= 32 ? sum<backward_shape<ARCS, 32, 6>>(k, op) : sum<backward_shape<ARCS, 64, 4>>(k, op);
}

int cuda_cosine_vectors_backward(struct kernels *k, const struct cosine_windows *op) {
  if (!has_vectors(op)) return OK;
  TRY(check_cosine_windows(op));
  if (op->arcs == COSINE_IN) return run<COSINE_IN>(k, op);
  return op->arcs == COSINE_OUT ? run<COSINE_OUT>(k, op) : run<COSINE_IN | COSINE_OUT>(k, op);
}
