/* The sums of spmm over rows of float that are written as they are, or with a plain update. */
#include "kernels/cuda/spmm/spmm_variant.cuh"

struct variant spmm_plain_f32(const struct task *task) {
  return choose_panels<float, END_PLAIN>(*task);
}
