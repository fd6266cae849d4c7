/* Attention over rows of float, forward. */
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/attention_launch.cuh"

int attention_forward_f32(struct kernels *k, struct attention_task *task) {
  return run_direction<float, FORWARD>(k, task);
}
