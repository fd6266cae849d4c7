/* Attention over rows of float, backward. */
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/attention_launch.cuh"

int attention_backward_f32(struct kernels *k, struct attention_task *task) {
  return run_direction<float, BACKWARD>(k, task);
}
