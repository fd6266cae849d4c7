/* y_v = r_v ((y_v) + sum_{u in row v} w_vu c_u X_u + s_v c_v X_v), then the update; see struct spmm.
 *
 * Every slot of the layout is summed by a group of threads; a second kernel adds the pieces of long rows in
 * order. X whose rows do not lie at multiples of 16 bytes is copied into rows that do where each row is read
 * often enough to pay for it. (Gathering with wide loads: Huang et al., GE-SpMM, SC 2020; Gale et al.,
 * Sputnik, SC 2020.) */
#include "kernels/cuda/spmm_sum.cuh"
#include "kernels/cuda/update.h"

typedef void long_rows_function(const struct long_row *rows, int64_t count, const float *partial,
                                int64_t stride, const struct finish);
typedef void spmm_function(const struct sums, const struct finish);

/* One thread a column adds the pieces of a long row. */
template <bool UPDATES>
static __global__ void __launch_bounds__(BLOCK)
    long_rows_kernel(const struct long_row *rows, int64_t count, const float *partial, int64_t stride,
                     const __grid_constant__ struct finish finish) {
  int64_t i = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (i >= count) return;
  const struct long_row row = rows[i];
  for (int64_t col = threadIdx.x; col < finish.width; col += blockDim.x) {
    const float *piece = partial + row.first_piece * stride + col;
    double total = 0;
#pragma unroll 8
    for (int p = 0; p < row.pieces; p++) total += (double)piece[p * stride];
    float sum[1] = {(float)total};
    finish_row<UPDATES>(finish, row.row, (int32_t)col, sum);
  }
}

/* One thread a vector. */
static __global__ void __launch_bounds__(BLOCK)
    align_kernel(struct tensor x, float *to, int64_t count, uint32_t vectors) {
  int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= count) return;
  int64_t v = i / vectors, first = i % vectors * 4;
  const float *from = row_of(x, v) + first;
  float4 four = make_float4(from[0], 0, 0, 0);
  if (first + 1 < x.cols) four.y = from[1];
  if (first + 2 < x.cols) four.z = from[2];
  if (first + 3 < x.cols) four.w = from[3];
  ((float4 *)to)[i] = four;
}

static bool is_aligned_or_absent(struct tensor t) {
  return !t.data || cuda_is_aligned(t);
}

static struct finish finish_of(struct kernels *k, const struct spmm *op) {
  struct finish f = {};
  f.y = f.out = rows_of(op->y);
  f.self = rows_of(op->self);
  f.width = (int32_t)op->y.cols;
  f.accumulate = op->accumulate != 0;
  f.aligned = cuda_is_aligned(op->y) && (!op->self_scale || cuda_is_aligned(op->self));
  f.self_scale = (const float *)op->self_scale;
  f.self_col_scale = (const float *)op->self_col_scale;
  f.row_scale = (const float *)op->row_scale;
  f.unfinished = op->unfinished;
  f.scalars = k->scalars;
  return f;
}

static void add_update(struct finish *f, const struct update *update) {
  f->out = rows_of(update->y);
  f->residual = rows_of(update->residual);
  f->aligned = f->aligned && cuda_is_aligned(update->y) && is_aligned_or_absent(update->residual);
  f->bias = (const float *)update->bias;
  f->activation = update->activation;
  f->dropout = update->dropout;
}

/* A kernel and how it cuts the work. */
struct variant {
  spmm_function *kernel;
  int columns, threads, slots; /* of a panel, of a block, of a block */
};

template <class SHAPE> static struct variant variant_of(bool factors, bool updates) {
  static spmm_function *const kernel[2][2] = {
      {spmm_kernel<SHAPE, false, false>, spmm_kernel<SHAPE, false, true>},
      {spmm_kernel<SHAPE, true, false>, spmm_kernel<SHAPE, true, true>}};
  return {kernel[factors][updates], SHAPE::COLUMNS, SHAPE::THREADS, SHAPE::SLOTS};
}

/* What was fastest on an H200 over graphs of mean degree 5 to 500. Where X is read often it is read in panels
 * whose part of X stays in the caches, by large blocks, whose neighbouring rows meet in the first of them.
 * wide: floats of one load of X; degree: mean of the rows. */
static struct variant choose(int64_t width, int wide, int64_t degree, bool factors, bool updates) {
#define USE(...) return variant_of<shape<__VA_ARGS__>>(factors, updates)
  if (wide == 1 && width <= 8) USE(1, 1, 8, 8, 256, 5);
  if (wide == 1) USE(1, 1, 32, 8, 256, 5);
  if (wide == 2) USE(2, 2, 32, 4, 256, 5);
  if (width <= 4) USE(4, 1, 1, 4, 256, 5);
  if (width <= 8) USE(4, 1, 2, 8, 256, 4);
  if (width <= 16) USE(4, 1, 4, 8, 256, 4);
  if (width <= 32 && degree >= 32) USE(4, 1, 8, 8, 512, 2);
  if (width <= 32) USE(4, 1, 8, 4, 256, 5);
  if (degree >= 100) USE(4, 1, 16, 8, 1024, 1);
  if (width > 64 && width < 112) USE(4, 2, 16, 4, 256, 4); /* a second panel of 64 would be half idle */
  if (degree >= 32) USE(4, 1, 16, 8, 512, 2);
  if (degree >= 8 || width <= 64) USE(4, 2, 8, 4, 256, 4);
  USE(4, 2, 16, 2, 256, 5);
#undef USE
}

/* X as the sums read it. */
static int take_x(struct kernels *k, const struct spmm *op, char *workspace, struct sums *sums) {
  sums->x = (const float *)op->x.data;
  int64_t stride = op->x.stride;
  if (workspace) {
    stride = (op->x.cols + 3) / 4 * 4;
    int64_t count = op->x.rows * (stride / 4);
    align_kernel<<<blocks_of(count, BLOCK), BLOCK, 0, cuda_stream(k)>>>(op->x, (float *)workspace, count,
                                                                        (uint32_t)(stride / 4));
    TRY_LAUNCH();
    sums->x = (const float *)workspace;
  }
  sums->x_bytes = (uint32_t)(stride * (int64_t)sizeof(float));
  return OK;
}

static int run(struct kernels *k, const struct cuda_layout *a, const struct variant *variant,
               struct sums *sums, const struct finish *finish, bool updates) {
  dim3 grid(blocks_of(a->slots, variant->slots), blocks_of(sums->width, variant->columns));
  variant->kernel<<<grid, variant->threads, 0, cuda_stream(k)>>>(*sums, *finish);
  TRY_LAUNCH();
  if (a->long_rows == 0) return OK;
  dim3 block(32, BLOCK / 32);
  long_rows_function *kernel = updates ? long_rows_kernel<true> : long_rows_kernel<false>;
  kernel<<<blocks_of(a->long_rows, block.y), block, 0, cuda_stream(k)>>>(
      a->long_row, a->long_rows, sums->partial, sums->partial_stride, *finish);
  TRY_LAUNCH();
  return OK;
}

/* Floats of one load of X as it lies. */
static int wide_of(struct tensor x) {
  if (cuda_is_aligned(x)) return 4;
  return x.stride % 2 == 0 && (uintptr_t)x.data % 8 == 0 ? 2 : 1;
}

/* Whether it pays to copy X into rows at multiples of 16 bytes first. */
static bool copies_x(const struct csr *m, int wide, int64_t width) {
  return wide < 4 && width > 8 && m->cols > 0 && m->nnz >= (wide == 2 ? 100 : 4) * m->cols;
}

int cuda_spmm(struct kernels *k, const struct spmm *op) {
  const struct cuda_layout *a = cuda_layout(op->a);
  const struct csr *m = a->base.csr;
  if (op->y.cols == 0 || a->slots == 0) return OK;
  int wide = wide_of(op->x);
  bool copies = copies_x(m, wide, op->y.cols);
  int64_t stride = (op->y.cols + 3) / 4 * 4, bytes = a->pieces * stride * (int64_t)sizeof(float);
  char *workspace = NULL;
  TRY(kernels_workspace(k, bytes + (copies ? m->cols * stride * (int64_t)sizeof(float) : 0),
                        (void **)&workspace));
  struct sums sums = {};
  sums.slot = a->slot;
  sums.slots = a->slots;
  sums.col = a->col;
  sums.value = a->value;
  sums.col_scale = (const float *)op->col_scale;
  sums.width = (int32_t)op->y.cols;
  sums.partial = (float *)workspace;
  sums.partial_stride = stride;
  TRY(take_x(k, op, copies ? workspace + bytes : NULL, &sums));
  struct finish finish = finish_of(k, op);
  bool updates = op->update && op->update->norm == NORM_NONE;
  if (updates) add_update(&finish, op->update);
  struct variant variant = choose(sums.width, copies ? 4 : wide, m->nnz / m->rows,
                                  sums.value || sums.col_scale, updates);
  TRY(run(k, a, &variant, &sums, &finish, updates));
  if (op->update && !updates) return cuda_update_rows(k, op->update, a->row, m->rows, op->unfinished);
  return OK;
}
