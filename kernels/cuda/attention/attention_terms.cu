/* left_v = l . x_v and right_v = r . x_v, head by head, and the gradients of l and r; see struct
 * attention_terms. Forward reads X once, which is what there is to do; backward likewise. */
#include "kernels/cuda/attention/attention_ops.h"
#include "kernels/cuda/attention/head_columns.cuh"
#include "kernels/cuda/common/partials.cuh"

constexpr int TERMS_BLOCKS = 3, SUMS_BLOCKS = 2; /* on a multiprocessor */

struct terms {
  struct attention_terms op;
  struct cut cut;
};

template <class T> struct terms_step {
  static constexpr int ROWS = 8 / (int)sizeof(T);
  struct input {
    packed<T> x[ROWS];
  };
  const struct attention_terms &op;
  int end, n;
  int64_t first;
  float l[GROUP], r[GROUP];

  __device__ __forceinline__ struct input read(int v) const {
    struct input in;
#pragma unroll
    for (int i = 0; i < ROWS; i++)
      in.x[i] = read_group<T, true>(op.x, v + i * (int)blockDim.y < end, v + i * (int)blockDim.y, first, n);
    return in;
  }

  __device__ __forceinline__ void work(const struct input &in, int v) const {
    const int64_t heads = op.l.rows, each = op.l.cols;
#pragma unroll
    for (int i = 0; i < ROWS; i++, v += blockDim.y) {
      float x[GROUP];
      unpack(in.x[i], x);
      const float left = sum_of_head(dot(x, l, n), heads, each),
                  right = sum_of_head(dot(x, r, n), heads, each);
      if (v >= end || n == 0 || first % each != 0) continue;
      *place_of<float>(op.left, v, first / each) = left;
      *place_of<float>(op.right, v, first / each) = right;
    }
  }
};

template <class T>
static __global__ void __launch_bounds__(BLOCK, TERMS_BLOCKS)
    terms_kernel(const __grid_constant__ struct terms of) {
  const struct attention_terms &op = of.op;
  const int begin = (int)(blockIdx.x * of.cut.rows), end = (int)min(begin + of.cut.rows, op.x.rows);
  const int64_t first = first_column(), head = min(first / op.l.cols, op.l.rows - 1),
                within = first - head * op.l.cols;
  struct terms_step<T> step = {
    op, end, columns_from(op.x.cols, first), first, {}, {}
  };
  if (step.n > 0) {
    load(place_of<float>(op.l, head, within), step.n, false, step.l);
    load(place_of<float>(op.r, head, within), step.n, false, step.r);
  }
  walk(step, begin, end);
}

/* One thread a head of a row, of any width. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    any_terms_kernel(const __grid_constant__ struct attention_terms op) {
  const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, v = i / op.l.rows, h = i % op.l.rows;
  float left = 0, right = 0;
  if (v >= op.x.rows) return;
  for (int64_t j = 0; j < op.l.cols; j++) {
    const float x = (float)*place_of<T>(op.x, v, h * op.l.cols + j);
    left += x * *place_of<float>(op.l, h, j);
    right += x * *place_of<float>(op.r, h, j);
  }
  *place_of<float>(op.left, v, h) = left;
  *place_of<float>(op.right, v, h) = right;
}

template <class T> static int launch(struct kernels *k, const struct attention_terms *op) {
  const int64_t cols = op->x.cols, heads = op->l.rows;
  if (is_whole(op->x) && heads_fit(cols, heads)) {
    const struct terms of = {*op, cut_rows(op->x.rows, TERMS_BLOCKS)};
    terms_kernel<T><<<grid_of(of.cut, cols), block_of(cols), 0, cuda_stream(k)>>>(of);
  } else {
    any_terms_kernel<T><<<blocks_of(op->x.rows * heads, BLOCK), BLOCK, 0, cuda_stream(k)>>>(*op);
  }
  TRY_LAUNCH();
  return OK;
}

int cuda_attention_terms(struct kernels *k, const struct attention_terms *op) {
  if (op->x.rows == 0 || op->x.cols == 0) return OK;
  return op->x.dtype == BF16 ? launch<bf16>(k, op) : launch<float>(k, op);
}

struct terms_backward {
  struct attention_terms_backward op;
  struct cut cut;
  double *partial; /* [2, parts, cols] */
};

/* ONE: a thread's columns are of one head. */
template <class T, bool WHOLE, bool ONE> struct terms_backward_step {
  static constexpr int ROWS = 1, HEADS = ONE ? 1 : GROUP;
  struct input {
    packed<T> x;
    float left[HEADS], right[HEADS];
  };
  const struct attention_terms_backward &op;
  int end, n;
  int64_t first;
  int32_t head[HEADS];
  struct column_totals<2> totals;

  __device__ __forceinline__ struct input read(int v) const {
    struct input in;
    in.x = read_group<T, WHOLE>(op.x, v < end, v, first, n);
#pragma unroll
    for (int h = 0; h < HEADS; h++) {
      in.left[h] = v < end ? *place_of<float>(op.left_grad, v, head[h]) : 0;
      in.right[h] = v < end ? *place_of<float>(op.right_grad, v, head[h]) : 0;
    }
    return in;
  }

  __device__ __forceinline__ void work(const struct input &in, int) {
    float x[GROUP];
    unpack(in.x, x);
#pragma unroll
    for (int j = 0; j < GROUP; j++) {
      totals.sum[0][j] += in.left[ONE ? 0 : j] * x[j];
      totals.sum[1][j] += in.right[ONE ? 0 : j] * x[j];
    }
    count_rows(totals, ROWS);
  }
};

template <class T, bool WHOLE, bool ONE>
static __global__ void __launch_bounds__(BLOCK, SUMS_BLOCKS)
    terms_backward_kernel(const __grid_constant__ struct terms_backward of) {
  typedef terms_backward_step<T, WHOLE, ONE> step_of;
  __shared__ double shared[2 * GROUP * BLOCK];
  const struct attention_terms_backward &op = of.op;
  const int64_t cols = op.x.cols, first = first_column();
  const int begin = (int)(blockIdx.x * of.cut.rows), end = (int)min(begin + of.cut.rows, op.x.rows);
  step_of step = {op, end, columns_from(cols, first), first, {}, {}};
#pragma unroll
  for (int h = 0; h < step_of::HEADS; h++)
    step.head[h] = (int32_t)(min(first + h, cols - 1) / op.l_grad.cols);
  clear_totals(step.totals, shared);
  walk(step, begin, end);
  flush_totals(step.totals);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 2; i++)
    reduce_totals(step.totals, i, cols, of.partial + (i * of.cut.parts + blockIdx.x) * cols);
}

template <class T> static int launch(struct kernels *k, const struct terms_backward *of) {
  const struct attention_terms_backward *op = &of->op;
  const bool one = op->l_grad.rows == 1 || op->l_grad.cols % GROUP == 0;
  auto *kernel = is_whole(op->x)
                     ? (one ? terms_backward_kernel<T, true, true> : terms_backward_kernel<T, true, false>)
                     : (one ? terms_backward_kernel<T, false, true> : terms_backward_kernel<T, false, false>);
  kernel<<<grid_of(of->cut, op->x.cols), block_of(op->x.cols), 0, cuda_stream(k)>>>(*of);
  TRY_LAUNCH();
  return OK;
}

int cuda_attention_terms_backward(struct kernels *k, const struct attention_terms_backward *op) {
  struct terms_backward of = {*op, cut_rows(op->x.rows, SUMS_BLOCKS), NULL};
  const int64_t parts = of.cut.parts, cols = op->x.cols;
  TRY(kernels_workspace(k, 2 * parts * cols * (int64_t)sizeof *of.partial, (void **)&of.partial));
  if (parts > 0 && cols > 0) TRY(op->x.dtype == BF16 ? launch<bf16>(k, &of) : launch<float>(k, &of));
  TRY(cuda_add_partials_to(k, of.partial, parts, op->l_grad));
  return cuda_add_partials_to(k, of.partial + parts * cols, parts, op->r_grad);
}
