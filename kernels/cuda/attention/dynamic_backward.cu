/* Attention with dynamic scores, backward over the arcs into a row and out of it. */
#include "kernels/cuda/attention/attention.h"
#include "kernels/cuda/attention/dynamic.cuh"

int dynamic_in(struct kernels *k, const struct attention_task *task, enum dtype dtype) {
  return dtype == BF16 ? run_pass<bf16, dynamic_pass::IN>(k, task)
                       : run_pass<float, dynamic_pass::IN>(k, task);
}

int dynamic_out(struct kernels *k, const struct attention_task *task, enum dtype dtype) {
  return dtype == BF16 ? run_pass<bf16, dynamic_pass::OUT>(k, task)
                       : run_pass<float, dynamic_pass::OUT>(k, task);
}
