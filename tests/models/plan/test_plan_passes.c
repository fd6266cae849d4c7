/* Constants of passes, fitted to a GPU that is itself simulated: its constants come out. */
#include "models/plan/plan_passes.h"

#include "kernels/cost/cost_models.h"
#include "runtime/device/device_list.h"
#include "tests/ranks.h"

static struct comm comm;
RANK_TESTS(comm);

static struct device device;

BEFORE_EACH {
  assert_ok(device_simulate(&device, cost_model_h100.name, 80LL << 30, 1));
}

AFTER_EACH {
  device_close(&device);
  cost_models_forget();
}

TEST(the_constants_of_a_simulated_gpu_are_found) {
  const struct cost_pass *truth = &cost_model_h100.pass;
  struct cost_model model = cost_model_h100;
  struct cost_pass *pass = &model.pass;
  model.name = "another";
  *pass = cost_model_h200.pass;
  pass->start = pass->flop_bf16 = 0; /* as a kept file may say */
  assert_ok(plan_passes_fit(&comm, &device, &model));
  assert_close(pass->start, truth->start, .01 * truth->start);
  assert_close(pass->byte, truth->byte, .01 * truth->byte);
  assert_close(pass->flop_bf16, truth->flop_bf16, .01 * truth->flop_bf16);
  assert_close(pass->flop_tf32, truth->flop_tf32, .01 * truth->flop_tf32);
  assert_close(pass->flop_fp32, truth->flop_fp32, .01 * truth->flop_fp32);
  assert_close(cost_model_of("another")->pass.byte, pass->byte, 0);
}
