/* The epilogue of a layer on a tile of gemm_tma.cuh: from the sums in a team's registers to memory. */
#ifndef KERNELS_CUDA_GEMM_TMA_GEMM_TMA_EPILOGUE_CUH
#define KERNELS_CUDA_GEMM_TMA_GEMM_TMA_EPILOGUE_CUH

#include "kernels/cuda/gemm/gemm_wgmma.cuh"
#include "kernels/cuda/gemm/tma/gemm_tma_boxes.cuh"

/* What a team's epilogue works on. */
struct tma_tile {
  int64_t index;
  int team, sent; /* sent: batches of results that the team has sent before */
  int row;        /* the lane's first of the tile */
  int first_col, cols;
  struct lane_place at;
};

/* The epilogue of four neighbours in a row. x: the product, becomes what column sums are of. */
template <enum epilogue_kind KIND>
static __device__ __forceinline__ void epilogue_four(const struct gemm_epilogue &e, const float (&bias)[4],
                                                     const float (&before)[4], uint32_t kept,
                                                     float (&x)[4]) {
  const float scale = e.dropout.threshold > 0 ? e.dropout.scale : 1, floor = floor_of(e);
  const bool drops = KIND == EPILOGUE_FORWARD && drops_forward(e);
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (KIND == EPILOGUE_BACKWARD_RELU) {
      x[j] = before[j] > 0 ? x[j] * scale : 0;
    } else {
      x[j] += bias[j];
      if (KIND == EPILOGUE_FORWARD) x[j] = at_least(x[j], floor);
      if (drops) x[j] = kept >> j & 1 ? x[j] * scale : 0;
    }
  }
}

/* Of the eight columns of block `first` + q lane 4 g + q asks which are kept: bits 0 to 7 in its first row, 8
 * to 15 in its second. */
static __device__ __forceinline__ uint32_t kept_of_lane(const struct gemm_epilogue &e, uint32_t epoch,
                                                        const struct lane_place &at, int first) {
  return kept_of_block(e.dropout, epoch, at.id[0], first + at.q) |
         kept_of_block(e.dropout, epoch, at.id[1], first + at.q) << 8;
}

/* Sums of 32 columns, of a lane's rows, added over the warp's to its totals. */
static __device__ __forceinline__ void add_box_columns(const struct lane_place &at, float (&column)[8][1],
                                                       double *totals) {
  fold_columns(at.g, column);
  totals[at.g / 4 * 16 + 4 * at.q + at.g % 4] += (double)column[0][0];
}

/* What four columns add to their sums, from a row that is there. */
template <enum epilogue_kind KIND>
static __device__ __forceinline__ void add_to_sums(const float (&x)[4], const float (&other)[4],
                                                   float (&sums)[2][4]) {
#pragma unroll
  for (int c = 0; c < 4; c++) {
    sums[0][c] += KIND == EPILOGUE_MOMENTS ? other[c] : x[c];
    if (KIND == EPILOGUE_MOMENTS) sums[1][c] += other[c] * other[c];
    if (KIND == EPILOGUE_NORM_SUMS) sums[1][c] += x[c] * other[c];
  }
}

/* As T holds them. */
static __device__ __forceinline__ void round_four(float (&)[4], float) {}

static __device__ __forceinline__ void round_four(float (&x)[4], bf16) {
  const uint32_t low = rounded_pair(x[0], x[1]), high = rounded_pair(x[2], x[3]);
  x[0] = low_half(low), x[1] = high_half(low), x[2] = low_half(high), x[3] = high_half(high);
}

/* Whether results leave by boxes; else each lane writes its own. */
template <class S> static constexpr __device__ bool sends(enum epilogue_kind kind) {
  return S::SENDS_BACK || !is_backward(kind);
}

/* Four columns of the lane's rows, from its sums; four: their number in the box. saved: backward, the box of
 * the saved output, or of z. results: the box of results that is made up. sums: of the columns. KEEPS: what
 * leaves takes the sums' place. */
template <class S, enum epilogue_kind KIND, bool KEEPS>
static __device__ __forceinline__ void
epilogue_quads(const struct gemm_epilogue &e, const struct tma_tile &tile, float (&left)[4],
               float (&right)[4], const float (&bias)[4], const struct norm_columns_of<4> &norm,
               uint32_t kept, int col, int four, const unsigned char *saved, unsigned char *results,
               float (&sums)[2][4]) {
  typedef typename S::T T;
  const struct lane_place &at = tile.at;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float x[4] = {left[2 * r], left[2 * r + 1], right[2 * r], right[2 * r + 1]}, other[4], before[4] = {};
    if (is_backward(KIND)) load_four(four_of_box<T>(saved, tile.row + 8 * r, four), 4, before);
    if constexpr (KIND == EPILOGUE_MOMENTS) {
      round_four(x, T());
#pragma unroll
      for (int c = 0; c < 4; c++) other[c] = x[c] - bias[c];
    } else if constexpr (is_of_norm(KIND)) {
      norm_backward<4, KIND == EPILOGUE_NORM_APPLY>(norm, before, x, other);
    } else {
      epilogue_four<KIND>(e, bias, before, kept >> 8 * r, x);
    }
    if (sums_of(KIND) > 0 && at.is_there[r]) add_to_sums<KIND>(x, other, sums);
#pragma unroll
    for (int c = 0; c < 4 && !is_of_batch_norm(KIND); c++) x[c] *= at.factor[r];
    if constexpr (KEEPS)
      left[2 * r] = x[0], left[2 * r + 1] = x[1], right[2 * r] = x[2], right[2 * r + 1] = x[3];
    if (KIND == EPILOGUE_NORM_SUMS && e.sums_alone) continue;
    if constexpr (sends<S>(KIND))
      store_four(four_of_box<T>(results, tile.row + 8 * r, four), 4, x);
    else if (at.is_there[r])
      store(row_of<T>(e.out, at.v + 8 * r) + tile.first_col + col, min(4, tile.cols - col), true, x);
  }
}

/* Two batches of results take turns, and leave by bulk copies. */
static __device__ __forceinline__ void await_results(int team) {
  if (threadIdx.x % TEAM == 0) wait_for_boxes<1>();
  meet_team(team);
}

/* `count` boxes of COLS columns each, the first one at column `col` of the tile. */
template <int COLS>
static __device__ __forceinline__ void send_results(const struct tma_product &p, const CUtensorMap &out,
                                                    const struct tma_tile &tile, int col, int count,
                                                    const unsigned char *results) {
  show_to_products();
  meet_team(tile.team);
  if (threadIdx.x % TEAM > 0) return;
  for (int i = 0; i < count; i++)
    write_box(&out, results + i * BOX, tile.first_col + col + i * COLS, (int)tile.index * p.height);
  close_boxes();
}

/* A box after the other, 32 columns at a time; from: the first box of the saved output. */
template <class S, enum epilogue_kind KIND, bool KEEPS = false>
static __device__ __forceinline__ void
epilogue_boxes(const struct tma_product &p, const CUtensorMap &out, const struct tma_memory &m,
               struct ring_barriers &barriers, const struct tma_tile &tile, struct ring_place &from,
               float (&sum)[S::BLOCKS][4]) {
  constexpr int COLS = TMA_COLS<typename S::T>, PARTS = COLS / 32, ALL = (S::BLOCKS + 3) / 4;
  constexpr bool BACKWARD = is_backward(KIND), SENDS = sends<S>(KIND);
  const bool drops = KIND == EPILOGUE_FORWARD && drops_forward(p.epilogue);
  const bool writes = !(KIND == EPILOGUE_NORM_SUMS && p.epilogue.sums_alone);
  const struct lane_place &at = tile.at;
  const uint32_t epoch = drops ? p.epilogue.scalars->epoch : 0;
#pragma unroll
  for (int part = 0; part < ALL; part++) {
    const int box = part / PARTS, of_batch = box % p.batch;
    const bool begins = part % PARTS == 0, ends = part % PARTS == PARTS - 1 || part == ALL - 1;
    const unsigned char *saved = m.ring + from.box * BOX;
    unsigned char *batch = m.results + (2 * tile.team + (tile.sent + box / p.batch) % 2) * p.batch * BOX;
    float column[2][8][1] = {};
    uint32_t kept = 0;
    if (box >= p.boxes) break;
    if (begins && BACKWARD) await_next_box(barriers, from);
    if (begins && SENDS && writes && of_batch == 0) await_results(tile.team);
    if (drops) kept = kept_of_lane(p.epilogue, epoch, at, tile.first_col / GROUP + 4 * part);
#pragma unroll
    for (int i = 0; i < 2 && 4 * part + 2 * i < S::BLOCKS; i++) {
      const int j = 4 * part + 2 * i, col = 8 * j + 4 * at.q;
      const uint32_t mine = drops ? __shfl_sync(~0u, kept, 4 * at.g + 2 * i + at.q / 2) >> at.q % 2 * 4 : 0;
      struct norm_columns_of<4> norm;
      float bias[4] = {}, sums[2][4] = {};
      if (!BACKWARD) load_four(m.reals + col, 4, bias);
      if constexpr (is_of_norm(KIND))
        take_norm<4, KIND == EPILOGUE_NORM_APPLY>(m.reals, S::COLS, col, norm);
      epilogue_quads<S, KIND, KEEPS>(p.epilogue, tile, sum[j], sum[j + 1], bias, norm, mine, col,
                                     part % PARTS * 8 + 4 * i + at.q, saved, batch + of_batch * BOX, sums);
#pragma unroll
      for (int c = 0; c < 4; c++) column[0][4 * i + c][0] = sums[0][c], column[1][4 * i + c][0] = sums[1][c];
    }
    if (ends && BACKWARD) {
      give_box(barriers, from);
      next_box(p, from);
    }
    if (ends && SENDS && writes && (of_batch == p.batch - 1 || box == p.boxes - 1))
      send_results<COLS>(p, out, tile, (box - of_batch) * COLS, of_batch + 1, batch);
    if (!p.epilogue.sums) continue;
    double *totals = m.totals + threadIdx.x / 32 * S::BOXED_COLS + part * 32;
#pragma unroll
    for (int s = 0; s < sums_of(KIND); s++) add_box_columns(at, column[s], totals + s * S::TOTALS);
  }
}

/* Tile `index` of the product's, by the team, whose `sent` batches of results have been sent before. */
static __device__ __forceinline__ struct tma_tile tile_of_team(const struct tma_product &p, int64_t index,
                                                               int team, int sent, int first_col) {
  const int lane = threadIdx.x % 32, row = threadIdx.x % TEAM / 32 * 16 + row_of_lane(lane);
  const int height = (int)min((int64_t)p.height, p.m - index * p.height);
  struct tma_tile tile = {index, team, sent, row, first_col, p.n - first_col};
  tile.at = place_of_lane(p.epilogue, index * p.height, height, row, lane);
  return tile;
}

template <class S>
static __device__ __forceinline__ void
epilogue_tile(const struct tma_product &p, const CUtensorMap &out, const struct tma_memory &m,
              struct ring_barriers &barriers, const struct tma_tile &tile, struct ring_place &from,
              float (&sum)[S::BLOCKS][4]) {
  if (p.epilogue.kind == EPILOGUE_BACKWARD_RELU)
    epilogue_boxes<S, EPILOGUE_BACKWARD_RELU>(p, out, m, barriers, tile, from, sum);
  else if (p.epilogue.kind == EPILOGUE_NORM_SUMS)
    epilogue_boxes<S, EPILOGUE_NORM_SUMS>(p, out, m, barriers, tile, from, sum);
  else if (p.epilogue.kind == EPILOGUE_NORM_APPLY)
    epilogue_boxes<S, EPILOGUE_NORM_APPLY>(p, out, m, barriers, tile, from, sum);
  else if (p.epilogue.kind == EPILOGUE_MOMENTS)
    epilogue_boxes<S, EPILOGUE_MOMENTS>(p, out, m, barriers, tile, from, sum);
  else
    epilogue_boxes<S, EPILOGUE_FORWARD>(p, out, m, barriers, tile, from, sum);
}

#endif
