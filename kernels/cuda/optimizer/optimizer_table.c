#include "kernels/cuda/optimizer/optimizer_ops.h"

const struct optimizer_ops cuda_optimizer_ops = {
    .advance = cuda_advance,
    .sum_squares = cuda_sum_squares,
    .optimizer = cuda_optimizer,
};
