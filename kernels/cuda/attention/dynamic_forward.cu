/* Attention with dynamic scores, forward. */
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/dynamic.cuh"

int dynamic_forward(struct kernels *k, const struct attention_task *task, enum dtype dtype) {
  return dtype == BF16 ? run_pass<bf16, dynamic_pass::FORWARD>(k, task)
                       : run_pass<float, dynamic_pass::FORWARD>(k, task);
}
