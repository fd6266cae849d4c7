/* The end of a layer on a tile of gemm_ring.cuh: from the sums in a team's registers to memory. */
#ifndef KERNELS_CUDA_GEMM_GEMM_RING_END_CUH
#define KERNELS_CUDA_GEMM_GEMM_RING_END_CUH

#include "kernels/cuda/gemm/gemm_ring_boxes.cuh"
#include "kernels/cuda/gemm/gemm_wgmma.cuh"

/* What a team's end works on. to: backward, the lane's rows v and v + 8 of the result. */
struct ring_tile {
  int64_t index;
  int team, sent; /* sent: boxes of results that the team has sent before */
  int row;        /* the lane's first of the tile */
  int first_col, cols;
  struct lane_place at;
  float *to[2];
};

/* The end of four neighbours in a row. x: the product, becomes what column sums are of. */
template <enum end_kind KIND>
static __device__ __forceinline__ void end_four(const struct end &e, const float4 &added, const float4 &saved,
                                                uint32_t kept, float (&x)[4]) {
  const float scale = e.dropout.threshold > 0 ? e.dropout.scale : 1, floor = floor_of(e);
  const bool drops = KIND == END_FORWARD && drops_forward(e);
  const float bias[4] = {added.x, added.y, added.z, added.w},
              before[4] = {saved.x, saved.y, saved.z, saved.w};
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (KIND == END_BACKWARD_RELU) {
      x[j] = before[j] > 0 ? x[j] * scale : 0;
    } else {
      x[j] += bias[j];
      if (KIND == END_FORWARD) x[j] = at_least(x[j], floor);
      if (drops) x[j] = kept >> j & 1 ? x[j] * scale : 0;
    }
  }
}

/* Of the eight columns of block `first` + q lane 4 g + q asks which are kept: bits 0 to 7 in its first row, 8
 * to 15 in its second. */
static __device__ __forceinline__ uint32_t kept_of_lane(const struct end &e, uint32_t epoch,
                                                        const struct lane_place &at, int first) {
  return kept_of_block(e.dropout, epoch, at.id[0], first + at.q) |
         kept_of_block(e.dropout, epoch, at.id[1], first + at.q) << 8;
}

/* Sums of a box's columns, of a lane's rows, added over the warp's to its totals. */
static __device__ __forceinline__ void add_box_columns(const struct lane_place &at, float (&column)[8][1],
                                                       double *totals) {
  fold_columns(at.g, column);
  totals[at.g / 4 * 16 + 4 * at.q + at.g % 4] += (double)column[0][0];
}

/* What four columns add to their sums, from a row that is there. */
template <enum end_kind KIND>
static __device__ __forceinline__ void add_to_sums(const float (&x)[4], const float (&other)[4],
                                                   float (&sums)[2][4]) {
#pragma unroll
  for (int c = 0; c < 4; c++) {
    sums[0][c] += KIND == END_MOMENTS ? other[c] : x[c];
    if (KIND == END_MOMENTS) sums[1][c] += other[c] * other[c];
    if (KIND == END_NORM_SUMS) sums[1][c] += x[c] * other[c];
  }
}

/* Four columns of the lane's rows, from its sums; chunk: their place in the box. saved: backward, the box of
 * the saved output, or of z. results: forward, where the box of results is made up. sums: of the columns.
 * KEEPS: what leaves takes the sums' place. */
template <enum end_kind KIND, bool KEEPS>
static __device__ __forceinline__ void
end_quads(const struct end &e, const struct ring_tile &tile, float (&left)[4], float (&right)[4],
          const float4 &bias, const struct norm_columns_of<4> &norm, uint32_t kept, int col, int chunk,
          const unsigned char *saved, unsigned char *results, float (&sums)[2][4]) {
  const struct lane_place &at = tile.at;
#pragma unroll
  for (int r = 0; r < 2; r++) {
    float x[4] = {left[2 * r], left[2 * r + 1], right[2 * r], right[2 * r + 1]};
    float other[4] = {x[0] - bias.x, x[1] - bias.y, x[2] - bias.z, x[3] - bias.w};
    float4 before = {};
    if (is_backward(KIND)) before = *(const float4 *)&chunk_of_box(saved, tile.row + 8 * r, chunk);
    if constexpr (is_of_norm(KIND)) {
      const float z[4] = {before.x, before.y, before.z, before.w};
      norm_backward<4, KIND == END_NORM_APPLY>(norm, z, x, other);
    } else if constexpr (KIND != END_MOMENTS) {
      end_four<KIND>(e, bias, before, kept >> 8 * r, x);
    }
    if (sums_of(KIND) > 0 && at.is_there[r]) add_to_sums<KIND>(x, other, sums);
#pragma unroll
    for (int c = 0; c < 4 && !is_of_batch_norm(KIND); c++) x[c] *= at.factor[r];
    if constexpr (KEEPS)
      left[2 * r] = x[0], left[2 * r + 1] = x[1], right[2 * r] = x[2], right[2 * r + 1] = x[3];
    if (!is_backward(KIND))
      *(float4 *)&chunk_of_box(results, tile.row + 8 * r, chunk) = make_float4(x[0], x[1], x[2], x[3]);
    else if (at.is_there[r] && !(KIND == END_NORM_SUMS && e.sums_alone))
      store(tile.to[r] + col, min(4, tile.cols - col), true, x);
  }
}

/* Forward, of box `box` of the tile: two boxes of results take turns, and leave by bulk copies. */
static __device__ __forceinline__ void await_results(int team) {
  if (threadIdx.x % TEAM == 0) wait_for_boxes<1>();
  meet_team(team);
}

static __device__ __forceinline__ void send_results(const struct ring_product &p, const CUtensorMap &out,
                                                    const struct ring_tile &tile, int box,
                                                    const unsigned char *results) {
  show_to_products();
  meet_team(tile.team);
  if (threadIdx.x % TEAM > 0) return;
  write_box(&out, results, tile.first_col + box * RING_COLS, (int)tile.index * p.height);
  close_boxes();
}

/* A box after the other; from: the first one of the saved output. */
template <int BLOCKS, enum end_kind KIND, bool KEEPS = false>
static __device__ __forceinline__ void end_boxes(const struct ring_product &p, const CUtensorMap &out,
                                                 const struct ring_memory &m, struct ring_barriers &barriers,
                                                 const struct ring_tile &tile, struct ring_place &from,
                                                 float (&sum)[BLOCKS][4]) {
  constexpr bool BACKWARD = is_backward(KIND);
  const bool drops = KIND == END_FORWARD && drops_forward(p.end);
  const struct lane_place &at = tile.at;
  const uint32_t epoch = drops ? p.end.scalars->epoch : 0;
#pragma unroll
  for (int box = 0; box < (BLOCKS + 3) / 4; box++) {
    const unsigned char *saved = m.ring + from.box * BOX;
    unsigned char *results = m.results + (2 * tile.team + (tile.sent + box) % 2) * BOX;
    float column[2][8][1] = {};
    uint32_t kept = 0;
    if (box >= p.boxes) break;
    if (BACKWARD) await_next_box(barriers, from);
    if (!BACKWARD) await_results(tile.team);
    if (drops) kept = kept_of_lane(p.end, epoch, at, tile.first_col / GROUP + 4 * box);
#pragma unroll
    for (int i = 0; i < 2 && 4 * box + 2 * i < BLOCKS; i++) {
      const int j = 4 * box + 2 * i, col = 8 * j + 4 * at.q;
      const float4 bias = BACKWARD ? make_float4(0, 0, 0, 0) : *(const float4 *)(m.reals + col);
      const uint32_t mine = drops ? __shfl_sync(~0u, kept, 4 * at.g + 2 * i + at.q / 2) >> at.q % 2 * 4 : 0;
      struct norm_columns_of<4> norm;
      float sums[2][4] = {};
      if constexpr (is_of_norm(KIND)) take_norm<4, KIND == END_NORM_APPLY>(m.reals, 8 * BLOCKS, col, norm);
      end_quads<KIND, KEEPS>(p.end, tile, sum[j], sum[j + 1], bias, norm, mine, col, 4 * i + at.q, saved,
                             results, sums);
#pragma unroll
      for (int c = 0; c < 4; c++) column[0][4 * i + c][0] = sums[0][c], column[1][4 * i + c][0] = sums[1][c];
    }
    if (BACKWARD) {
      give_box(barriers, from);
      next_box(p, from);
    } else {
      send_results(p, out, tile, box, results);
    }
    if (!p.end.sums) continue;
    double *totals = m.totals + threadIdx.x / 32 * BOXED_COLS<BLOCKS> + box * RING_COLS;
#pragma unroll
    for (int s = 0; s < sums_of(KIND); s++) add_box_columns(at, column[s], totals + s * RING_TOTALS<BLOCKS>);
  }
}

template <int BLOCKS>
static __device__ __forceinline__ void end_tile(const struct ring_product &p, const CUtensorMap &out,
                                                const struct ring_memory &m, struct ring_barriers &barriers,
                                                int64_t index, int team, int sent, int first_col,
                                                struct ring_place &from, float (&sum)[BLOCKS][4]) {
  const int lane = threadIdx.x % 32, row = threadIdx.x % TEAM / 32 * 16 + row_of_lane(lane);
  const int height = (int)min((int64_t)p.height, p.m - index * p.height);
  struct ring_tile tile = {index, team, sent, row, first_col, p.n - first_col};
  tile.at = place_of_lane(p.end, index * p.height, height, row, lane);
#pragma unroll
  for (int r = 0; r < 2; r++) tile.to[r] = row_of(p.end.out, tile.at.v + 8 * r) + first_col;
  if (p.end.kind == END_BACKWARD_RELU)
    end_boxes<BLOCKS, END_BACKWARD_RELU>(p, out, m, barriers, tile, from, sum);
  else if (p.end.kind == END_NORM_SUMS)
    end_boxes<BLOCKS, END_NORM_SUMS>(p, out, m, barriers, tile, from, sum);
  else if (p.end.kind == END_NORM_APPLY)
    end_boxes<BLOCKS, END_NORM_APPLY>(p, out, m, barriers, tile, from, sum);
  else if (p.end.kind == END_MOMENTS)
    end_boxes<BLOCKS, END_MOMENTS>(p, out, m, barriers, tile, from, sum);
  else
    end_boxes<BLOCKS, END_FORWARD>(p, out, m, barriers, tile, from, sum);
}

#endif
