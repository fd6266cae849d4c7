#include "kernels/cuda/elementwise/elementwise_ops.h"
#include "kernels/cuda/gemm/gemm.h"

enum { NARROW = 64, VECTOR = 8, MOST_TERMS = 2048 /* of a sum in one piece */ };

/* cuBLASLt is better at products of bf16, but for narrow ones, which move bytes more than they multiply;
 * those whose rows are no whole vectors; those whose epilogue would else be a pass of its own; and sums of
 * bf16, of which it rounds the product before it adds it. */
static int beats_cublaslt(const struct kernels *k, const struct gemm *op) {
  if ((op->accumulate && op->c.dtype == BF16) || op->c.cols <= NARROW) return 1;
  return op->a.cols % VECTOR || op->c.cols % VECTOR ||
         ((op->epilogue || op->backward) && cuda_gemm_takes_epilogue(k, op));
}

/* Products of tall A that have kernels of their own: those of floats, in pieces, and some of bf16. */
static int is_ours(const struct kernels *k, const struct gemm *op) {
  const struct cuda_state *state = k->impl;
  if (!state->has_wgmma || op->transpose_a || !cuda_is_aligned(op->a) || !cuda_is_aligned(op->c)) return 0;
  return k->precision == PRECISION_FP32 || (k->precision == PRECISION_BF16 && beats_cublaslt(k, op));
}

/* A sum without terms. */
static int clear(struct kernels *k, const struct gemm *op) {
  size_t element = (size_t)dtype_bytes(op->c.dtype);
  if (op->accumulate) return OK;
  TRY_CUDA(cudaMemset2DAsync(op->c.data, (size_t)op->c.stride * element, 0, (size_t)op->c.cols * element,
                             (size_t)op->c.rows, cuda_stream(k)));
  return OK;
}

/* Terms [first, first + MOST_TERMS) of the sums, added to those before. */
static struct gemm part_of(const struct gemm *op, int64_t first) {
  const int64_t left = op->a.cols - first, terms = left < MOST_TERMS ? left : MOST_TERMS;
  struct gemm part = *op;
  part.a = tensor_columns(op->a, first, terms);
  part.b = op->transpose_b ? tensor_columns(op->b, first, terms) : tensor_rows(op->b, first, terms);
  part.accumulate = op->accumulate || first > 0;
  return part;
}

/* Tensor cores cut off what they add to a sum (gemm_wgmma.cuh): a long one of floats is made in parts. */
static int multiply_floats(struct kernels *k, const struct gemm *op) {
  for (int64_t first = 0; first < op->a.cols; first += MOST_TERMS) {
    const struct gemm part = part_of(op, first);
    int took = 0;
    TRY(cuda_gemm_tma_f32(k, &part, &took));
    if (!took) TRY(cuda_gemm_rows_f32(k, &part));
  }
  return OK;
}

/* C = A op(B), with the epilogue where the op has it. */
static int multiply_rows(struct kernels *k, const struct gemm *op) {
  int took = 0;
  if (op->a.dtype == F32) return multiply_floats(k, op);
  TRY(cuda_gemm_tma_bf16(k, op, &took));
  return took ? OK : cuda_gemm_rows_bf16(k, op);
}

/* cuBLASLt is better at tall products of bf16 whose rows are whole vectors: an H200 takes 4 to 36% less time
 * than by splitk from 169,343 rows on; of 19,717 rows it takes from 25% less to 16% more. */
static int is_tall(const struct gemm *op) {
  enum { TALL = 1 << 15 };
  return op->a.rows >= TALL && op->a.cols % VECTOR == 0 && op->c.cols % VECTOR == 0;
}

/* C = A^T B, a gradient of a weight. */
static int multiply_transposed(struct kernels *k, const struct gemm *op) {
  const struct cuda_state *state = k->impl;
  int took = 0;
  if (state->has_wgmma && !op->transpose_b && k->precision == PRECISION_FP32)
    TRY(cuda_gemm_tma_f32_splitk(k, op, &took));
  if (state->has_wgmma && !op->transpose_b && k->precision == PRECISION_BF16 && !is_tall(op))
    TRY(cuda_gemm_tma_bf16_splitk(k, op, &took));
  return took ? OK : cuda_gemm_cublaslt(k, op);
}

/* *took_epilogue: the epilogue of the layer is applied already. */
static int multiply(struct kernels *k, const struct gemm *op, int *took_epilogue) {
  if (op->c.rows == 0 || op->c.cols == 0) return OK;
  if ((op->transpose_a ? op->a.rows : op->a.cols) == 0) return clear(k, op);
  if (op->transpose_a) return multiply_transposed(k, op);
  if (!is_ours(k, op)) return cuda_gemm_cublaslt(k, op);
  struct gemm product = *op;
  *took_epilogue = cuda_gemm_takes_epilogue(k, op) && (op->a.dtype != F32 || op->a.cols <= MOST_TERMS);
  if (!*took_epilogue) product.epilogue = NULL, product.backward = NULL;
  return multiply_rows(k, &product);
}

/* Both products in one pass, which wgmma must be able to end; or one after the other. */
static int multiply_both(struct kernels *k, const struct gemm *op, int *took_epilogue) {
  struct gemm first = *op;
  first.a2 = first.b2 = (struct tensor){0};
  if (op->c.rows > 0 && op->c.cols > 0 && op->a.cols > 0 && op->a2.cols > 0 && is_ours(k, op) &&
      cuda_gemm_takes_epilogue(k, op)) {
    TRY(op->a.dtype == F32 ? cuda_gemm_tma_f32(k, op, took_epilogue)
                           : cuda_gemm_tma_bf16(k, op, took_epilogue));
    if (*took_epilogue) return OK;
  }
  struct gemm second = first;
  second.a = op->a2;
  second.b = op->b2;
  second.accumulate = 1;
  first.epilogue = NULL;
  first.backward = NULL;
  TRY(multiply(k, &first, took_epilogue));
  *took_epilogue = 0;
  return multiply(k, &second, took_epilogue);
}

/* Each multiprocessor leaves a tile of sums, or there are more tiles than these, of at most 256 by 128
 * columns, or 128 by 256: gemm_tma_f32_splitk.cu, and the wgrad kernels, which have sums of columns beside
 * them. */
int64_t cuda_gemm_workspace(const struct kernels *k, int64_t rows, int64_t cols) {
  enum { LONG = 256 };
  const struct cuda_state *state = k->impl;
  int64_t narrow = rows < cols ? rows : cols;
  narrow = narrow <= 48 ? 48 : 128;
  int64_t wide = rows < cols ? cols : rows,
          tiles = (wide / LONG + 1) * ((rows < cols ? rows : cols) / narrow + 1);
  int64_t count = tiles > state->multiprocessors ? tiles : state->multiprocessors;
  if (!state->has_wgmma) return 0;
  return count * LONG * (narrow * (int64_t)sizeof(float) + (int64_t)sizeof(double));
}

int cuda_gemm_fused(struct kernels *k, const struct gemm *op, int *took) {
  const struct cuda_state *state = k->impl;
  if (!state->has_wgmma) return OK;
  if (k->precision == PRECISION_FP32)
    return op->chained ? cuda_gemm_tma_f32_chained(k, op, took) : cuda_gemm_tma_f32_wgrad(k, op, took);
  if (k->precision != PRECISION_BF16) return OK;
  return op->chained ? cuda_gemm_tma_bf16_chained(k, op, took) : cuda_gemm_tma_bf16_wgrad(k, op, took);
}

/* A product that a batch norm follows, forward or backward, by kernels that do at its end what they can. */
static int multiply_with_norm(struct kernels *k, const struct gemm *op, int *took) {
  const struct cuda_state *state = k->impl;
  const struct epilogue_backward *epilogue = op->backward;
  int backward = epilogue && epilogue->forward->norm == NORM_BATCH && !epilogue->bias_grad &&
                 (op->norm || (epilogue->shift_grad && epilogue->gain_grad));
  int forward = op->moments && !op->transpose_b && !op->a2.data;
  if (!(backward || forward) || !state->has_wgmma || op->transpose_a || op->accumulate) return OK;
  if (op->c.rows == 0 || op->c.cols == 0 || op->a.cols == 0 || (op->a2.data && op->a2.cols == 0)) return OK;
  if (k->precision == PRECISION_FP32) return cuda_gemm_tma_f32(k, op, took);
  return k->precision == PRECISION_BF16 ? cuda_gemm_tma_bf16(k, op, took) : OK;
}

static int epilogue_backward_apart(struct kernels *k, const struct gemm *op) {
  TRY(cuda_epilogue_backward(k, op->backward));
  return op->norm ? cuda_batch_norm_backward(k, op->norm) : OK;
}

int cuda_gemm(struct kernels *k, const struct gemm *op) {
  struct gemm plain = *op;
  int took_epilogue = 0;
  TRY(multiply_with_norm(k, op, &took_epilogue));
  if (took_epilogue) return OK;
  plain.moments = NULL;
  TRY(op->a2.data ? multiply_both(k, &plain, &took_epilogue) : multiply(k, &plain, &took_epilogue));
  if (op->moments) return cuda_column_moments(k, op->moments);
  if (took_epilogue) return OK;
  if (op->backward) return epilogue_backward_apart(k, op);
  return op->epilogue ? cuda_epilogue(k, op->epilogue) : OK;
}

const struct gemm_ops cuda_gemm_ops = {
    .gemm = cuda_gemm,
    .gemm_workspace = cuda_gemm_workspace,
    .gemm_fused = cuda_gemm_fused,
    .gemm_repeats = cuda_gemm_repeats,
};
