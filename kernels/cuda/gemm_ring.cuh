/* C = A B of floats for a tall A [m, k] and a small B [k, n], with the end of a layer, where A and the saved
 * output of a backward end come by bulk copies: the kernel.
 *
 * A block keeps B in pieces in shared memory (a panel: gemm_fragment.cuh) and walks over tiles of rows. One
 * thread feeds it: the boxes of A's tile, 64 rows by 32 columns, then those of the saved output, into a ring
 * of boxes that are given back one by one. Teams of four warps take the tiles in turn, so that one's end
 * hides behind another's products. A warp cuts its 16 rows of a box of A in registers and gives the box back
 * before the products have ended. Columns of C are permuted so that a lane has four neighbours of a row: it
 * writes them, 64 bytes of a row with its neighbours, from the registers. */
#ifndef KERNELS_CUDA_GEMM_RING_CUH
#define KERNELS_CUDA_GEMM_RING_CUH

#include "kernels/cuda/gemm_place.cuh"
#include "kernels/cuda/gemm_ring_panel.cuh"

template <int COUNT> static __device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

template <int COUNT> static __device__ __forceinline__ void leave_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

/* All teams meet. */
template <int BLOCKS> static __device__ __forceinline__ void meet_teams() {
  asm volatile("bar.sync %0, %1;" ::"n"(RING_TEAMS<BLOCKS> + 1), "n"(RING_TEAMS<BLOCKS> * TEAM) : "memory");
}

/* sum = the tile times B; its boxes are given back. */
template <int BLOCKS>
static __device__ __forceinline__ void
multiply_ring(const struct ring_product &p, const struct ring_memory &m, struct ring_barriers &barriers,
              int warp, int lane, struct ring_place &at, float (&sum)[BLOCKS][4]) {
  const int row = warp * 16 + row_of_lane(lane);
  uint64_t panel = right_matrix<BLOCKS>(m.panel);
  struct fragment a[2];
  int d = 0;
#pragma unroll 1
  do {
    const unsigned char *box = m.ring + at.box * BOX;
    await_box(barriers, at);
#pragma unroll
    for (int s = 0; s < 2; s++) {
      const int chunk = 4 * s + lane % 4;
      wait_for_products<1>();
      make_fragment<float>(chunk_of_box(box, row, chunk), chunk_of_box(box, row + 8, chunk), a[s]);
      multiply_step<float, BLOCKS>(a[s], panel, d + s > 0, sum);
      panel = further(panel, 32 * BLOCKS * 16);
    }
    give_box(barriers, at);
    next_box(p, at);
  } while (++d < p.depth);
  wait_for_products<0>();
  hold(sum);
}

/* The end of four neighbours in a row. x: the product, becomes what column sums are of. */
template <enum end_kind KIND>
static __device__ __forceinline__ void end_four(const struct end &e, const float4 &added, const float4 &saved,
                                                uint32_t kept, float (&x)[4]) {
  const float scale = e.dropout.threshold > 0 ? e.dropout.scale : 1;
  const float bias[4] = {added.x, added.y, added.z, added.w},
              before[4] = {saved.x, saved.y, saved.z, saved.w};
#pragma unroll
  for (int j = 0; j < 4; j++) {
    if (KIND == END_BACKWARD_RELU) {
      x[j] = before[j] > 0 ? x[j] * scale : 0;
    } else {
      x[j] += bias[j];
      if (KIND != END_PLAIN) x[j] = x[j] < 0 ? 0 : x[j];
      if (KIND == END_RELU_DROPOUT) x[j] = kept >> j & 1 ? x[j] * scale : 0;
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

/* The lane's part of C: the tile's rows v and v + 8, columns from `first_col` on that the block has. */
struct ring_rows {
  float *to[2];
  struct lane_place at;
  int first_col, cols;
};

/* Sums of a box's columns, of a lane's rows, added over the warp's to its totals. */
static __device__ __forceinline__ void add_box_columns(const struct lane_place &at, float (&column)[8][1],
                                                       double *totals) {
  fold_columns(at.g, column);
  totals[at.g / 4 * 16 + 4 * at.q + at.g % 4] += (double)column[0][0];
}

/* The end of a warp's 16 rows, from their sums to memory. */
template <int BLOCKS, enum end_kind KIND>
static __device__ __forceinline__ void
end_ring(const struct ring_product &p, const struct ring_memory &m, struct ring_barriers &barriers,
         const struct ring_rows &rows, int row, struct ring_place &from, const float (&sum)[BLOCKS][4]) {
  const struct lane_place &at = rows.at;
  const uint32_t epoch = KIND == END_RELU_DROPOUT ? p.end.scalars->epoch : 0;
#pragma unroll
  for (int box = 0; box < (BLOCKS + 3) / 4; box++) {
    const unsigned char *saved_box = m.ring + from.box * BOX;
    float column[8][1] = {};
    uint32_t kept = 0;
    if (box >= p.boxes) break;
    if (KIND == END_BACKWARD_RELU) await_box(barriers, from);
    if (KIND == END_RELU_DROPOUT) kept = kept_of_lane(p.end, epoch, at, rows.first_col / GROUP + 4 * box);
#pragma unroll
    for (int i = 0; i < 2 && 4 * box + 2 * i < BLOCKS; i++) {
      const int j = 4 * box + 2 * i, col = 8 * j + 4 * at.q, n = min(4, rows.cols - col);
      const float4 bias = KIND == END_BACKWARD_RELU ? make_float4(0, 0, 0, 0)
                                                    : *(const float4 *)(m.bias + col);
      const uint32_t mine = KIND == END_RELU_DROPOUT
                                ? __shfl_sync(~0u, kept, 4 * at.g + 2 * i + at.q / 2) >> at.q % 2 * 4
                                : 0;
#pragma unroll
      for (int r = 0; r < 2; r++) {
        float x[4] = {sum[j][2 * r], sum[j][2 * r + 1], sum[j + 1][2 * r], sum[j + 1][2 * r + 1]};
        float4 saved = {};
        if (KIND == END_BACKWARD_RELU)
          memcpy(&saved, &chunk_of_box(saved_box, row + 8 * r, 4 * i + at.q), sizeof saved);
        end_four<KIND>(p.end, bias, saved, mine >> 8 * r, x);
#pragma unroll
        for (int c = 0; c < 4; c++) {
          if (KIND == END_BACKWARD_RELU && at.is_there[r]) column[4 * i + c][0] += x[c];
          if (may_scale(KIND)) x[c] *= at.factor[r];
        }
        if (at.is_there[r]) store(rows.to[r] + col, n, true, x);
      }
    }
    if (KIND == END_BACKWARD_RELU) {
      give_box(barriers, from);
      next_box(p, from);
      if (p.end.sums)
        add_box_columns(at, column, m.totals + threadIdx.x / 32 * BOXED_COLS<BLOCKS> + box * RING_COLS);
    }
  }
}

template <int BLOCKS>
static __device__ __forceinline__ void end_tile(const struct ring_product &p, const struct ring_memory &m,
                                                struct ring_barriers &barriers, int64_t tile, int first_col,
                                                struct ring_place &from, const float (&sum)[BLOCKS][4]) {
  const int lane = threadIdx.x % 32, row = threadIdx.x % TEAM / 32 * 16 + row_of_lane(lane);
  const int height = (int)min((int64_t)p.height, p.m - tile * p.height);
  struct ring_rows rows = {{},
                           place_of_lane(p.end, tile * p.height, height, row, lane),
                           first_col,
                           min(8 * BLOCKS, p.n - first_col)};
#pragma unroll
  for (int r = 0; r < 2; r++) rows.to[r] = row_of(p.end.out, rows.at.v + 8 * r) + first_col;
  if (p.end.kind == END_BACKWARD_RELU)
    end_ring<BLOCKS, END_BACKWARD_RELU>(p, m, barriers, rows, row, from, sum);
  else if (p.end.kind == END_RELU)
    end_ring<BLOCKS, END_RELU>(p, m, barriers, rows, row, from, sum);
  else if (p.end.kind == END_RELU_DROPOUT)
    end_ring<BLOCKS, END_RELU_DROPOUT>(p, m, barriers, rows, row, from, sum);
  else
    end_ring<BLOCKS, END_PLAIN>(p, m, barriers, rows, row, from, sum);
}

/* The team's share of the block's tiles. */
template <int BLOCKS>
static __device__ __forceinline__ void take_ring(const struct ring_product &p, const struct ring_memory &m,
                                                 struct ring_barriers &barriers, int team, int first_col) {
  constexpr int COUNT = RING_TEAMS<BLOCKS>;
  const int each = p.depth + (p.end.backward ? p.boxes : 0);
  int i = team;
  write_ring_panel<BLOCKS>(p, first_col, m.panel);
  show_to_products();
  meet_teams<BLOCKS>();
  for (int64_t tile = blockIdx.x + (int64_t)team * gridDim.x; tile < p.tiles; tile += COUNT * gridDim.x) {
    struct ring_place at = place_of_box(p, i * each);
    float sum[BLOCKS][4];
    multiply_ring<BLOCKS>(p, m, barriers, threadIdx.x % TEAM / 32, threadIdx.x % 32, at, sum);
    end_tile<BLOCKS>(p, m, barriers, tile, first_col, at, sum);
    i += COUNT;
  }
  if (!p.end.sums) return;
  meet_teams<BLOCKS>();
  write_column_sums(m.totals, COUNT * TEAM / 32, BOXED_COLS<BLOCKS>, min(8 * BLOCKS, p.n - first_col),
                    COUNT * TEAM, p.end.sums + (int64_t)blockIdx.x * p.n + first_col);
}

/* Before threads part. */
template <int BLOCKS>
static __device__ __forceinline__ void prepare_ring(const struct ring_product &p, const struct ring_memory &m,
                                                    struct ring_barriers &barriers, int first_col) {
  if (threadIdx.x == 0) {
    for (int i = 0; i < p.ring; i++) {
      barrier_init(&barriers.full[i], 1);
      barrier_init(&barriers.empty[i], TEAM / 32);
    }
    show_barriers();
  }
  for (int j = threadIdx.x; j < 8 * BLOCKS; j += blockDim.x)
    m.bias[j] = p.end.bias && first_col + j < p.n ? p.end.bias[first_col + j] : 0;
  for (int j = threadIdx.x; j < ring_totals_bytes<BLOCKS>(p.end.sums) / (int)sizeof(double); j += blockDim.x)
    m.totals[j] = 0;
  __syncthreads();
}

template <int BLOCKS>
static __global__ void __launch_bounds__((RING_TEAMS<BLOCKS> + 1) * TEAM, 1)
    ring_kernel(const __grid_constant__ struct ring_maps maps,
                const __grid_constant__ struct ring_product p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ struct ring_barriers barriers;
  const struct ring_memory memory = ring_memory_of<BLOCKS>(p);
  const int team = __shfl_sync(~0u, (int)threadIdx.x / TEAM, 0), first_col = (int)blockIdx.y * 8 * BLOCKS;
  prepare_ring<BLOCKS>(p, memory, barriers, first_col);
  if (team < RING_TEAMS<BLOCKS>) {
    take_registers<RING_REGISTERS<BLOCKS>>();
    take_ring<BLOCKS>(p, memory, barriers, team, first_col);
  } else {
    leave_registers<FEED_REGISTERS>();
    if (threadIdx.x % TEAM == 0) feed_ring(p, maps, memory.ring, barriers, first_col);
  }
#endif
}

#endif
