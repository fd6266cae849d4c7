#include "models/core/features.h"

#include <assert.h>

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

int features_are_borrowed(const struct run *run) {
  return !run->shard->sparse && run->device->ops->on_host && run->kernels->dtype == F32;
}

int features_init(struct features *f, struct run *run, int once) {
  struct shard *shard = run->shard;
  f->once = once;
  f->sparse = shard->sparse;
  f->masked = run->config->model.dropout_input > 0;
  f->borrowed = features_are_borrowed(run);
  return divide_rows(f, run);
}

/* The rows that steps work on, so many of them. */
static struct sparse_rows *part_of(const struct features *f, int64_t count) {
  for (int i = 0; i < f->parts; i++)
    if (f->part[i].count == count) return (struct sparse_rows *)&f->part[i];
  return NULL;
}

static int add_part(struct features *f, struct run *run, int64_t count, struct sparse_rows **part) {
  const struct csr *all = &run->shard->feature_rows;
  assert(f->parts < SPARSE_ROWS_MOST);
  *part = &f->part[f->parts++];
  **part = (struct sparse_rows){.count = count, .x = *all};
  (*part)->x.rows = count;
  (*part)->x.nnz = all->start[count];
  return layout_init(run->kernels, &(*part)->x, NULL, &(*part)->rows);
}

static int add_columns(struct run *run, struct sparse_rows *part) {
  TRY(csr_transpose(&part->x, &part->transposed, NULL));
  TRY(layout_init(run->kernels, &part->transposed, NULL, &part->columns));
  forget_wide(&part->transposed);
  return OK;
}

int features_add_rows(struct features *f, struct run *run, int64_t count, int trains, int gradient) {
  struct sparse_rows *part = part_of(f, count);
  if (!f->sparse) return OK;
  if (!part) TRY(add_part(f, run, count, &part));
  if (gradient && !part->columns) TRY(add_columns(run, part));
  if (trains && f->masked && !part->rows_masked)
    TRY(layout_share(run->kernels, part->rows, &part->rows_masked));
  if (gradient && f->masked && !part->columns_masked)
    TRY(layout_share(run->kernels, part->columns, &part->columns_masked));
  return OK;
}

void features_rows_added(struct features *f, struct run *run) {
  forget_wide(&run->shard->feature_rows);
  for (int i = 0; i < f->parts; i++) f->part[i].x.wide = NULL;
}

int64_t features_bytes(const struct features *f) {
  int64_t bytes = 0;
  for (int i = 0; i < f->parts; i++) bytes += csr_bytes(&f->part[i].transposed) * (f->masked ? 2 : 1);
  return bytes;
}

void features_plan(struct features *f, struct run *run, struct arena *arena, const struct tensor *planned) {
  enum dtype dtype = run->kernels->dtype;
  int64_t own = run->shard->own, width = run->shard->features;
  if (f->sparse || (f->once && !f->borrowed)) return;
  f->dense = f->borrowed ? tensor_of(run->shard->feature, dtype, own, width)
             : planned   ? *planned
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

static void part_free(struct sparse_rows *part, struct run *run) {
  struct layout *layouts[] = {part->rows, part->rows_masked, part->columns, part->columns_masked};
  for (int i = 0; i < 4; i++) layout_free(run->kernels, layouts[i]);
  csr_free(&part->transposed);
}

void features_free(struct features *f, struct run *run) {
  for (int i = 0; i < f->parts; i++) part_free(&f->part[i], run);
  free(f->divisor);
  *f = (struct features){0};
}

static int mask(const struct features *f, struct run *run, const struct layout *x, struct layout *y,
                int transposed) {
  struct sparse_dropout op = {.x = x, .y = y, .transposed = transposed, .dropout = f->dropout};
  return y ? op_sparse_dropout(run->kernels, &op) : OK;
}

int features_forward(struct features *f, struct run *run, int training, int64_t first) {
  const int64_t drawn = smaller(first, f->dense.rows);
  f->training = training;
  if (!training || !f->masked) return OK;
  if (!f->sparse)
    return op_dropout(run->kernels, tensor_rows(f->dense, 0, drawn), &f->dropout,
                      tensor_rows(f->dense_masked, 0, drawn));
  for (int i = 0; i < f->parts; i++) {
    TRY(mask(f, run, f->part[i].rows, f->part[i].rows_masked, 0));
    TRY(mask(f, run, f->part[i].columns, f->part[i].columns_masked, 1));
  }
  return OK;
}

struct tensor features_tensor(const struct features *f) {
  return f->training && f->masked ? f->dense_masked : f->dense;
}

static int multiply_sparse(const struct features *f, struct run *run, struct spmm *op, int transposed,
                           int64_t count) {
  const struct sparse_rows *part = part_of(f, count);
  const int masked = f->training && f->masked;
  assert(part);
  op->a = transposed ? (masked ? part->columns_masked : part->columns)
                     : (masked ? part->rows_masked : part->rows);
  return op_spmm(run->kernels, op);
}

int features_times(const struct features *f, struct run *run, struct tensor w, struct tensor add,
                   const struct epilogue *epilogue, struct tensor y) {
  struct spmm sparse = {.x = w, .accumulate = add.data != NULL, .epilogue = epilogue, .y = y};
  struct gemm dense = {.a = tensor_rows(features_tensor(f), 0, y.rows),
                       .b = w,
                       .c = y,
                       .accumulate = add.data != NULL,
                       .epilogue = epilogue};
  if (y.dtype != run->kernels->real) sparse.sums = add;
  return f->sparse ? multiply_sparse(f, run, &sparse, 0, y.rows) : op_gemm(run->kernels, &dense);
}

int features_gradient(const struct features *f, struct run *run, struct tensor dy, struct tensor dw) {
  struct spmm sparse = {.x = dy, .y = dw};
  if (f->sparse) return multiply_sparse(f, run, &sparse, 1, dy.rows);
  const struct tensor x = tensor_rows(features_tensor(f), 0, dy.rows);
  return op_gemm(run->kernels, &(struct gemm){.a = x, .transpose_a = 1, .b = dy, .c = dw});
}
