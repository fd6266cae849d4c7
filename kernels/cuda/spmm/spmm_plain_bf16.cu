/* The sums of spmm over rows of bf16 that are written as they are, or with a plain update. */
#include "kernels/cuda/spmm/spmm_variant.cuh"

struct variant spmm_plain_bf16(const struct task *task) {
  return choose_panels<bf16, END_PLAIN>(*task);
}
