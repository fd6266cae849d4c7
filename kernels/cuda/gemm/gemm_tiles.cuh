/* C = A^T B from shares of the rows: each leaves its sums as tiles of C, some columns of one matrix ("left")
 * by some of the other ("right"), and these are added in order. */
#ifndef KERNELS_CUDA_GEMM_GEMM_TILES_CUH
#define KERNELS_CUDA_GEMM_GEMM_TILES_CUH

#include "kernels/cuda/gemm/gemm.h"

/* C_ij = factor times the sum over shares of the tiles' elements. is_turned: the left matrix is B, and the
 * tiles are of C^T. */
struct tile_sum {
  const float *partial; /* [shares, tiles, left_cols, right_cols] */
  int64_t shares, tiles, right_tiles;
  int left_cols, right_cols; /* of a tile */
  bool is_turned, accumulate;
  struct tensor c;
  float factor;
};

/* What the shares of one product left: tiles of up to three, and sums of columns. */
struct share_sums {
  static constexpr int MOST = 3;
  struct tile_sum tile[MOST];
  int tiles;
  const double *partial; /* [parts, cols]; NULL: no sums of columns */
  int64_t parts, cols;
  float *out; /* [cols] */
};

static inline void take_tiles(struct share_sums *sums, const struct tile_sum &tile) {
  sums->tile[sums->tiles++] = tile;
}

static inline void take_columns(struct share_sums *sums, const double *partial, int64_t parts, int64_t cols,
                                void *out) {
  sums->partial = partial;
  sums->parts = parts;
  sums->cols = cols;
  sums->out = (float *)out;
}

/* All of them in one kernel. */
int cuda_add_shares(struct kernels *k, const struct share_sums *sums);

#endif
