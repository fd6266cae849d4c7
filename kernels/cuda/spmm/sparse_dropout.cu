/* Dropout of the stored values of a sparse matrix: those that are 0 stay 0 in any case. Neighbouring columns
 * of a sparse row rarely share a call of Philox, so each entry makes its own. */
#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/layout/layout.h"
#include "kernels/cuda/layout/row_segment.cuh"
#include "kernels/cuda/spmm/spmm_ops.h"

constexpr int LANES = 8; /* threads of a row segment */

struct sparse {
  struct cuda_layout x;
  float *value;
  struct dropout dropout;
  bool transposed;
  const struct scalars *scalars;
};

static __global__ void __launch_bounds__(BLOCK)
    sparse_dropout_kernel(const __grid_constant__ struct sparse op) {
  int64_t at = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
  if (at >= op.x.row_segments) return;
  const struct row_segment row_segment = read_row_segment(op.x.row_segment, at);
  uint32_t epoch = op.scalars->epoch;
  int64_t row = row_segment.target >= 0 ? row_segment.target : op.x.piece_row[~row_segment.target];
  for (int64_t e = row_segment.first + threadIdx.x; e < row_segment.first + row_segment.count; e += LANES) {
    float value = op.x.value ? op.x.value[e] : 1;
    if (op.dropout.threshold > 0) {
      int64_t col = op.x.col[e], node = op.transposed ? col : row, feature = op.transposed ? row : col;
      struct philox_block bits = dropout_bits(op.dropout, epoch, op.dropout.id[node], feature);
      int j = (int)(feature % GROUP);
      uint32_t word = j < 4 ? (j < 2 ? bits.word[0] : bits.word[1]) : (j < 6 ? bits.word[2] : bits.word[3]);
      bool kept = (j % 2 ? word >> 16 : word & 0xFFFF) >= op.dropout.threshold;
      value = kept ? value * op.dropout.scale : 0;
    }
    op.value[e] = value;
  }
}

int cuda_sparse_dropout(struct kernels *k, const struct sparse_dropout *op) {
  struct sparse of = {*cuda_layout(op->x), cuda_layout(op->y)->value, op->dropout, op->transposed != 0,
                      k->scalars};
  if (of.x.row_segments == 0) return OK;
  dim3 block(LANES, BLOCK / LANES);
  sparse_dropout_kernel<<<blocks_of(of.x.row_segments, block.y), block, 0, cuda_stream(k)>>>(of);
  TRY_LAUNCH();
  return OK;
}
