/* What the arcs of a row ask of it in the backward, and the gradient of its own term; see struct
 * attention_rows. Reads dz, y and its positive part once and writes the messages. */
#include "kernels/cuda/attention/attention_ops.h"
#include "kernels/cuda/attention/head_columns.cuh"

constexpr int ROWS_BLOCKS = 3; /* on a multiprocessor */
constexpr float SLOPE = 0.2f;

struct rows_op {
  struct attention_rows op;
  struct tensor dz, reals; /* of the messages */
  struct cut cut;
};

template <class T> struct message_step {
  static constexpr int ROWS = 1;
  struct input {
    packed<T> dz, y, positive;
    float row_term, log_sum, share;
  };
  const struct rows_op &of;
  int end, n, head;
  int64_t first;

  __device__ __forceinline__ struct input read(int v) const {
    const struct attention_rows &op = of.op;
    struct input in;
    in.dz = read_group<T, true>(op.dz, v < end, v, first, n);
    in.y = read_group<T, true>(op.y, v < end, v, first, n);
    in.positive = read_group<T, true>(op.positive, v < end, v, first, n);
    in.row_term = v < end ? *place_of<float>(op.row_term, v, head) : 0;
    in.log_sum = v < end ? *place_of<float>(op.log_sum, v, head) : 0;
    in.share = v < end ? *place_of<float>(op.share, v, head) : 0;
    return in;
  }

  __device__ __forceinline__ void work(const struct input &in, int v) const {
    const int64_t heads = of.op.heads, each = of.op.y.cols / heads;
    float dz[GROUP], y[GROUP], positive[GROUP];
    unpack(in.dz, dz);
    unpack(in.y, y);
    unpack(in.positive, positive);
    const float delta = sum_of_head(dot(dz, y, n), heads, each);
    const float part = sum_of_head(dot(dz, positive, n), heads, each);
    if (v >= end || n == 0) return;
    store_group<T, true>(of.dz, v, first, GROUP, dz); /* the gap is the message's own */
    if (first % each != 0) return;
    float *reals = place_of<float>(of.reals, v, head);
    reals[0] = in.row_term, reals[heads] = in.log_sum, reals[2 * heads] = delta;
    *place_of<float>(of.op.row_term_grad, v, head) = (1 - SLOPE) * (part - delta * in.share);
  }
};

template <class T>
static __global__ void __launch_bounds__(BLOCK, ROWS_BLOCKS)
    messages_kernel(const __grid_constant__ struct rows_op of) {
  const int begin = (int)(blockIdx.x * of.cut.rows), end = (int)min(begin + of.cut.rows, of.op.y.rows);
  const int64_t first = first_column(), each = of.op.y.cols / of.op.heads;
  struct message_step<T> step = {
    of, end, columns_from(of.op.y.cols, first), (int)min(first / each, of.op.heads - 1), first
  };
  walk(step, begin, end);
}

/* One thread a head of a row, of any width; dz of a mean is each head's, divided by their number. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    any_messages_kernel(const __grid_constant__ struct rows_op of) {
  const struct attention_rows &op = of.op;
  const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, heads = op.heads, v = i / heads, h = i % heads;
  const int64_t each = op.y.cols / heads;
  const bool averaged = op.dz.cols != op.y.cols;
  float delta = 0, part = 0;
  if (v >= op.y.rows) return;
  for (int64_t j = 0; j < each; j++) {
    const int64_t from = averaged ? j : h * each + j;
    const T element = *place_of<T>(op.dz, v, from);
    const float dz = (float)element / (averaged ? (float)heads : 1);
    delta += dz * (float)*place_of<T>(op.y, v, h * each + j);
    part += dz * (float)*place_of<T>(op.positive, v, h * each + j);
    if (!averaged || h == 0) *place_of<T>(of.dz, v, from) = element;
  }
  float *reals = place_of<float>(of.reals, v, h);
  reals[0] = *place_of<float>(op.row_term, v, h), reals[heads] = *place_of<float>(op.log_sum, v, h);
  reals[2 * heads] = delta;
  *place_of<float>(op.row_term_grad, v, h) = (1 - SLOPE) * (part - delta * *place_of<float>(op.share, v, h));
}

template <class T> static int launch(struct kernels *k, struct rows_op *of) {
  const struct attention_rows *op = &of->op;
  const int64_t width = op->y.cols;
  const bool whole = is_whole(op->dz) && is_whole(op->y) && is_whole(op->positive) && is_whole(of->dz);
  if (whole && op->dz.cols == width && heads_fit(width, op->heads)) {
    of->cut = cut_rows(op->y.rows, ROWS_BLOCKS);
    messages_kernel<T><<<grid_of(of->cut, width), block_of(width), 0, cuda_stream(k)>>>(*of);
  } else {
    any_messages_kernel<T><<<blocks_of(op->y.rows * op->heads, BLOCK), BLOCK, 0, cuda_stream(k)>>>(*of);
  }
  TRY_LAUNCH();
  return OK;
}

int cuda_attention_rows(struct kernels *k, const struct attention_rows *op) {
  struct rows_op of = {*op, tensor_columns(op->message, 0, op->dz.cols), {}, {}};
  of.reals = tensor_reals(k, op->message, message_elements(k, op->dz.cols), 3 * op->heads);
  if (op->y.rows == 0 || op->y.cols == 0) return OK;
  return op->y.dtype == BF16 ? launch<bf16>(k, &of) : launch<float>(k, &of);
}
