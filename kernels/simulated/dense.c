/* Ops on whole matrices: each is a pass over what its work says. */
#include "kernels/ops/elementwise.h"
#include "kernels/ops/gemm.h"
#include "kernels/ops/loss.h"
#include "kernels/ops/optimizer.h"
#include "kernels/simulated/simulated.h"

SIMULATED_PASS(gather, gather)
SIMULATED_PASS(epilogue, epilogue)
SIMULATED_PASS(epilogue_backward, epilogue_backward)
SIMULATED_PASS(batch_norm_backward, batch_norm_backward)
SIMULATED_PASS(batch_norm_stats, batch_norm_stats)
SIMULATED_PASS(column_sums, column_sums)
SIMULATED_PASS(column_moments, column_moments)
SIMULATED_PASS(dot, dot)
SIMULATED_PASS(signs, signs)

static int dropout(struct kernels *k, struct tensor x, const struct dropout *op, struct tensor y) {
  (void)x, (void)op, (void)y;
  return simulated_pass(k);
}

static int add(struct kernels *k, const struct add *op, int count) {
  (void)op, (void)count;
  return simulated_pass(k);
}

const struct elementwise_ops simulated_elementwise_ops = {.gather = gather,
                                                          .dropout = dropout,
                                                          .epilogue = epilogue,
                                                          .epilogue_backward = epilogue_backward,
                                                          .batch_norm_backward = batch_norm_backward,
                                                          .batch_norm_stats = batch_norm_stats,
                                                          .column_sums = column_sums,
                                                          .column_moments = column_moments,
                                                          .add = add,
                                                          .dot = dot,
                                                          .signs = signs};

SIMULATED_PASS(loss, loss_op)
SIMULATED_PASS(score, score)

const struct loss_ops simulated_loss_ops = {
    .cross_entropy = loss, .bce = loss, .sum_losses = loss, .accuracy = score, .micro_f1 = score};

static int advance(struct kernels *k, const double *rate, int64_t rates) {
  (void)rate, (void)rates;
  return simulated_pass(k);
}

static int sum_squares(struct kernels *k, const void *x, int64_t count) {
  (void)x, (void)count;
  return simulated_pass(k);
}

SIMULATED_PASS(optimizer, optimizer_op)

const struct optimizer_ops simulated_optimizer_ops = {
    .advance = advance, .sum_squares = sum_squares, .optimizer = optimizer};

SIMULATED_PASS(gemm, gemm)

/* A GPU that has a kernel for it takes all along that is asked for. */
static int gemm_fused(struct kernels *k, const struct gemm *op, int *took) {
  const struct gemm *chained_wgrad = op->backward ? op->backward->chained_wgrad : NULL;
  *took = (chained_wgrad ? FUSED_CHAINED_WGRAD : 0) | (op->chained ? FUSED_CHAINED_GEMM : 0) |
          (op->fused_wgrad || op->fused_wgrad2 ? FUSED_WGRAD : 0);
  k->work = gemm_work(op, *took);
  return simulated_pass(k);
}

const struct gemm_ops simulated_gemm_ops = {.gemm = gemm, .gemm_fused = gemm_fused};
