/* The sums of spmm over rows of bf16 that end in a loss or a layer norm. */
#include "kernels/cuda/spmm/spmm_variant.cuh"

struct variant spmm_whole_rows_bf16(const struct task *task) {
  return choose_whole<bf16>(*task);
}
