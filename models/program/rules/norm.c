/* norm: the gradient of a batch norm (Ioffe and Szegedy 2015), whose sums are over the rows of all ranks. */
#include "kernels/ops/elementwise.h"
#include "models/program/rules/rules.h"
#include "runtime/base/error.h"

/* Of all ranks; *sums: [2, cols], of dn and of dn xhat. Where there is one rank they are the gradients. */
static int sum_over_ranks(const struct pass *pass, const struct step *forward, void *sums[2]) {
  struct run *run = pass->run;
  const int64_t cols = pass->program->norm[forward->index.norm].cols;
  const int64_t bytes = cols * dtype_bytes(run->kernels->real);
  sums[0] = rule_gradient(pass, forward->index.shift);
  sums[1] = rule_gradient(pass, forward->index.gain);
  if (run->comm->size == 1) return OK;
  for (int i = 0; i < 2; i++) {
    void *to = (char *)pass->sums + i * bytes;
    TRY(device_copy(run->device, STREAM_COMPUTE, to, sums[i], bytes));
    sums[i] = to;
  }
  return comm_allreduce(run->comm, pass->sums, 2 * cols, run_number(run), REDUCE_SUM);
}

/* From dn to dz; or the product whose dn was not kept once more: this time dz is made of it, and sums are
 * there. */
int run_norm_backward(const struct pass *pass, const struct step *step) {
  const struct step *forward = &pass->program->step[step->of];
  const struct step *product = fused(pass, step, FUSE_DGRAD);
  struct epilogue epilogue = rule_epilogue_of(pass, forward);
  void *sums[2];
  int repeated = 0;
  epilogue.loss = NULL;
  epilogue.z = tensor_in(pass, step, 1);
  TRY(sum_over_ranks(pass, forward, sums));
  struct batch_norm_backward norm = {.forward = &epilogue,
                                     .dz = tensor_out(pass, step, 0),
                                     .sum_dn = sums[0],
                                     .sum_dn_xhat = sums[1],
                                     .count = pass->run->shard->global_nodes};
  if (product) TRY(rule_repeat(pass, product, &norm, &repeated));
  return repeated ? OK : op_batch_norm_backward(pass->run->kernels, &norm);
}
