/* y_v = r_v ((y_v) + sum_{u in row v} w_vu c_u X_u + s_v c_v X_v), then the update; see struct spmm.
 *
 * Every slot of the layout is summed by a group of threads; a second kernel adds the pieces of long rows in
 * order. X whose rows do not lie at multiples of 16 bytes is copied into rows that do where each row is read
 * often enough to pay for it. (Gathering with wide loads: Huang et al., GE-SpMM, SC 2020; Gale et al.,
 * Sputnik, SC 2020.) */
#include "kernels/cuda/spmm_sum.cuh"
#include "kernels/cuda/update.h"

constexpr int64_t PAYS_TO_ALIGN = 4; /* entries for each row of X */
constexpr int64_t DENSE_DEGREE = 100;

typedef void spmm_function(const struct sums, const struct finish);

/* One thread a column adds the pieces of a long row. */
static __global__ void __launch_bounds__(BLOCK)
    long_rows_kernel(const struct long_row *rows, int64_t count, const float *partial, int64_t stride,
                     const __grid_constant__ struct finish finish) {
  int64_t i = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (i >= count) return;
  const struct long_row row = rows[i];
  for (int64_t col = threadIdx.x; col < finish.y.cols; col += blockDim.x) {
    const float *piece = partial + row.first_piece * stride + col;
    double total = 0;
#pragma unroll 8
    for (int p = 0; p < row.pieces; p++) total += (double)piece[p * stride];
    float sum[1] = {(float)total};
    finish_row(finish, row.row, col, sum);
  }
}

static __global__ void align_kernel(struct tensor x, float *to, int64_t stride) {
  int64_t v = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (v >= x.rows) return;
  for (int64_t j = threadIdx.x; j < stride; j += blockDim.x)
    to[v * stride + j] = j < x.cols ? row_of(x, v)[j] : 0;
}

static bool is_aligned_or_absent(struct tensor t) {
  return !t.data || cuda_is_aligned(t);
}

static struct finish finish_of(struct kernels *k, const struct spmm *op) {
  struct finish f = {};
  const struct update *update = op->update;
  f.y = f.out = op->y;
  f.self = op->self;
  f.self_scale = (const float *)op->self_scale;
  f.self_col_scale = (const float *)op->self_col_scale;
  f.row_scale = (const float *)op->row_scale;
  f.unfinished = op->unfinished;
  f.accumulate = op->accumulate != 0;
  f.scalars = k->scalars;
  f.updates = update && update->norm == NORM_NONE;
  if (f.updates) {
    f.out = update->y;
    f.bias = (const float *)update->bias;
    f.activation = update->activation;
    f.residual = update->residual;
    f.dropout = update->dropout;
  }
  f.aligned = cuda_is_aligned(f.y) && cuda_is_aligned(f.out) && is_aligned_or_absent(f.residual) &&
              (!f.self_scale || cuda_is_aligned(f.self));
  return f;
}

/* A kernel and how it cuts the work. */
struct variant {
  spmm_function *kernel;
  int wide, lanes, share;
};

template <int WIDE, int LANES, int SHARE, int AHEAD> static struct variant variant_of(bool factors) {
  spmm_function *kernel = factors ? spmm_kernel<WIDE, LANES, SHARE, AHEAD, true>
                                  : spmm_kernel<WIDE, LANES, SHARE, AHEAD, false>;
  return {kernel, WIDE, LANES, SHARE};
}

/* Long rows are read in narrow panels, whose part of X stays in the caches, by several groups at once. */
static struct variant choose(int64_t width, bool aligned, bool factors, int64_t degree) {
  if (!aligned) return width <= 8 ? variant_of<1, 8, 1, 8>(factors) : variant_of<1, 32, 1, 8>(factors);
  if (width <= 4) return variant_of<4, 1, 1, 4>(factors);
  if (width <= 8) return variant_of<4, 2, 1, 8>(factors);
  if (width <= 16) return variant_of<4, 4, 1, 8>(factors);
  if (degree >= DENSE_DEGREE && width > 32) return variant_of<4, 16, 2, 8>(factors);
  if (degree >= DENSE_DEGREE) return variant_of<4, 8, 4, 8>(factors);
  if (width <= 32) return variant_of<4, 8, 1, 8>(factors);
  if (width <= 64) return variant_of<4, 16, 1, 8>(factors);
  return variant_of<4, 32, 1, 8>(factors);
}

/* X as the sums read it. */
static int take_x(struct kernels *k, const struct spmm *op, char *workspace, struct sums *sums) {
  sums->x = (const float *)op->x.data;
  int64_t stride = op->x.stride;
  if (workspace) {
    stride = (op->x.cols + 3) / 4 * 4;
    dim3 block(32, BLOCK / 32);
    align_kernel<<<blocks_of(op->x.rows, block.y), block, 0, cuda_stream(k)>>>(op->x, (float *)workspace,
                                                                               stride);
    TRY_LAUNCH();
    sums->x = (const float *)workspace;
  }
  sums->x_bytes = (uint32_t)(stride * (int64_t)sizeof(float));
  return OK;
}

static int run(struct kernels *k, const struct cuda_layout *a, const struct variant *variant,
               struct sums *sums, const struct finish *finish) {
  const int block_slots = BLOCK / variant->lanes / variant->share * 4;
  sums->block_slots = block_slots;
  dim3 grid(blocks_of(a->slots, block_slots), blocks_of(sums->width, variant->lanes * variant->wide));
  variant->kernel<<<grid, BLOCK, 0, cuda_stream(k)>>>(*sums, *finish);
  TRY_LAUNCH();
  if (a->long_rows == 0) return OK;
  dim3 block(32, BLOCK / 32);
  long_rows_kernel<<<blocks_of(a->long_rows, block.y), block, 0, cuda_stream(k)>>>(
      a->long_row, a->long_rows, sums->partial, sums->partial_stride, *finish);
  TRY_LAUNCH();
  return OK;
}

int cuda_spmm(struct kernels *k, const struct spmm *op) {
  const struct cuda_layout *a = cuda_layout(op->a);
  const struct csr *m = a->base.csr;
  if (op->y.cols == 0 || a->slots == 0) return OK;
  bool copies = !cuda_is_aligned(op->x) && m->nnz >= PAYS_TO_ALIGN * m->cols && m->cols > 0;
  int64_t stride = (op->y.cols + 3) / 4 * 4;
  int64_t bytes = a->pieces * stride * (int64_t)sizeof(float);
  char *workspace = NULL;
  TRY(kernels_workspace(k, bytes + (copies ? m->cols * stride * (int64_t)sizeof(float) : 0),
                        (void **)&workspace));
  struct sums sums = {};
  sums.slot = a->slot;
  sums.slots = a->slots;
  sums.col = a->col;
  sums.value = a->value;
  sums.col_scale = (const float *)op->col_scale;
  sums.width = op->y.cols;
  sums.partial = (float *)workspace;
  sums.partial_stride = stride;
  TRY(take_x(k, op, copies ? workspace + bytes : NULL, &sums));
  struct finish finish = finish_of(k, op);
  struct variant variant = choose(sums.width, copies || cuda_is_aligned(op->x), sums.value || sums.col_scale,
                                  m->rows > 0 ? m->nnz / m->rows : 0);
  TRY(run(k, a, &variant, &sums, &finish));
  if (op->update && !finish.updates) return cuda_update_rows(k, op->update, a->row, m->rows, op->unfinished);
  return OK;
}
