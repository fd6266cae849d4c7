/* left_v = l . x_v, right_v = r . x_v, head by head, and their gradients; see struct attention_terms. */
#include "kernels/cpu/attention/attention_arc.h"
#include "kernels/cpu/common/partial.h"
#include "runtime/base/base.h"

int REAL(cpu_attention_terms)(struct kernels *k, const struct attention_terms *op) {
  int64_t rows = op->x.rows, heads = op->l.rows, width = op->l.cols;
#pragma omp parallel for num_threads(threads_for(k, rows * op->x.cols)) schedule(static)
  for (int64_t v = 0; v < rows; v++) {
    for (int64_t h = 0; h < heads; h++) {
      const real *x = row_of(op->x, v) + h * width;
      row_of(op->left, v)[h] = dot(x, row_of(op->l, h), width);
      row_of(op->right, v)[h] = dot(x, row_of(op->r, h), width);
    }
  }
  return OK;
}

/* Rows [first, end); sums of l_grad and r_grad, one behind the other, go to `sum`. */
static void backward_of_rows(const struct attention_terms_backward *op, int64_t first, int64_t end,
                             double *sum) {
  int64_t heads = op->l_grad.rows, width = op->l_grad.cols, cols = op->x.cols;
  memset(sum, 0, (size_t)(2 * cols) * sizeof *sum);
  for (int64_t v = first; v < end; v++) {
    for (int64_t h = 0; h < heads; h++) {
      const real *x = row_of(op->x, v) + h * width;
      real left = row_of(op->left_grad, v)[h], right = row_of(op->right_grad, v)[h];
      double *l_sum = sum + h * width, *r_sum = l_sum + cols;
#pragma omp simd
      for (int64_t j = 0; j < width; j++) {
        l_sum[j] += (double)(left * x[j]);
        r_sum[j] += (double)(right * x[j]);
      }
    }
  }
}

int REAL(cpu_attention_terms_backward)(struct kernels *k, const struct attention_terms_backward *op) {
  int64_t rows = op->x.rows, cols = op->x.cols, width = op->l_grad.cols;
  int parts = k->device->threads;
  double *partial = NULL;
  TRY(kernels_workspace(k, parts * 2 * cols * (int64_t)sizeof *partial, (void **)&partial));
#pragma omp parallel for num_threads(threads_for(k, rows *cols)) schedule(static, 1)
  for (int p = 0; p < parts; p++)
    backward_of_rows(op, part_first(rows, parts, p), part_first(rows, parts, p + 1), partial + p * 2 * cols);
  for (int64_t h = 0; h < op->l_grad.rows; h++) {
    add_parts(partial + h * width, 2 * cols, parts, width, row_of(op->l_grad, h));
    add_parts(partial + cols + h * width, 2 * cols, parts, width, row_of(op->r_grad, h));
  }
  return OK;
}
