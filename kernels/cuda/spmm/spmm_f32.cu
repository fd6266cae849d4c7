/* The sums of spmm over rows of float. */
#include "kernels/cuda/spmm/spmm_variant.cuh"

struct variant spmm_variant_f32(const struct task *task) {
  return choose<float>(*task);
}
