/* The sums of spmm over rows of bf16 that end in whatever spmm adds to them. */
#include "kernels/cuda/spmm/spmm_variant.cuh"

struct variant spmm_ends_bf16(const struct task *task) {
  return task->end == END_ANY ? choose_any<bf16>() : choose_panels<bf16, END_SUM>(*task);
}
