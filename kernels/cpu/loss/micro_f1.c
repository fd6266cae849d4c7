/* True positives, positives predicted (logit > 0) and positives, over all classes. */
#include "kernels/cpu/loss/loss_ops.h"
#include "runtime/base/error.h"

int REAL(cpu_micro_f1)(struct kernels *k, const struct score *op) {
  int threads = threads_for(k, op->count * op->logits.cols);
  int64_t classes = op->logits.cols, correct = 0, predicted = 0, actual = 0;
#pragma omp parallel for num_threads(threads) schedule(static) reduction(+ : correct, predicted, actual)
  for (int64_t i = 0; i < op->count; i++) {
    int64_t v = op->rows[i];
    const real *x = row_of(op->logits, v);
    const uint8_t *label = op->labels + v * classes;
    for (int64_t j = 0; j < classes; j++) {
      int positive = x[j] > 0;
      correct += positive && label[j];
      predicted += positive;
      actual += label[j];
    }
  }
  op->out[0] = correct;
  op->out[1] = predicted;
  op->out[2] = actual;
  return OK;
}
