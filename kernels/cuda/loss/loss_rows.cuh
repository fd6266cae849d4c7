/* What the two losses share: a walk down the list of rows that count, each of which has a loss and a
 * gradient, and the gradient 0 of the others. Threads add up the losses of their rows, blocks those of their
 * threads and one block theirs, all in a fixed order. Or each row's loss goes where row_loss says. */
#ifndef KERNELS_CUDA_LOSS_LOSS_ROWS_CUH
#define KERNELS_CUDA_LOSS_LOSS_ROWS_CUH

#include "kernels/cuda/common/totals.cuh"
#include "kernels/cuda/common/walk.cuh"

struct loss_rows {
  struct loss_op loss;
  float scale;
  bool all; /* every row is listed: row i at place i */
  struct cut cut;
  double *partial;         /* [parts] */
  const uint8_t *has_halo; /* listed rows that are passed over; NULL: none */
  float *row_loss;         /* loss of each row, in place of `partial`; NULL: not wanted */
};

/* What a thread has of a row: columns [first, first + n) of it, of which it stores `stored`. */
struct loss_columns {
  int row, label; /* row -1: none */
  int first, n, stored;
  float grad_scale;
  struct packed<float> logits; /* where FAST */
};

/* LOSS::of<T, FAST>(op, x): this thread's part of the loss of a row before op.scale, by whole warps; writes
 * the row's gradient where it is wanted. FAST: rows lie whole and the lanes hold all classes. */
template <class LOSS, class T, bool FAST> struct loss_step {
  static constexpr int ROWS = 1;
  struct input {
    int row, label;
    float grad_scale;
    struct packed<float> logits;
  };
  const struct loss_rows &op;
  int end, after; /* the row to read next */
  struct loss_columns x;
  double sum;

  __device__ __forceinline__ int row_at(int i) const { return i >= end ? -1 : op.all ? i : op.loss.rows[i]; }

  __device__ __forceinline__ struct input read(int i) {
    struct input in;
    in.row = after >= 0 && op.has_halo && op.has_halo[after] ? -1 : after;
    after = row_at(i + (int)blockDim.y);
    in.label = in.row >= 0 && op.loss.label ? op.loss.label[in.row] : -1;
    in.grad_scale = in.row >= 0 && op.loss.grad_scale ? ((const float *)op.loss.grad_scale)[in.row] : 1;
    if (FAST) in.logits = read_group<float, FAST>(op.loss.logits, in.row >= 0, in.row, x.first, x.n);
    return in;
  }

  __device__ __forceinline__ void work(const struct input &in, int) {
    x.row = in.row;
    x.label = in.label;
    x.grad_scale = in.grad_scale;
    x.logits = in.logits;
    const double part = LOSS::template of<T, FAST>(op, x);
    if (x.row >= 0) sum += part;
    if (op.row_loss) write_loss((float)part);
  }

  __device__ __forceinline__ void write_loss(float part) const {
    const float loss = sum_of_lanes(part);
    if (threadIdx.x == 0 && x.row >= 0) op.row_loss[x.row] = x.label >= 0 ? loss : 0;
  }
};

template <class LOSS, class T, bool FAST>
static __global__ void __launch_bounds__(BLOCK, LOSS::BLOCKS)
    loss_kernel(const __grid_constant__ struct loss_rows op) {
  pdl_launch_dependents();
  const int begin = (int)(blockIdx.x * op.cut.rows), end = (int)min(begin + op.cut.rows, op.loss.count);
  struct loss_step<LOSS, T, FAST> step = {
    op, end, 0, {}, 0
  };
  step.x.first = (int)threadIdx.x * GROUP;
  step.x.n = columns_from(op.loss.logits.cols, step.x.first);
  step.x.stored = stored_columns(op.loss.grad, step.x.first);
  step.after = step.row_at(begin + (int)threadIdx.y);
  walk(step, begin, end);
  if (op.row_loss) return;
  const double sum = sum_of_block(step.sum);
  if (threadIdx.x + threadIdx.y == 0) op.partial[blockIdx.x] = sum;
}

/* *loss = scale * sum over p < parts of partial[p]. */
int cuda_add_losses(struct kernels *k, const double *partial, int64_t parts, double scale, double *loss);

/* The gradient 0 for the rows that are not listed. place: room for cuda_unlisted_places(rows) numbers. */
int cuda_clear_unlisted(struct kernels *k, const struct loss_op *op, int32_t *place);
int64_t cuda_unlisted_places(int64_t rows);

template <class LOSS, class T> static int launch_loss(struct kernels *k, const struct loss_rows *op) {
  const struct tensor logits = op->loss.logits, grad = op->loss.grad;
  const bool fast = is_whole(logits) && is_whole_or_absent(grad) && lanes_hold(logits.cols);
  auto *kernel = fast ? loss_kernel<LOSS, T, true> : loss_kernel<LOSS, T, false>;
  if (op->cut.parts == 0) return OK;
  kernel<<<(unsigned)op->cut.parts, block_of(logits.cols), 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

template <class LOSS> static int loss_over_rows(struct kernels *k, const struct loss_op *op) {
  const int64_t rows = op->logits.rows;
  struct loss_rows of = {
      *op, (float)op->scale, op->count == rows, cut_rows(op->count, LOSS::BLOCKS), NULL, NULL, NULL};
  const int64_t bytes = of.cut.parts * (int64_t)sizeof *of.partial;
  char *workspace = NULL;
  TRY(kernels_workspace(k, bytes + cuda_unlisted_places(rows) * (int64_t)sizeof(int32_t),
                        (void **)&workspace));
  of.partial = (double *)workspace;
  TRY((op->grad.dtype == BF16 ? launch_loss<LOSS, bf16> : launch_loss<LOSS, float>)(k, &of));
  if (op->grad.data && !of.all) TRY(cuda_clear_unlisted(k, op, (int32_t *)(workspace + bytes)));
  return cuda_add_losses(k, of.partial, of.cut.parts, op->scale, op->loss);
}

#endif
