/* The sums of spmm over rows of float that end in a loss or a layer norm. */
#include "kernels/cuda/spmm/spmm_variant.cuh"

struct variant spmm_whole_rows_f32(const struct task *task) {
  return choose_whole<float>(*task);
}
