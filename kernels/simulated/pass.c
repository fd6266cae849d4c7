#include "kernels/cost/cost_pass.h"

#include "kernels/cost/cost_models.h"
#include "kernels/simulated/simulated.h"

int simulated_pass(struct kernels *k) {
  const double seconds = cost_pass_seconds(cost_model_of(k->device->name), k->precision, k->work.bytes,
                                           k->work.flops);
  return device_delay(k->device, STREAM_COMPUTE, seconds);
}
