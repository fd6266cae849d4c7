/* Y = end(A B) of bf16 for a tall A and a small B, and Y2 = end(Y B2) from it while its rows lie in shared
 * memory: the kernel, for all columns of both at once. Y is written as well, but not read again: the layer
 * below makes it, the layer above begins with Y2.
 *
 * As gemm_bulk.cuh has it: a block keeps B and B2, a thread brings tiles of A, teams take them in turn. What
 * a team's end leaves for the bulk copy that writes Y is what tensor cores read for Y2. A team waits more
 * often than there, so there are as many of them as registers and shared memory allow. */
#ifndef KERNELS_CUDA_GEMM_GEMM_BULK_NEXT_CUH
#define KERNELS_CUDA_GEMM_GEMM_BULK_NEXT_CUH

#include "kernels/cuda/gemm/gemm_bulk.cuh"

struct next_maps {
  struct bulk_maps first;
  CUtensorMap b, out; /* of the second product */
};

struct next_product {
  struct bulk_product first;
  int n, steps, depth, boxes; /* of the second: columns; products of a sum; boxes of a tile of Y; of Y2 */
  struct end end;
};

/* 8 BLOCKS columns of Y, 8 NEXT of Y2. REGISTERS: of a team's thread, once those that a block begins with are
 * shared out anew. */
template <int BLOCKS_, int NEXT_> struct next_shape {
  static constexpr int BLOCKS = BLOCKS_, NEXT = NEXT_, MOST = BLOCKS > NEXT ? BLOCKS : NEXT;
  static constexpr int COLS = BULK_COLS<BLOCKS>, NEXT_COLS = BULK_COLS<NEXT>;
  static constexpr int TEAMS_HERE = MOST <= 8 ? 4 : MOST <= 16 ? 3 : 2;
  static constexpr int THREADS = (TEAMS_HERE + 1) * TEAM;
  static constexpr int REGISTERS = MOST <= 8 ? 112 : MOST <= 16 ? 160 : TWO_TEAMS_REGISTERS;
  static constexpr int RESULT = COLS / BOX_COLS * BOX, NEXT_RESULT = NEXT_COLS / BOX_COLS * BOX; /* bytes */
};

struct next_memory {
  struct bulk_memory first;
  unsigned char *panel, *results; /* B2; a place for each team's part of Y2 */
  float *reals;
};

/* All but the slots. */
template <class S> static inline int fixed_bytes(const struct next_product &p) {
  return panel_bytes(S::COLS, p.first.depth) + panel_bytes(S::NEXT_COLS, p.depth) +
         S::TEAMS_HERE * (S::RESULT + S::NEXT_RESULT) + (S::COLS + S::NEXT_COLS) * (int)sizeof(float);
}

template <class S>
static __device__ __forceinline__ struct next_memory next_memory_of(const struct next_product &p) {
  struct next_memory m = {bulk_memory_of<S::BLOCKS>(p.first)};
  m.results = m.first.results + S::TEAMS_HERE * S::RESULT;
  m.panel = m.results + S::TEAMS_HERE * S::NEXT_RESULT;
  m.first.reals = (float *)(m.panel + panel_bytes(S::NEXT_COLS, p.depth));
  m.reals = m.first.reals + S::COLS;
  return m;
}

static __device__ __forceinline__ void feed_next_panel(const struct next_product &p, const CUtensorMap *b,
                                                       unsigned char *panel, uint64_t *barrier) {
  barrier_expect(barrier, (uint32_t)(p.boxes * p.depth * BOX));
  for (int i = 0; i < p.boxes; i++) copy_box(panel + i * p.depth * BOX, b, barrier, i * BOX_COLS, 0);
}

/* A tile's part of Y2 from its part of Y, which lies in `from`: into `to`, and from there to memory. */
template <class S>
static __device__ __forceinline__ void
multiply_next(const struct next_product &p, const struct next_maps &maps, const struct next_memory &m,
              int team, int64_t tile, int rows, const unsigned char *from, unsigned char *to) {
  const int thread = threadIdx.x % TEAM, first = (int)tile * p.first.height;
  const struct lane_place at = lane_place_of(p.end, first, rows, thread);
  float sum[S::NEXT][4];
  multiply_tile<S::NEXT, true>(p.steps, p.depth * BOX, from, m.panel, sum);
  wait_for_products<0>();
  hold(sum);
  end_boxes<S::NEXT, END_PLAIN>(p.end, m.reals, S::NEXT_COLS, NULL, 0, at, thread / 32, 0, to, sum);
  show_to_products();
  meet_team(team);
  if (thread > 0) return;
  for (int i = 0; i < p.boxes; i++) write_box(&maps.out, to + i * BOX, i * BOX_COLS, first);
  close_boxes();
}

/* The team's tiles of the block's. */
template <class S>
static __device__ __forceinline__ void take_pairs(const struct next_product &p, const struct next_maps &maps,
                                                  const struct next_memory &m, struct bulk_barriers &barriers,
                                                  uint64_t *panel, int team) {
  const struct bulk_product &first = p.first;
  const int thread = threadIdx.x % TEAM;
  unsigned char *boxes = m.first.results + team * S::RESULT;
  barrier_wait(&barriers.panel, 0);
  barrier_wait(panel, 0);
  int i = team;
  for (int64_t tile = blockIdx.x + (int64_t)team * gridDim.x; tile < first.tiles;
       tile += S::TEAMS_HERE * gridDim.x) {
    const int slot = i % first.slots;
    const unsigned char *from = m.first.slots + slot * slot_bytes(S::COLS, first.depth, false);
    const int rows = (int)min((int64_t)first.height, first.m - tile * first.height);
    const struct lane_place at = lane_place_of(first.end, tile * first.height, rows, thread);
    float sum[S::BLOCKS][4];
    barrier_wait(&barriers.full[slot], i / first.slots & 1);
    multiply_tile<S::BLOCKS, true>(first.steps, first.depth * BOX, from, m.first.panel, sum);
    if (thread == 0) wait_for_boxes();
    __syncwarp();
    wait_for_products<0>();
    hold(sum);
    if (thread % 32 == 0) barrier_arrive(&barriers.empty[slot]);
    meet_team(team); /* the results before these have left */
    end_tile_of<S::BLOCKS, END_FORWARD>(first.end, m.first, at, thread / 32, boxes, sum);
    show_to_products();
    meet_team(team);
    if (thread == 0) write_result(first, maps.first, tile, 0, boxes);
    __syncwarp();
    multiply_next<S>(p, maps, m, team, tile, rows, boxes, m.results + team * S::NEXT_RESULT);
    i += S::TEAMS_HERE;
  }
  if (thread == 0) wait_for_boxes();
}

template <class S>
static __global__ void __launch_bounds__(S::THREADS, 1)
    bulk_next_kernel(const __grid_constant__ struct next_maps maps,
                     const __grid_constant__ struct next_product p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ struct bulk_barriers barriers;
  __shared__ uint64_t panel;
  const struct next_memory memory = next_memory_of<S>(p);
  const int team = __shfl_sync(~0u, (int)threadIdx.x / TEAM, 0);
  if (threadIdx.x == 0) barrier_init(&panel, 1);
  prepare_bulk<S::BLOCKS>(p.first, memory.first, barriers);
  for (int j = threadIdx.x; j < S::NEXT_COLS; j += blockDim.x)
    put_reals(p.end, j, j < p.n, S::NEXT_COLS, j, memory.reals);
  __syncthreads();
  if (team < S::TEAMS_HERE) {
    take_registers<S::REGISTERS>();
    take_pairs<S>(p, maps, memory, barriers, &panel, team);
  } else {
    leave_registers<FEED_REGISTERS>();
    if (threadIdx.x == S::TEAMS_HERE * TEAM) {
      feed_next_panel(p, &maps.b, memory.panel, &panel);
      feed<S::BLOCKS>(p.first, maps.first, memory.first, barriers);
    }
    __syncwarp();
  }
#endif
}

#endif
