/* The sums of spmm over rows of bf16 that end in whatever spmm adds to them. */
#include "kernels/cuda/spmm/spmm_variant.cuh"

struct variant spmm_epilogues_bf16(const struct task *task) {
  return task->epilogue == EPILOGUE_ANY ? choose_any<bf16>() : choose_panels<bf16, EPILOGUE_SUM>(*task);
}
