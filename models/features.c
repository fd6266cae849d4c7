#include "models/features.h"

#include <stdlib.h>

#include "runtime/error.h"
#include "runtime/profile.h"

int features_init(struct features *f, struct run *run, int once) {
  struct shard *shard = run->shard;
  f->once = once;
  f->sparse = shard->sparse;
  f->masked = run->config->model.dropout_input > 0;
  f->borrowed = !f->sparse && run->device->ops->on_host && run->kernels->dtype == F32;
  if (!f->sparse) return OK;
  TRY(csr_transpose(&shard->feature_rows, &f->transposed, NULL));
  TRY(layout_init(run->kernels, &shard->feature_rows, NULL, &f->rows));
  TRY(layout_init(run->kernels, &f->transposed, NULL, &f->columns));
  if (!f->masked) return OK;
  TRY(layout_share(run->kernels, f->rows, &f->rows_masked));
  return layout_share(run->kernels, f->columns, &f->columns_masked);
}

void features_plan(struct features *f, struct run *run, struct arena *arena) {
  enum dtype dtype = run->kernels->dtype;
  int64_t own = run->shard->own, width = run->shard->features;
  if (f->sparse || (f->once && !f->borrowed)) return;
  f->dense = f->borrowed ? tensor_of(run->shard->feature, dtype, own, width)
                         : arena_tensor(arena, dtype, own, width);
  if (f->masked) f->dense_masked = arena_tensor(arena, dtype, own, width);
}

int features_start(struct features *f, struct run *run, const int64_t *id) {
  f->dropout = dropout_of(run->config->model.dropout_input, run_key(run, 0, RANDOM_DROPOUT_INPUT), id);
  if (f->sparse || f->borrowed || f->once || !run->shard->feature) return OK;
  TRY(PROFILE_HOST("features", run_upload_floats(run, f->dense, run->shard->feature, f->dense.cols)));
  free(run->shard->feature);
  run->shard->feature = NULL;
  return OK;
}

int features_panel(const struct features *f, struct run *run, int64_t first, int64_t cols,
                   struct tensor panel, struct tensor *x) {
  const struct shard *shard = run->shard;
  *x = f->dense.data ? tensor_columns(f->dense, first, cols) : tensor_narrowed(panel, cols);
  if (f->dense.data) return OK;
  return PROFILE_HOST("features", run_upload_floats(run, *x, shard->feature + first, shard->features));
}

void features_release(struct features *f, struct run *run) {
  if (!f->once) return;
  free(run->shard->feature);
  run->shard->feature = NULL;
  f->dense.data = NULL;
}

void features_free(struct features *f, struct run *run) {
  struct layout *layouts[] = {f->rows, f->rows_masked, f->columns, f->columns_masked};
  for (int i = 0; i < 4; i++) layout_free(run->kernels, layouts[i]);
  csr_free(&f->transposed);
  *f = (struct features){0};
}

int features_forward(struct features *f, struct run *run, int training) {
  f->training = training;
  if (!training || !f->masked) return OK;
  if (!f->sparse) return op_dropout(run->kernels, f->dense, &f->dropout, f->dense_masked);
  struct sparse_dropout rows = {.x = f->rows, .y = f->rows_masked, .dropout = f->dropout};
  struct sparse_dropout columns = {
      .x = f->columns, .y = f->columns_masked, .transposed = 1, .dropout = f->dropout};
  TRY(op_sparse_dropout(run->kernels, &rows));
  return op_sparse_dropout(run->kernels, &columns);
}

struct tensor features_tensor(const struct features *f) {
  return f->training && f->masked ? f->dense_masked : f->dense;
}

int features_times(const struct features *f, struct run *run, struct tensor w, struct tensor add,
                   const struct update *update, struct tensor y) {
  const struct layout *rows = f->training && f->masked ? f->rows_masked : f->rows;
  struct spmm sparse = {.a = rows, .x = w, .accumulate = add.data != NULL, .update = update, .y = y};
  struct gemm dense = {
      .a = features_tensor(f), .b = w, .c = y, .accumulate = add.data != NULL, .update = update};
  if (y.dtype != run->kernels->real) sparse.sums = add;
  return f->sparse ? op_spmm(run->kernels, &sparse) : op_gemm(run->kernels, &dense);
}

int features_gradient(const struct features *f, struct run *run, struct tensor dy, struct tensor dw) {
  const struct layout *columns = f->training && f->masked ? f->columns_masked : f->columns;
  if (f->sparse) return op_spmm(run->kernels, &(struct spmm){.a = columns, .x = dy, .y = dw});
  return op_gemm(run->kernels, &(struct gemm){.a = features_tensor(f), .transpose_a = 1, .b = dy, .c = dw});
}
