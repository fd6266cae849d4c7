/* One step of sgd, adam or adamw; see struct optimizer_op. With t steps taken,
 *   m = b1 m + (1 - b1) g;  v = b2 v + (1 - b2) g^2
 *   w -= lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon) */
#include "kernels/ops/optimizer.h"
#include "kernels/cpu/common/cpu.h"
#include "runtime/base/error.h"

static const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

/* What is the same for all elements of a range. */
struct step {
  real clip;         /* factor of the gradient */
  real decay;        /* g += decay w */
  real shrink;       /* w *= shrink */
  real lr, momentum; /* lr of adam: lr / (1 - b1^t) */
  real unbias;       /* 1 / sqrt(1 - b2^t) */
};

static struct step step_of(const struct scalars *scalars, const struct optimizer_op *op,
                           double weight_decay) {
  int adam = op->optimizer != OPTIMIZER_SGD, decoupled = op->optimizer == OPTIMIZER_ADAMW;
  double norm = sqrt(scalars->squares);
  return (struct step){
      .clip = (real)(op->clip > 0 && norm > op->clip ? op->clip / norm : 1),
      .decay = (real)(decoupled ? 0 : weight_decay),
      .shrink = (real)(decoupled ? 1 - scalars->lr * weight_decay : 1),
      .lr = (real)(adam ? scalars->lr / (1 - pow(beta1, scalars->step)) : scalars->lr),
      .momentum = (real)op->momentum,
      .unbias = (real)(adam ? 1 / sqrt(1 - pow(beta2, scalars->step)) : 1),
  };
}

static void adam(const struct optimizer_op *op, struct step s, int threads, int64_t first, int64_t end) {
  real *w = op->w, *m = op->m, *v = op->v;
  const real *dw = op->dw;
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (int64_t i = first; i < end; i++) {
    real g = dw[i] * s.clip + s.decay * w[i];
    m[i] = (real)beta1 * m[i] + (real)(1 - beta1) * g;
    v[i] = (real)beta2 * v[i] + (real)(1 - beta2) * g * g;
    w[i] = w[i] * s.shrink - s.lr * m[i] / (real_sqrt(v[i]) * s.unbias + (real)epsilon);
  }
}

static void sgd(const struct optimizer_op *op, struct step s, int threads, int64_t first, int64_t end) {
  real *w = op->w, *m = op->m;
  const real *dw = op->dw;
#pragma omp parallel for simd num_threads(threads) schedule(static)
  for (int64_t i = first; i < end; i++) {
    real g = dw[i] * s.clip + s.decay * w[i];
    m[i] = s.momentum * m[i] + g;
    w[i] -= s.lr * m[i];
  }
}

static double decay_at(const struct optimizer_op *op, int64_t i) {
  if (i >= op->group_begin && i < op->group_end) return op->group_decay;
  return i < op->decay_end ? op->weight_decay : 0;
}

/* Where the weight decay of element i may change next. */
static int64_t range_end(const struct optimizer_op *op, int64_t i) {
  const int64_t border[] = {op->decay_end, op->group_begin, op->group_end};
  int64_t end = op->count;
  for (int b = 0; b < 3; b++) {
    if (border[b] > i && border[b] < end) end = border[b];
  }
  return end;
}

static int cpu_optimizer(struct kernels *k, const struct optimizer_op *op) {
  void (*run)(const struct optimizer_op *, struct step, int, int64_t,
              int64_t) = op->optimizer == OPTIMIZER_SGD ? sgd : adam;
  int64_t end;
  if (k->scalars->frozen) return OK;
  for (int64_t first = 0; first < op->count; first = end) {
    end = range_end(op, first);
    run(op, step_of(k->scalars, op, decay_at(op, first)), threads_for(k, end - first), first, end);
  }
  return OK;
}

static int cpu_sum_squares(struct kernels *k, const void *x, int64_t count) {
  int parts = k->device->threads;
  const real *value = x;
  double *sum = NULL, total = 0;
  TRY(kernels_workspace(k, parts * (int64_t)sizeof *sum, (void **)&sum));
#pragma omp parallel for num_threads(threads_for(k, count)) schedule(static, 1)
  for (int p = 0; p < parts; p++) {
    double mine = 0;
    int64_t end = part_first(count, parts, p + 1);
#pragma omp simd reduction(+ : mine)
    for (int64_t i = part_first(count, parts, p); i < end; i++) mine += (double)value[i] * (double)value[i];
    sum[p] = mine;
  }
  for (int p = 0; p < parts; p++) total += sum[p];
  k->scalars->squares = total;
  if (!isfinite(total)) k->scalars->frozen = 1;
  return OK;
}

static int cpu_advance(struct kernels *k, const double *rate, int64_t rates) {
  struct scalars *scalars = k->scalars;
  if (scalars->frozen) return OK;
  scalars->epoch++;
  scalars->step++;
  scalars->lr = rate[scalars->epoch % rates];
  return OK;
}

const struct optimizer_ops REAL(cpu_optimizer_ops) = {
    .advance = cpu_advance,
    .sum_squares = cpu_sum_squares,
    .optimizer = cpu_optimizer,
};
