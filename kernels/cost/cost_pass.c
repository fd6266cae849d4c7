#include "kernels/cost/cost_pass.h"

/* Kernels hide little of either behind the other: their sum repeats measured products best. */
double cost_pass_seconds(const struct cost_model *model, enum precision precision, double bytes,
                         double flops) {
  const struct cost_pass *pass = &model->pass;
  const double flop = precision == PRECISION_BF16   ? pass->flop_bf16
                      : precision == PRECISION_TF32 ? pass->flop_tf32
                                                    : pass->flop_fp32;
  return (pass->start + bytes * pass->byte + flops * flop) * 1e-12;
}
