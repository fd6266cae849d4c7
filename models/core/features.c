#include "models/core/features.h"

#include "kernels/ops/elementwise.h"
#include "kernels/ops/gemm.h"
#include "kernels/ops/sparse.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

enum normalize features_normalized_as_read(const struct config *config) {
  return config->runtime.precision == PRECISION_FP64 ? NORMALIZE_NONE : config->dataset.normalize;
}

/* The sum of row v, which stays as it is where that is 0. */
static double divisor_of(const struct shard *shard, int64_t v) {
  const struct csr *sparse = &shard->feature_rows;
  const float *value = shard->sparse ? sparse->weight + sparse->start[v]
                                     : shard->feature + v * shard->features;
  int64_t count = shard->sparse ? sparse->start[v + 1] - sparse->start[v] : shard->features;
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += (double)value[i];
  return sum == 0 ? 1 : sum;
}

static int divide_rows(struct features *f, const struct run *run) {
  struct shard *shard = run->shard;
  struct csr *sparse = &shard->feature_rows;
  if (features_normalized_as_read(run->config) == run->config->dataset.normalize) return OK;
  TRY(memory_arrays("sums of features", ROOM(&f->divisor, shard->own)));
  for (int64_t v = 0; v < shard->own; v++) f->divisor[v] = divisor_of(shard, v);
  if (!f->sparse) return OK;
  TRY(memory_arrays("sparse features", ROOM(&sparse->wide, sparse->nnz)));
  for (int64_t v = 0; v < shard->own; v++) {
    for (int64_t e = sparse->start[v]; e < sparse->start[v + 1]; e++)
      sparse->wide[e] = (double)sparse->weight[e] / f->divisor[v];
  }
  return OK;
}

/* Layouts of doubles have copied them. */
static void forget_wide(struct csr *m) {
  free(m->wide);
  m->wide = NULL;
}

int features_init(struct features *f, struct run *run, int once) {
  struct shard *shard = run->shard;
  f->once = once;
  f->sparse = shard->sparse;
  f->masked = run->config->model.dropout_input > 0;
  f->borrowed = !f->sparse && run->device->ops->on_host && run->kernels->dtype == F32;
  TRY(divide_rows(f, run));
  if (!f->sparse) return OK;
  TRY(csr_transpose(&shard->feature_rows, &f->transposed, NULL));
  TRY(layout_init(run->kernels, &shard->feature_rows, NULL, &f->rows));
  TRY(layout_init(run->kernels, &f->transposed, NULL, &f->columns));
  forget_wide(&shard->feature_rows);
  forget_wide(&f->transposed);
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

/* Columns from `first` on. */
static struct floats features_from(const struct features *f, const struct run *run, int64_t first) {
  return (struct floats){run->shard->feature + first, run->shard->features, f->divisor};
}

int features_start(struct features *f, struct run *run, const int64_t *id) {
  f->dropout = dropout_of(run->config->model.dropout_input, run_key(run, 0, RANDOM_DROPOUT_INPUT), id);
  if (f->sparse || f->borrowed || f->once || !run->shard->feature) return OK;
  TRY(PROFILE_HOST("features", run_upload_floats(run, f->dense, features_from(f, run, 0))));
  free(run->shard->feature);
  run->shard->feature = NULL;
  return OK;
}

int features_panel(const struct features *f, struct run *run, int64_t first, int64_t cols,
                   struct tensor panel, struct tensor *x) {
  *x = f->dense.data ? tensor_columns(f->dense, first, cols) : tensor_narrowed(panel, cols);
  if (f->dense.data) return OK;
  return PROFILE_HOST("features", run_upload_floats(run, *x, features_from(f, run, first)));
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
  free(f->divisor);
  *f = (struct features){0};
}

int features_forward(struct features *f, struct run *run, int training, int64_t first) {
  const int64_t drawn = smaller(first, f->dense.rows);
  f->training = training;
  if (!training || !f->masked) return OK;
  if (!f->sparse)
    return op_dropout(run->kernels, tensor_rows(f->dense, 0, drawn), &f->dropout,
                      tensor_rows(f->dense_masked, 0, drawn));
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
                   const struct epilogue *epilogue, struct tensor y) {
  const struct layout *rows = f->training && f->masked ? f->rows_masked : f->rows;
  struct spmm sparse = {.a = rows, .x = w, .accumulate = add.data != NULL, .epilogue = epilogue, .y = y};
  struct gemm dense = {.a = tensor_rows(features_tensor(f), 0, y.rows),
                       .b = w,
                       .c = y,
                       .accumulate = add.data != NULL,
                       .epilogue = epilogue};
  if (y.dtype != run->kernels->real) sparse.sums = add;
  return f->sparse ? op_spmm(run->kernels, &sparse) : op_gemm(run->kernels, &dense);
}

int features_gradient(const struct features *f, struct run *run, struct tensor dy, struct tensor dw) {
  const struct layout *columns = f->training && f->masked ? f->columns_masked : f->columns;
  if (f->sparse) return op_spmm(run->kernels, &(struct spmm){.a = columns, .x = dy, .y = dw});
  const struct tensor x = tensor_rows(features_tensor(f), 0, dy.rows);
  return op_gemm(run->kernels, &(struct gemm){.a = x, .transpose_a = 1, .b = dy, .c = dw});
}
