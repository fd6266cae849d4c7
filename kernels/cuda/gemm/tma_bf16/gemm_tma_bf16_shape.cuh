/* What products by bulk copies (gemm_tma_bf16.cuh) are given: matrices as copies see them, and how these are
 * cut.
 */
#ifndef KERNELS_CUDA_GEMM_TMA_BF16_GEMM_TMA_BF16_SHAPE_CUH
#define KERNELS_CUDA_GEMM_TMA_BF16_GEMM_TMA_BF16_SHAPE_CUH

#include "kernels/cuda/common/tma.cuh"
#include "kernels/cuda/gemm/gemm_epilogue.cuh"

struct tma_bf16_maps {
  CUtensorMap a, b, a2, b2, saved, out;
};

struct tma_bf16_product {
  int64_t m, tiles;
  int n, height;    /* of a tile */
  int steps, depth; /* products of a sum; boxes of a tile of A and A2 */
  int depth2;       /* of A2; 0: there is none */
  int boxes;        /* of a tile of C */
  int slots;
  bool transpose_b;
  struct gemm_epilogue epilogue;
};

/* Products of a sum; boxes of a tile of A and A2, and of A2. */
struct terms_in_boxes {
  int steps, depth, depth2;
};

/* Of the last box products take as many terms as there are; what A's last box lacks before A2's are zeros. */
static inline struct terms_in_boxes terms_of(const struct gemm *op) {
  const int steps = (int)blocks_of(op->a.cols, TERMS), depth = (int)blocks_of(op->a.cols, BOX_COLS);
  if (!op->a2.data) return {steps, depth, 0};
  const int depth2 = (int)blocks_of(op->a2.cols, BOX_COLS);
  return {depth * (BOX_COLS / TERMS) + (int)blocks_of(op->a2.cols, TERMS), depth + depth2, depth2};
}

/* Tiles of equal height, in as few rounds of so many blocks as their largest height allows; as many blocks as
 * have one. */
static inline unsigned lay_tiles(int64_t blocks, struct tma_bf16_product *p) {
  const int64_t rounds = (p->m + blocks * BOX_ROWS - 1) / (blocks * BOX_ROWS), tiles = rounds * blocks;
  p->height = (int)((p->m + tiles - 1) / tiles);
  p->tiles = (p->m + p->height - 1) / p->height;
  return (unsigned)(blocks < p->tiles ? blocks : p->tiles);
}

#endif
