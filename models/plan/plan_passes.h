/* plan_passes: the constants of passes over whole matrices (struct cost_pass) of a GPU: those with which
 * epochs last as long on a simulated GPU as they do on it. */
#ifndef MODELS_PLAN_PLAN_PASSES_H
#define MODELS_PLAN_PLAN_PASSES_H

#include "kernels/cost/cost_model.h"
#include "runtime/comm/comm.h"
#include "runtime/device/device.h"

/* Trains made graphs with few arcs for some epochs each on `device`, in bf16, tf32 and fp32: a small one,
 * whose epoch is made of starts; one of many narrow rows, which is made of bytes; a wide one, of operations.
 * Sets start, byte and operations of model->pass, whose constants of sparse products hold already and whose
 * name is the device's. comm is of one rank. From then on the model's constants alone are known
 * (cost_models.h). Errors: FAILED when memory is short; what set-up says. */
int plan_passes_fit(struct comm *comm, struct device *device, struct cost_model *model);

#endif
