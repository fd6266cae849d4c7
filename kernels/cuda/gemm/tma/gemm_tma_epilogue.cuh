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

/* Whether results leave by boxes; else each lane writes its own. */
template <class S> static constexpr __device__ bool sends(enum epilogue_kind kind) {
  return S::SENDS_BACK || !is_backward(kind);
}

/* What a part of a tile reads and writes: the box of the saved output, or of z; and the box of results that
 * is made up, or rows of the result. */
template <class S, enum epilogue_kind KIND>
struct boxed_part {
  typedef typename S::T T; const struct gemm_epilogue & e; const struct tma_tile & tile; int part;
  const unsigned char * saved; unsigned char * results;

  __device__ __forceinline__ T *
  place(const unsigned char *box, int i, int r)
      const {return four_of_box<T>(box, tile.row + 8 * r, part % (TMA_COLS<T> / 32) * 8 + 4 * i + tile.at.q);}
__device__ __forceinline__ void read(const struct lane_place &, int i, int r, float (&x)[4]) const {
  load_four(place(saved, i, r), 4, x);
}
__device__ __forceinline__ void write(const struct lane_place &at, int i, int r, const float (&x)[4]) const {
  const int col = 32 * part + 16 * i + 4 * at.q;
  if constexpr (sends<S>(KIND))
    store_four(place(results, i, r), 4, x);
  else if (at.is_there[r])
    store(row_of<T>(e.out, at.v + 8 * r) + tile.first_col + col, min(4, tile.cols - col), true, x);
}
}
;

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
  constexpr bool BACKWARD = is_backward(KIND);
  const bool sends_now = sends<S>(KIND) && !(KIND == EPILOGUE_NORM_SUMS && p.epilogue.sums_alone);
#pragma unroll
  for (int part = 0; part < ALL; part++) {
    const int box = part / PARTS, of_batch = box & (p.batch - 1);
    const bool begins = part % PARTS == 0, ends = part % PARTS == PARTS - 1 || part == ALL - 1;
    unsigned char *batch = m.results +
                           (2 * tile.team + (tile.sent + (box >> (p.batch - 1))) % 2) * p.batch * BOX;
    const struct boxed_part<S, KIND> boxes = {
      p.epilogue, tile, part, m.ring + from.box *BOX, batch + of_batch *BOX
    };
    if (box >= p.boxes) break;
    if (begins && BACKWARD) await_next_box(barriers, from);
    if (begins && sends_now && of_batch == 0) await_results(tile.team);
    epilogue_part<KIND, KEEPS>(p.epilogue, tile.at, part, tile.first_col, m.reals, S::COLS, boxes, sum,
                               m.totals + threadIdx.x / 32 * S::BOXED_COLS + part * 32, S::TOTALS);
    if (ends && BACKWARD) {
      give_box(barriers, from);
      next_box(p, from);
    }
    if (ends && sends_now && (of_batch == p.batch - 1 || box == p.boxes - 1))
      send_results<COLS>(p, out, tile, (box - of_batch) * COLS, of_batch + 1, batch);
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
