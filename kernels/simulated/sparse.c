/* Ops over the arcs of a layout: what the gather of their rows takes, and a pass over the rest. */
#include <math.h>

#include "kernels/cost/cost_attention.h"
#include "kernels/cost/cost_csr.h"
#include "kernels/cost/cost_models.h"
#include "kernels/ops/attention.h"
#include "kernels/ops/ops_check.h"
#include "kernels/ops/reduce.h"
#include "kernels/ops/sparse.h"
#include "kernels/simulated/simulated.h"
#include "runtime/base/error.h"

/* By the constants of `model`. */
static double arc_seconds(const struct kernels *k, const struct cost_model *model, const struct layout *of,
                          double width) {
  const struct simulated_layout *layout = (const struct simulated_layout *)of;
  const struct cost_case c = {model, k->precision, (int64_t)fmax(width, 1), of->csr->weight != NULL,
                              layout->rows};
  if (of->csr->rows == 0) return 0;
  if (of->plain) return cost_csr_seconds(&c, &layout->density);
  return cost_product_seconds(&c, &layout->density, of->least, &layout->windows);
}

/* Its arcs, `factor` times what a bare sum takes, and so many bytes beside. */
static int gather(struct kernels *k, const struct layout *layout, double width, double factor,
                  double beside) {
  const struct cost_model *model = cost_model_of(k->device->name);
  const double arcs = factor * arc_seconds(k, model, layout, width), rest = beside * model->pass.byte * 1e-12;
  return device_delay(k->device, STREAM_COMPUTE, arcs + rest);
}

/* Arcs with scores, some of them in tiles, by the constants of `of`. */
static int attend_tiles(struct kernels *k, const struct layout *layout, const struct cost_model *of,
                        double width, double beside) {
  const double rest = beside * of->pass.byte * 1e-12;
  return device_delay(k->device, STREAM_COMPUTE, arc_seconds(k, of, layout, width) + rest);
}

static int attend_tiles_by_terms(struct kernels *k, const struct layout *layout, int64_t heads, double width,
                                 double beside) {
  const struct cost_model of = cost_attention(cost_model_of(k->device->name), heads);
  return attend_tiles(k, layout, &of, width, beside);
}

static int attend_by_cosines(struct kernels *k, const struct layout *layout, enum cosine_pass pass,
                             double width, double beside) {
  const struct cost_model of = cost_cosines(cost_model_of(k->device->name), pass);
  return attend_tiles(k, layout, &of, width, beside);
}

/* Of arcs with scores. */
static int attend(struct kernels *k, const struct layout *layout, double width, double beside) {
  return gather(k, layout, width, cost_model_of(k->device->name)->pass.scores, beside);
}

/* Bytes of the rows' `cols` columns, with which another part of the matrix goes on: sums, where there are
 * some, in place of the result; and read by the other part. */
static double parted(const struct layout *a, double cols, const void *has_halo, int accumulate,
                     const struct tensor *sums, enum dtype result) {
  const double numbers = (double)a->csr->rows * cols, number = (double)dtype_bytes(result),
               sum = sums->data ? (double)dtype_bytes(sums->dtype) : number;
  return (has_halo ? numbers * (sum - number) : 0) + (accumulate ? numbers * sum : 0);
}

/* What rows read and write besides: themselves, what is added, sums that another part of the matrix goes on
 * with. */
static double spmm_beside(const struct spmm *op) {
  double bytes = (op->self_scale ? bytes_of(op->self) : 0) + bytes_of(op->added);
  bytes += parted(op->a, (double)op->y.cols, op->has_halo, op->accumulate, &op->sums, op->y.dtype);
  if (op->epilogue) bytes += bytes_of(op->epilogue->residual);
  return op->below ? bytes + bytes_kept(op->below) : bytes;
}

/* What tensor cores take of a product, where they may begin before the rest. */
static double ahead_seconds(const struct kernels *k, const struct spmm *op) {
  const struct simulated_layout *layout = (const struct simulated_layout *)op->a;
  const struct cost_case c = {cost_model_of(k->device->name), k->precision, op->y.cols,
                              op->a->csr->weight != NULL, layout->rows};
  return op->a->tiles > 0 ? cost_divided(&c, &layout->density, op->a->least).tile_seconds : 0;
}

static int spmm(struct kernels *k, const struct spmm *op) {
  const struct cost_model *model = cost_model_of(k->device->name);
  const double ahead = op->phase == SPMM_WHOLE ? 0 : ahead_seconds(k, op);
  if (op->phase == SPMM_AHEAD) return device_delay(k->device, STREAM_COMPUTE, ahead);
  const double ends = op->epilogue || op->below ? model->pass.ends : 1;
  const double arcs = ends * (arc_seconds(k, model, op->a, (double)op->y.cols) - ahead);
  return device_delay(k->device, STREAM_COMPUTE, arcs + spmm_beside(op) * model->pass.byte * 1e-12);
}

/* Tiles and condensed windows of floats work on planes of bf16. */
static int64_t planes_workspace(const struct spmm *op) {
  const int planes = op->x.dtype == F32 && (op->a->tiles > 0 || op->a->windows > 0);
  return planes ? op->x.rows * op->x.stride * (int64_t)sizeof(float) : 0;
}

SIMULATED_PASS(sparse_dropout, sparse_dropout)

const struct sparse_ops simulated_sparse_ops = {.layout_init = simulated_layout_init,
                                                .layout_share = simulated_layout_share,
                                                .layout_free = simulated_layout_free,
                                                .spmm = spmm,
                                                .spmm_workspace = planes_workspace,
                                                .sparse_dropout = sparse_dropout};

static int reduce(struct kernels *k, const struct reduce *op) {
  return gather(k, op->a, (double)op->x.cols, 1, 0);
}

/* Winners' ids are gathered, and the gradients that they win. */
static int reduce_backward(struct kernels *k, const struct reduce_backward *op) {
  return gather(k, op->a, (double)(op->dx.cols * 4 / dtype_bytes(k->dtype)), 1, 0);
}

const struct reduce_ops simulated_reduce_ops = {.reduce = reduce, .reduce_backward = reduce_backward};

/* Rows of x and terms of an arc's end, in numbers of activations. */
static double arc_width(const struct kernels *k, int64_t cols, int64_t reals) {
  return (double)(cols + reals * dtype_bytes(k->real) / dtype_bytes(k->dtype));
}

static int attention(struct kernels *k, const struct attention *op) {
  const double width = arc_width(k, op->x.cols, op->right.data ? 0 : op->heads);
  const double kept = (double)(op->y.cols + (op->positive.data ? op->positive.cols : 0));
  const double beside = bytes_of(op->self.x) + bytes_of(op->right) + bytes_of(op->positive) +
                        parted(op->a, kept, op->has_halo, op->accumulate, &op->sums, op->y.dtype);
  if (op->a->tiles > 0) return attend_tiles_by_terms(k, op->a, op->heads, width, beside);
  return attend(k, op->a, width, beside);
}

static int attention_backward(struct kernels *k, const struct attention_backward *op) {
  const double width = (double)op->message.cols;
  const double beside = bytes_of(op->x) + bytes_of(op->self) +
                        parted(op->a, (double)op->dx.cols, op->has_halo, op->accumulate, &op->sums,
                               op->dx.dtype);
  return op->a->tiles > 0 ? attend_tiles_by_terms(k, op->a, op->heads, width, beside)
                          : attend(k, op->a, width, beside);
}

/* Two sums of the rows of windows with tiles and three numbers a head; three numbers a column and head. */
static int64_t workspace_of_attention(const struct layout *a, int64_t width, int64_t heads) {
  const struct simulated_layout *layout = (const struct simulated_layout *)a;
  if (a->tiles == 0) return 0;
  return (layout->merged_rows * (2 * width + 3 * heads) + a->csr->cols * 3 * heads) * (int64_t)sizeof(float);
}

static int dynamic_backward(struct kernels *k, const struct dynamic_backward *op) {
  const int in = op->way == DYNAMIC_IN;
  return attend(k, op->a, (double)(in ? op->x.cols : op->message.cols),
                bytes_of(in ? op->message : op->x) + 2 * bytes_of(op->products));
}

static int cosine_attention(struct kernels *k, const struct cosine_attention *op) {
  const double beside = bytes_of(op->rows), width = (double)op->y.cols;
  return attend_by_cosines(k, op->a, COSINE_FORWARD, width, beside);
}

static int cosine_backward(struct kernels *k, const struct cosine_backward *op) {
  const double beside = bytes_of(op->rows) + bytes_of(op->dn), width = (double)op->dn.cols;
  return attend_by_cosines(k, op->a, COSINE_BACKWARD, width, beside);
}

SIMULATED_PASS(attention_rows, attention_rows)
SIMULATED_PASS(attention_terms, attention_terms)
SIMULATED_PASS(attention_terms_backward, attention_terms_backward)
SIMULATED_PASS(dynamic_rows, dynamic_rows)
SIMULATED_PASS(cosine_rows, cosine_rows)
SIMULATED_PASS(cosine_epilogue, cosine_epilogue)

const struct attention_ops simulated_attention_ops = {.attention_workspace = workspace_of_attention,
                                                      .attention = attention,
                                                      .attention_rows = attention_rows,
                                                      .attention_backward = attention_backward,
                                                      .attention_terms = attention_terms,
                                                      .attention_terms_backward = attention_terms_backward,
                                                      .dynamic_rows = dynamic_rows,
                                                      .dynamic_backward = dynamic_backward,
                                                      .cosine_rows = cosine_rows,
                                                      .cosine_attention = cosine_attention,
                                                      .cosine_backward = cosine_backward,
                                                      .cosine_epilogue = cosine_epilogue};
