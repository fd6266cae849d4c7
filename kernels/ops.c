#include "kernels/ops.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/cpu/table.h"
#ifdef GNNTRAIN_HAVE_CUDA
#include "kernels/cuda/table.h"
#endif
#include "kernels/layout.h"
#include "kernels/ops_check.h"
#include "runtime/error.h"
#include "runtime/profile.h"

const struct kernel_ops *const kernel_list[] = {&cpu_ops_f32, &cpu_ops_f64,
#ifdef GNNTRAIN_HAVE_CUDA
                                                &cuda_ops_f32, &cuda_ops_bf16,
#endif
                                                NULL};

/* What the tables of this device serve, for a message. */
static void list_precisions(const struct device *device, char *text, size_t size) {
  text[0] = '\0';
  for (int p = 0; precision_name[p]; p++) {
    for (int i = 0; kernel_list[i]; i++) {
      const struct kernel_ops *ops = kernel_list[i];
      size_t used = strlen(text);
      if (strcmp(ops->device, device->ops->name) == 0 && ops->precisions >> p & 1)
        snprintf(text + used, size - used, "%s%s", used ? ", " : "", precision_name[p]);
    }
  }
}

int kernels_choose(struct kernels *k, struct device *device, enum precision precision) {
  char served[64];
  *k = (struct kernels){.device = device, .precision = precision};
  for (int i = 0; kernel_list[i] && !k->ops; i++) {
    const struct kernel_ops *ops = kernel_list[i];
    if (strcmp(ops->device, device->ops->name) == 0 && ops->precisions >> precision & 1) k->ops = ops;
  }
  if (!k->ops) {
    list_precisions(device, served, sizeof served);
    FAIL(BAD_INPUT, "runtime.precision = \"%s\" is not there on device \"%s\"; allowed: %s",
         precision_name[precision], device->ops->name, served);
  }
  k->dtype = k->ops->dtype;
  k->real = k->ops->real;
  return OK;
}

int kernels_open(struct kernels *k, struct device *device, enum precision precision) {
  TRY(kernels_choose(k, device, precision));
  TRY(device_alloc(device, (int64_t)sizeof *k->scalars, (void **)&k->scalars, "kernel scalars"));
  return k->ops->open ? k->ops->open(k) : OK;
}

void kernels_close(struct kernels *k) {
  if (k->ops && k->ops->close) k->ops->close(k);
  if (k->device) {
    device_release(k->device, k->scalars);
    device_release(k->device, k->workspace);
  }
  *k = (struct kernels){0};
}

int kernels_workspace(struct kernels *k, int64_t bytes, void **workspace) {
  if (bytes > k->workspace_bytes) {
    TRY(device_synchronize(k->device, STREAM_COMPUTE));
    device_release(k->device, k->workspace);
    k->workspace = NULL;
    k->workspace_bytes = 0;
    TRY(device_alloc(k->device, bytes, &k->workspace, "kernel workspace"));
    k->workspace_bytes = bytes;
    k->moves++;
  }
  *workspace = k->workspace;
  return OK;
}

struct dropout dropout_of(double rate, struct philox_key key, const int64_t *id) {
  assert(rate >= 0 && rate < 1);
  const long threshold = lround(rate * 65536);
  return (struct dropout){.key = key,
                          .threshold = (uint32_t)(threshold < 65535 ? threshold : 65535),
                          .scale = (float)(1 / (1 - rate)),
                          .id = id,
                          .wide_scale = 1 / (1 - rate)};
}

int64_t spmm_workspace(const struct kernels *k, const struct spmm *op) {
  return k->ops->spmm_workspace ? k->ops->spmm_workspace(op) : 0;
}

int64_t gemm_workspace(const struct kernels *k, int64_t rows, int64_t cols) {
  return k->ops->gemm_workspace ? k->ops->gemm_workspace(k, rows, cols) : 0;
}

int layout_init(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                struct layout **layout) {
  static const struct layout_plan gather = {.tiers = LAYOUT_GATHER};
  return k->ops->layout_init(k, m, plan ? plan : &gather, layout);
}

int layout_share(struct kernels *k, const struct layout *from, struct layout **layout) {
  return k->ops->layout_share(k, from, layout);
}

void layout_free(struct kernels *k, struct layout *layout) {
  if (layout) k->ops->layout_free(k, layout);
}

static void check_loss(const struct kernels *k, const struct loss_op *op) {
  assert(is_real_matrix(k, op->logits, op->logits.rows, op->logits.cols));
  assert(is_absent_or_matrix(k, op->grad, op->logits.rows, op->logits.cols));
  assert(op->count >= 0 && op->count <= op->logits.rows);
}

/* Sparse products have scales of their own. */
static void check_spmm_update(const struct kernels *k, const struct spmm *op) {
  const struct loss_op *loss = op->update->loss;
  check_update(k, op->update, op->y.rows, op->y.cols);
  assert(op->update->norm != NORM_BATCH && op->update->z.data == op->y.data && !op->update->scale);
  if (!loss) return;
  check_loss(k, loss);
  assert(loss->logits.data == op->update->y.data && loss->logits.cols == op->y.cols);
  assert(loss->logits.rows == 0 || (loss->grad.data && loss->grad.data != op->y.data));
  assert(loss->logits.rows == 0 || (loss->counted && loss->row_loss));
}

/* A gathered row passes for each non-zero. */
static double spmm_bytes(const struct spmm *op) {
  const struct csr *a = op->a->csr;
  double columns = (double)op->y.cols, index = a->weight ? 8 : 4, rows = (double)a->rows;
  const struct tensor result = op->update && op->update->loss ? op->update->loss->grad : op->y;
  double row = columns *
               (double)(dtype_bytes(result.dtype) + (op->accumulate ? dtype_bytes(op->y.dtype) : 0));
  double self = (op->self_scale ? bytes_of(op->self) : 0) + bytes_of(op->added);
  if (op->below) self += bytes_of(op->below->forward->y);
  return (double)a->nnz * (index + columns * (double)dtype_bytes(op->x.dtype)) + rows * (8 + row) + self;
}

static double update_bytes(const struct update *op) {
  return bytes_of(op->z) + bytes_of(op->y) + bytes_of(op->residual);
}

static double update_backward_bytes(const struct update_backward *op) {
  return bytes_of(op->dy) + bytes_of(op->dz) + bytes_of(op->forward->z) + bytes_of(op->residual_grad);
}

int op_spmm_may_end(const struct update_backward *below) {
  const struct update *forward = below->forward;
  return forward->norm == NORM_NONE && forward->activation == ACTIVATION_RELU && !forward->residual.data &&
         forward->y.data == forward->z.data && below->dz.data == below->dy.data && !below->scale &&
         !below->bias_grad && !below->shift_grad && !below->residual_grad.data && !below->then;
}

int op_spmm(struct kernels *k, const struct spmm *op) {
  const struct csr *a = op->a->csr;
  assert(is_matrix(k, op->x, a->cols, op->y.cols));
  assert(is_either_matrix(k, op->y, op->y.rows, op->y.cols));
  assert(op->y.dtype == k->real
             ? !op->sums.data
             : is_real_matrix(k, op->sums, op->y.rows, op->y.cols) || (!op->unfinished && !op->accumulate));
  assert(a->row ? a->rows <= op->y.rows : a->rows == op->y.rows);
  assert(!op->self_scale || is_matrix(k, op->self, op->y.rows, op->y.cols));
  assert(!op->added.data ||
         (is_matrix(k, op->added, op->y.rows, op->y.cols) && op->added.data != op->y.data));
  if (op->update) check_spmm_update(k, op);
  assert(!op->below || (!op->update && op_spmm_may_end(op->below) && op->below->dy.data == op->y.data));
  double flops = 2 * (double)a->nnz * (double)op->y.cols;
  return PROFILE_WORK("spmm", spmm_bytes(op), flops, k->ops->spmm(k, op));
}

int op_gather(struct kernels *k, const struct gather *op) {
  assert(is_matrix(k, op->x, op->x.rows, op->y.cols) && is_matrix(k, op->y, op->y.rows, op->y.cols));
  return PROFILE_WORK("gather", 2 * bytes_of(op->y), 0, k->ops->gather(k, op));
}

int op_dropout(struct kernels *k, struct tensor x, const struct dropout *op, struct tensor y) {
  assert(is_matrix(k, x, y.rows, y.cols) && is_matrix(k, y, y.rows, y.cols));
  return PROFILE("dropout", k->ops->dropout(k, x, op, y));
}

int op_sparse_dropout(struct kernels *k, const struct sparse_dropout *op) {
  assert(op->x->csr == op->y->csr && op->x != op->y && !op->x->csr->row);
  return PROFILE("sparse_dropout", k->ops->sparse_dropout(k, op));
}

int op_update(struct kernels *k, const struct update *op) {
  check_update(k, op, op->z.rows, op->z.cols);
  assert(!op->loss);
  return PROFILE_WORK("update", update_bytes(op), 0, k->ops->update(k, op));
}

int op_update_backward(struct kernels *k, const struct update_backward *op) {
  check_update_backward(k, op);
  assert(!op->then || is_gradient_of(op->dz, op->then));
  TRY(PROFILE_WORK("update_backward", update_backward_bytes(op), 0, k->ops->update_backward(k, op)));
  return op->then ? op_gemm(k, op->then) : OK;
}

int op_batch_norm_backward(struct kernels *k, const struct batch_norm_backward *op) {
  assert(op->forward->norm == NORM_BATCH && op->count > 0 && op->forward->z.dtype == k->dtype);
  assert(is_matrix(k, op->dz, op->forward->z.rows, op->forward->z.cols));
  assert(op->forward->z.data != op->dz.data || op->dz.rows == 0);
  return PROFILE("batch_norm_backward", k->ops->batch_norm_backward(k, op));
}

int op_batch_norm_stats(struct kernels *k, const struct batch_norm_stats *op) {
  assert(op->step == BATCH_NORM_RUNNING || op->count > 0);
  return PROFILE("batch_norm_stats", k->ops->batch_norm_stats(k, op));
}

int op_column_sums(struct kernels *k, const struct column_sums *op) {
  assert(is_either_matrix(k, op->x, op->x.rows, op->x.cols));
  return PROFILE("column_sums", k->ops->column_sums(k, op));
}

int op_column_moments(struct kernels *k, const struct column_moments *op) {
  assert(is_either_matrix(k, op->x, op->x.rows, op->x.cols));
  return PROFILE("column_moments", k->ops->column_moments(k, op));
}

int op_add_all(struct kernels *k, const struct add *op, int count) {
  double bytes = 0;
  for (int i = 0; i < count; i++) {
    assert(is_either_matrix(k, op[i].x, op->y.rows, op->y.cols) && op[i].x.dtype == op->x.dtype);
    assert(is_either_matrix(k, op[i].y, op->y.rows, op->y.cols) && op[i].y.dtype == op->y.dtype);
    assert(op[i].x.data != op[i].y.data || (op->x.dtype == op->y.dtype && op[i].x.stride == op[i].y.stride));
    bytes += bytes_of(op[i].x) + (op[i].accumulate ? 2 : 1) * bytes_of(op[i].y);
  }
  return count > 0 ? PROFILE_WORK("add", bytes, 0, k->ops->add(k, op, count)) : OK;
}

int op_add(struct kernels *k, const struct add *op) {
  return op_add_all(k, op, 1);
}

int op_dot(struct kernels *k, const struct dot *op) {
  assert(is_matrix(k, op->a, op->a.rows, op->a.cols) && is_matrix(k, op->b, op->a.rows, op->a.cols));
  return PROFILE_WORK("dot", bytes_of(op->a) + bytes_of(op->b), 0, k->ops->dot(k, op));
}

int op_cross_entropy(struct kernels *k, const struct loss_op *op) {
  check_loss(k, op);
  assert(op->label || op->count == 0);
  return PROFILE("cross_entropy", k->ops->cross_entropy(k, op));
}

int op_bce(struct kernels *k, const struct loss_op *op) {
  check_loss(k, op);
  assert(op->labels || op->count == 0);
  return PROFILE("bce", k->ops->bce(k, op));
}

int op_sum_losses(struct kernels *k, const struct loss_op *op) {
  assert(op->row_loss || op->logits.rows == 0);
  return PROFILE("sum_losses", k->ops->sum_losses(k, op));
}

int op_accuracy(struct kernels *k, const struct score *op) {
  assert(is_real_matrix(k, op->logits, op->logits.rows, op->logits.cols) && (op->label || op->count == 0));
  return PROFILE("accuracy", k->ops->accuracy(k, op));
}

int op_micro_f1(struct kernels *k, const struct score *op) {
  assert(is_real_matrix(k, op->logits, op->logits.rows, op->logits.cols) && (op->labels || op->count == 0));
  return PROFILE("micro_f1", k->ops->micro_f1(k, op));
}

int op_advance(struct kernels *k, const double *rate, int64_t rates) {
  assert(rates > 0);
  return PROFILE("advance", k->ops->advance(k, rate, rates));
}

int op_sum_squares(struct kernels *k, const void *x, int64_t count) {
  assert(count >= 0);
  return PROFILE("sum_squares", k->ops->sum_squares(k, x, count));
}

int op_optimizer(struct kernels *k, const struct optimizer_op *op) {
  assert(op->decay_end >= 0 && op->decay_end <= op->count);
  assert(op->group_begin >= 0 && op->group_begin <= op->group_end && op->group_end <= op->count);
  assert(k->dtype == k->real ? !op->copy : op->copy || op->count == 0);
  assert(op->optimizer == OPTIMIZER_SGD || op->v || op->count == 0);
  return PROFILE("optimizer", k->ops->optimizer(k, op));
}
