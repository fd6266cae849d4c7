#include "kernels/cpu/loss/loss_rows.h"

#include "runtime/base/base.h"

/* Position in the ascending list of the first row >= v. */
static int64_t position(const struct loss_op *op, int64_t v) {
  int64_t low = 0, high = op->count;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (op->rows[middle] >= v)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static double loss_part(const struct loss_op *op, int64_t first, int64_t end, row_loss *loss) {
  double sum = 0;
  int64_t at = position(op, first);
  if (!op->grad.data) {
    for (; at < op->count && op->rows[at] < end; at++) sum += loss(op, op->rows[at], NULL);
    return sum;
  }
  for (int64_t v = first; v < end; v++) {
    real *grad = row_of(op->grad, v);
    if (at < op->count && op->rows[at] == v) {
      sum += loss(op, v, grad);
      if (op->grad_scale) scale_row(((const real *)op->grad_scale)[v], op->grad.cols, grad);
      at++;
    } else {
      memset(grad, 0, (size_t)op->grad.cols * sizeof *grad);
    }
  }
  return sum;
}

static double sum_part(const struct loss_op *op, int64_t first, int64_t end, row_loss *loss) {
  const real *row = op->row_loss;
  double sum = 0;
  (void)loss;
  for (int64_t v = first; v < end; v++) sum += (double)row[v];
  return sum;
}

/* *op->loss from the sums of parts of the rows. */
static int sum_parts(struct kernels *k, const struct loss_op *op, int threads,
                     double (*part)(const struct loss_op *, int64_t, int64_t, row_loss *), row_loss *loss) {
  int parts = k->device->threads;
  int64_t rows = op->logits.rows;
  double *sum = NULL, total = 0;
  TRY(kernels_workspace(k, parts * (int64_t)sizeof *sum, (void **)&sum));
#pragma omp parallel for num_threads(threads) schedule(static, 1)
  for (int p = 0; p < parts; p++)
    sum[p] = part(op, part_first(rows, parts, p), part_first(rows, parts, p + 1), loss);
  for (int p = 0; p < parts; p++) total += sum[p];
  *op->loss = op->scale * total;
  return OK;
}

int REAL(cpu_sum_losses)(struct kernels *k, const struct loss_op *op) {
  return sum_parts(k, op, threads_for(k, op->logits.rows), sum_part, NULL);
}

int REAL(cpu_loss_rows)(struct kernels *k, const struct loss_op *op, row_loss *loss) {
  return sum_parts(k, op, threads_for(k, op->logits.rows * op->logits.cols), loss_part, loss);
}
