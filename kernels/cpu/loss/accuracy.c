/* How many rows have their largest logit (the lowest of equal ones) at their label. */
#include "kernels/cpu/loss/loss_ops.h"
#include "runtime/base/error.h"

int REAL(cpu_accuracy)(struct kernels *k, const struct score *op) {
  int threads = threads_for(k, op->count * op->logits.cols);
  int64_t correct = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : correct)
  for (int64_t i = 0; i < op->count; i++) {
    const real *x = row_of(op->logits, op->rows[i]);
    int64_t best = 0;
    for (int64_t j = 1; j < op->logits.cols; j++) best = x[j] > x[best] ? j : best;
    correct += best == op->label[op->rows[i]];
  }
  op->out[0] = correct;
  op->out[1] = op->out[2] = op->count;
  return OK;
}
