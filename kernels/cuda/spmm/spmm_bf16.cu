/* The sums of spmm over rows of bf16. */
#include "kernels/cuda/spmm/spmm_variant.cuh"

struct variant spmm_variant_bf16(const struct task *task) {
  return choose<bf16>(*task);
}
