/* C = A^T B from shares of the rows: each leaves its sums as tiles of C, some columns of one matrix ("left")
 * by some of the other ("right"), and these are added in order. */
#ifndef KERNELS_CUDA_GEMM_TILES_CUH
#define KERNELS_CUDA_GEMM_TILES_CUH

#include "kernels/cuda/gemm.h"

constexpr int LEFT_COLS = 256; /* of a tile at most */

/* C_ij = factor times the sum over shares of the tiles' elements. is_turned: the left matrix is B, and the
 * tiles are of C^T.
 */
struct tile_sum {
  const float *partial; /* [shares, tiles, left_cols, right_cols] */
  int64_t shares, tiles, right_tiles;
  int left_cols, right_cols; /* of a tile */
  bool is_turned, accumulate;
  struct tensor c;
  float factor;
};

/* left, right: columns that there are. */
int cuda_add_tiles(struct kernels *k, const struct tile_sum *sum, int64_t left, int64_t right);

#endif
