/* Attention's tiles: the factors of columns are laid out as tiles read them, then a block sums a piece of a
 * window for 64 columns. */
#include "kernels/cuda/attention/tiles/attention_tiles_window.cuh"

template <class S>
static __global__ void __launch_bounds__(BLOCK, S::BLOCKS)
    attention_tiles_kernel(const __grid_constant__ CUtensorMap x,
                           const __grid_constant__ struct attention_product op) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  attend_window<S>(x, op);
#endif
}

/* Blocks that look for the highest factors, each with two atomics a head. */
static constexpr int32_t MOST_READERS = 512;

static int64_t segments_of(const struct layout *a) {
  return (a->csr->cols + TILE_COLS - 1) / TILE_COLS;
}

/* Of both highest factors of each head, where the next array may begin at 16 bytes. */
static int64_t highest_of(int64_t heads) {
  return (2 * heads + 3) / 4 * 4;
}

int64_t cuda_attention_tiles_terms(const struct layout *a, int64_t heads) {
  return segments_of(a) * heads * tile_terms<false>::WORDS + highest_of(heads);
}

template <bool FORWARD> static int lay_out_terms(struct kernels *k, const struct column_terms *op) {
  const unsigned blocks = (unsigned)(op->segments < MOST_READERS ? op->segments : MOST_READERS);
  TRY_CUDA(cudaMemsetAsync(op->highest, 0, (size_t)(2 * op->heads) * sizeof *op->highest, cuda_stream(k)));
  highest_terms_kernel<FORWARD><<<blocks, BLOCK, 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  column_terms_kernel<FORWARD><<<(unsigned)op->segments, BLOCK, 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}

template <bool FORWARD, int N>
static int sum(struct kernels *k, const struct attention_tiles *op, const struct attention_product *product) {
  typedef attention_tile<FORWARD, N> S;
  constexpr int bytes = S::STAGES * S::STAGE_BYTES;
  CUtensorMap map;
  TRY(cuda_tma_map_columns(op->x, TILE_COLS, N, &map));
  TRY_CUDA(
      cudaFuncSetAttribute(attention_tiles_kernel<S>, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  const dim3 grid((unsigned)cuda_layout(op->a)->tiles.pieces, blocks_of(op->width, S::COLUMNS));
  attention_tiles_kernel<S><<<grid, BLOCK, bytes, cuda_stream(k)>>>(map, *product);
  TRY_LAUNCH();
  return OK;
}

/* Widest products of one head. */
template <bool FORWARD>
static int run(struct kernels *k, const struct attention_tiles *op, struct attention_product *product) {
  TRY(lay_out_terms<FORWARD>(k, &product->columns));
  if (op->heads == 1 || product->each % 64 == 0) return sum<FORWARD, 64>(k, op, product);
  return product->each % 32 == 0 ? sum<FORWARD, 32>(k, op, product) : sum<FORWARD, 16>(k, op, product);
}

int cuda_attention_tiles(struct kernels *k, const struct attention_tiles *op) {
  const struct cuda_layout *a = cuda_layout(op->a);
  struct attention_product product = {};
  uint32_t *highest = (uint32_t *)op->terms;
  if (a->tiles.pieces == 0) return OK;
  static_cast<tile_arcs &>(product) = tile_arcs_of(op->a, op->sums, op->stride);
  product.mine = (const float *)op->mine.data;
  product.mine_stride = op->mine.stride;
  product.heads = (int32_t)op->heads;
  product.each = (int32_t)(op->width / op->heads);
  product.width = (int32_t)op->width;
  product.x_cols = (int32_t)op->x.cols;
  product.x = (const bf16 *)op->x.data;
  product.x_stride = op->x.stride;
  product.columns.stats = (const float *)op->stats.data;
  product.columns.stride = op->stats.stride;
  product.columns.cols = (int32_t)op->a->csr->cols;
  product.columns.heads = (int32_t)op->heads;
  product.columns.segments = (int32_t)segments_of(op->a);
  product.columns.highest = highest;
  product.columns.terms = highest + highest_of(op->heads);
  product.factor = op->factor;
  return op->backward ? run<false>(k, op, &product) : run<true>(k, op, &product);
}
