/* The sums of spmm over rows of float that end in whatever spmm adds to them. */
#include "kernels/cuda/spmm/spmm_variant.cuh"

struct variant spmm_ends_f32(const struct task *task) {
  return task->end == END_ANY ? choose_any<float>() : choose_panels<float, END_SUM>(*task);
}
