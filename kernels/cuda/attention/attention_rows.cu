/* What the arcs of a row ask of it in the backward, and the gradient of its own term; see struct
 * attention_rows, and struct dynamic_rows for dynamic scores. Reads the matrices of the rows once and writes
 * the messages. */
#include "kernels/cuda/attention/attention_ops.h"
#include "kernels/cuda/attention/head_columns.cuh"

constexpr int ROWS_BLOCKS = 3; /* on a multiprocessor */
constexpr float SLOPE = 0.2f;

/* other: positive; of dynamic scores right, which goes into the message. */
struct rows_op {
  int64_t heads;
  struct tensor dz, y, other, log_sum;
  struct tensor row_term, share, row_term_grad;                     /* of terms */
  struct tensor to_dz, to_right, to_row_term, to_log_sum, to_delta; /* of the messages */
  struct cut cut;
};

template <class T, bool DYNAMIC> struct message_step {
  static constexpr int ROWS = 1;
  struct input {
    packed<T> dz, y, other;
    float row_term, log_sum, share;
  };
  const struct rows_op &op;
  int end, n, head;
  int64_t first;

  __device__ __forceinline__ struct input read(int v) const {
    struct input in;
    in.dz = read_group<T, true>(op.dz, v < end, v, first, n);
    in.y = read_group<T, true>(op.y, v < end, v, first, n);
    in.other = read_group<T, true>(op.other, v < end, v, first, n);
    in.row_term = !DYNAMIC && v < end ? *place_of<float>(op.row_term, v, head) : 0;
    in.log_sum = v < end ? *place_of<float>(op.log_sum, v, head) : 0;
    in.share = !DYNAMIC && v < end ? *place_of<float>(op.share, v, head) : 0;
    return in;
  }

  __device__ __forceinline__ void work(const struct input &in, int v) const {
    const int64_t heads = op.heads, each = op.y.cols / heads;
    float dz[GROUP], y[GROUP], other[GROUP];
    unpack(in.dz, dz);
    unpack(in.y, y);
    unpack(in.other, other);
    const float delta = sum_of_head(dot(dz, y, n), heads, each);
    const float part = DYNAMIC ? 0 : sum_of_head(dot(dz, other, n), heads, each);
    if (v >= end || n == 0) return;
    store_group<T, true>(op.to_dz, v, first, GROUP, dz); /* the gaps are the message's own */
    if (DYNAMIC) store_group<T, true>(op.to_right, v, first, GROUP, other);
    if (first % each != 0) return;
    *place_of<float>(op.to_log_sum, v, head) = in.log_sum;
    *place_of<float>(op.to_delta, v, head) = delta;
    if (DYNAMIC) return;
    *place_of<float>(op.to_row_term, v, head) = in.row_term;
    *place_of<float>(op.row_term_grad, v, head) = (1 - SLOPE) * (part - delta * in.share);
  }
};

template <class T, bool DYNAMIC>
static __global__ void __launch_bounds__(BLOCK, ROWS_BLOCKS)
    messages_kernel(const __grid_constant__ struct rows_op op) {
  const int begin = (int)(blockIdx.x * op.cut.rows), end = (int)min(begin + op.cut.rows, op.y.rows);
  const int64_t first = first_column(), each = op.y.cols / op.heads;
  struct message_step<T, DYNAMIC> step = {
    op, end, columns_from(op.y.cols, first), (int)min(first / each, op.heads - 1), first
  };
  walk(step, begin, end);
}

/* One thread a head of a row, of any width; dz of a mean is each head's, divided by their number. */
template <class T, bool DYNAMIC>
static __global__ void __launch_bounds__(BLOCK)
    any_messages_kernel(const __grid_constant__ struct rows_op op) {
  const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x, heads = op.heads, v = i / heads, h = i % heads;
  const int64_t each = op.y.cols / heads;
  const bool averaged = op.dz.cols != op.y.cols;
  float delta = 0, part = 0;
  if (v >= op.y.rows) return;
  for (int64_t j = 0; j < each; j++) {
    const int64_t from = averaged ? j : h * each + j;
    const T element = *place_of<T>(op.dz, v, from), other = *place_of<T>(op.other, v, h * each + j);
    const float dz = (float)element / (averaged ? (float)heads : 1);
    delta += dz * (float)*place_of<T>(op.y, v, h * each + j);
    part += dz * (float)other;
    if (!averaged || h == 0) *place_of<T>(op.to_dz, v, from) = element;
    if (DYNAMIC) *place_of<T>(op.to_right, v, h * each + j) = other;
  }
  *place_of<float>(op.to_log_sum, v, h) = *place_of<float>(op.log_sum, v, h);
  *place_of<float>(op.to_delta, v, h) = delta;
  if (DYNAMIC) return;
  *place_of<float>(op.to_row_term, v, h) = *place_of<float>(op.row_term, v, h);
  *place_of<float>(op.row_term_grad, v, h) = (1 - SLOPE) * (part - delta * *place_of<float>(op.share, v, h));
}

template <class T, bool DYNAMIC> static int launch(struct kernels *k, struct rows_op *op) {
  const int64_t width = op->y.cols;
  const bool whole = is_whole(op->dz) && is_whole(op->y) && is_whole(op->other) && is_whole(op->to_dz) &&
                     is_whole_or_absent(op->to_right);
  if (whole && op->dz.cols == width && heads_fit(width, op->heads)) {
    op->cut = cut_rows(op->y.rows, ROWS_BLOCKS);
    messages_kernel<T, DYNAMIC><<<grid_of(op->cut, width), block_of(width), 0, cuda_stream(k)>>>(*op);
  } else {
    any_messages_kernel<T, DYNAMIC>
        <<<blocks_of(op->y.rows * op->heads, BLOCK), BLOCK, 0, cuda_stream(k)>>>(*op);
  }
  TRY_LAUNCH();
  return OK;
}

int cuda_attention_rows(struct kernels *k, const struct attention_rows *op) {
  const int64_t heads = op->heads;
  const struct tensor reals = tensor_reals(k, op->message, message_elements(k, op->dz.cols), 3 * heads);
  struct rows_op of = {};
  of.heads = heads;
  of.dz = op->dz, of.y = op->y, of.other = op->positive, of.log_sum = op->log_sum;
  of.row_term = op->row_term, of.share = op->share, of.row_term_grad = op->row_term_grad;
  of.to_dz = tensor_columns(op->message, 0, op->dz.cols);
  of.to_row_term = tensor_columns(reals, 0, heads);
  of.to_log_sum = tensor_columns(reals, heads, heads);
  of.to_delta = tensor_columns(reals, 2 * heads, heads);
  if (op->y.rows == 0 || op->y.cols == 0) return OK;
  return op->y.dtype == BF16 ? launch<bf16, false>(k, &of) : launch<float, false>(k, &of);
}

int cuda_dynamic_rows(struct kernels *k, const struct dynamic_rows *op) {
  const struct dynamic_message to = dynamic_parts(k, op->message, op->dz.cols, op->y.cols, op->heads);
  struct rows_op of = {};
  of.heads = op->heads;
  of.dz = op->dz, of.y = op->y, of.other = op->right, of.log_sum = op->log_sum;
  of.to_dz = to.dz, of.to_right = to.right, of.to_log_sum = to.log_sum, of.to_delta = to.delta;
  if (op->y.rows == 0 || op->y.cols == 0) return OK;
  return op->y.dtype == BF16 ? launch<bf16, true>(k, &of) : launch<float, true>(k, &of);
}
