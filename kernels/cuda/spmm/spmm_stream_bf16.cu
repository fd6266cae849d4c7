/* Sums over short rows of bf16. */
#include "kernels/cuda/spmm/spmm_stream.cuh"

struct variant spmm_stream_bf16(const struct task *task) {
  return choose_stream<bf16>(*task);
}
