/* Rows of a left matrix in registers, 64 bytes of each at a time (a step), and their products with a panel.
 *
 * Lane 4 g + q holds 16 bytes of a step of rows g and g + 8 of a warp's 16, which it takes to be terms 2 q
 * and 2 q + 1 of both halves of a product: the panel's terms are permuted alike. A step of the panel is
 * [plane][half][block][column] of 8 terms each; planes: floats' hi and mid, or the two products of bf16. */
#ifndef KERNELS_CUDA_GEMM_GEMM_FRAGMENT_CUH
#define KERNELS_CUDA_GEMM_GEMM_FRAGMENT_CUH

#include "kernels/cuda/gemm/gemm_split.cuh"
#include "kernels/cuda/gemm/gemm_wgmma.cuh"

/* A step of a warp's 16 rows as products take it: hi and mid, or the first and the second half of bf16. */
struct fragment {
  uint32_t word[2][4];
};

/* x, y: of the lane's two rows. */
template <class T>
static __device__ __forceinline__ void make_fragment(const uint4 &x, const uint4 &y, struct fragment &to) {
  const uint32_t pair[4][2] = {{x.x, x.y}, {y.x, y.y}, {x.z, x.w}, {y.z, y.w}};
#pragma unroll
  for (int i = 0; i < 4; i++) {
    if constexpr (sizeof(T) == 4) {
      const struct bf16x2_split cut = split(__uint_as_float(pair[i][0]), __uint_as_float(pair[i][1]));
      to.word[0][i] = cut.hi;
      to.word[1][i] = cut.mid;
    } else {
      to.word[i / 2][i % 2] = pair[i][0];
      to.word[i / 2][i % 2 + 2] = pair[i][1];
    }
  }
}

/* sum += A B over a step, as one group of products. */
template <class T, int BLOCKS>
static __device__ __forceinline__ void multiply_step(const struct fragment &a, uint64_t panel, int adds,
                                                     float (&sum)[BLOCKS][4]) {
  const uint64_t other = further(panel, 256 * BLOCKS);
  open_products();
  if constexpr (sizeof(T) == 4) {
    multiply(sum, a.word[1], panel, adds);
    multiply(sum, a.word[0], other, 1);
    multiply(sum, a.word[0], panel, 1);
  } else {
    multiply(sum, a.word[0], panel, adds);
    multiply(sum, a.word[1], other, 1);
  }
  close_products();
}

#endif
