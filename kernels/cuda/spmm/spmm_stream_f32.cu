/* Sums over short rows of float. */
#include "kernels/cuda/spmm/spmm_stream.cuh"

struct variant spmm_stream_f32(const struct task *task) {
  return choose_stream<float>(*task);
}
