/* cost_pass: what work on whole matrices takes a device: products with weights, epilogues, losses. It is
 * memory's, where it is not the tensor cores'. */
#ifndef KERNELS_COST_COST_PASS_H
#define KERNELS_COST_COST_PASS_H

#include "kernels/cost/cost_rates.h"

/* Seconds of a kernel that moves and computes so much, behind another one. */
double cost_pass_seconds(const struct cost_model *model, enum precision precision, double bytes,
                         double flops);

#endif
