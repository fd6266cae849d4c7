/* Attention over rows of bf16, backward. */
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/attention_launch.cuh"

int attention_backward_bf16(struct kernels *k, struct attention_task *task) {
  return run_direction<bf16, BACKWARD>(k, task);
}
