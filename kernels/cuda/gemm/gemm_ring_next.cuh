/* Y = end(A B) of floats, and from its rows as they leave Y2 = scale_v (Y B2 + bias2)_v, the product that the
 * layer above begins with: the kernel, for Y of one block of columns.
 *
 * Tiles come and are ended as in gemm_ring.cuh; B2 is cut into a panel of its own behind B's. A lane's sums
 * are of four neighbours in each 16 columns of its rows, which is what it reads of a box of A: once the end
 * has gone over them, they are cut in registers and multiplied with the second panel. Both results leave by
 * the team's two boxes of results. */
#ifndef KERNELS_CUDA_GEMM_GEMM_RING_NEXT_CUH
#define KERNELS_CUDA_GEMM_GEMM_RING_NEXT_CUH

#include "kernels/cuda/gemm/gemm_ring.cuh"

struct ring_next_maps {
  struct ring_maps first, second; /* of the second b and out alone */
};

/* The second product's A is Y: it has the tiles and the ring of the first. Its depth is that of all columns
 * that the first one's sums have room for. */
struct ring_next {
  struct ring_product first, second;
};

/* Boxes of Y, where it is the left matrix. */
template <int BLOCKS> constexpr int NEXT_DEPTH = BLOCKS * 8 / RING_COLS;

/* Shared memory: the ring; two boxes for each team's results; both panels; reals of columns of both. */
template <int BLOCKS, int BLOCKS2> static __host__ __device__ __forceinline__ int ring_next_fixed(int depth) {
  return result_boxes<BLOCKS>(false) * BOX + ring_panel_bytes<BLOCKS>(depth) +
         ring_panel_bytes<BLOCKS2>(NEXT_DEPTH<BLOCKS>) + 8 * (BLOCKS + BLOCKS2) * (int)sizeof(float);
}

struct ring_next_memory {
  struct ring_memory first, second;
};

template <int BLOCKS, int BLOCKS2>
static __device__ __forceinline__ struct ring_next_memory ring_next_memory_of(const struct ring_product &p) {
  extern __shared__ __align__(1024) unsigned char boxes[];
  unsigned char *results = boxes + p.ring * BOX, *panel = results + result_boxes<BLOCKS>(false) * BOX;
  unsigned char *panel2 = panel + ring_panel_bytes<BLOCKS>(p.depth);
  float *reals = (float *)(panel2 + ring_panel_bytes<BLOCKS2>(NEXT_DEPTH<BLOCKS>));
  return {{boxes, results, (uint4 *)panel, NULL, reals},
          {boxes, results, (uint4 *)panel2, NULL, reals + 8 * BLOCKS}};
}

/* First B and B2, then tile by tile A. */
template <int BLOCKS, int BLOCKS2>
static __device__ __forceinline__ void feed_next(const struct ring_next &p, const struct ring_next_maps &maps,
                                                 unsigned char *ring, struct ring_barriers &barriers) {
  const struct ring_product &first = p.first;
  struct ring_place at = {0, 0};
  feed_panel<BLOCKS>(first, maps.first, ring, barriers, at, 0);
  feed_panel<BLOCKS2>(p.second, maps.second, ring, barriers, at, 0);
  for (int64_t tile = blockIdx.x; tile < first.tiles; tile += gridDim.x) {
    for (int i = 0; i < first.depth; i++)
      feed_box(first, &maps.first.a, ring, barriers, at, first.height, i * RING_COLS, tile * first.height);
  }
}

static __device__ __forceinline__ uint4 words_of(float x, float y, float z, float w) {
  return make_uint4(__float_as_uint(x), __float_as_uint(y), __float_as_uint(z), __float_as_uint(w));
}

/* sum = what the team's lanes hold of Y, times the second panel. */
template <int BLOCKS, int BLOCKS2>
static __device__ __forceinline__ void multiply_held(const uint4 *second, const float (&y)[BLOCKS][4],
                                                     float (&sum)[BLOCKS2][4]) {
  uint64_t panel = right_matrix<BLOCKS2>(second);
  struct fragment a[2];
#pragma unroll
  for (int s = 0; s < BLOCKS / 2; s++) {
    const float(&left)[4] = y[2 * s], (&right)[4] = y[2 * s + 1];
    wait_for_products<1>();
    make_fragment<float>(words_of(left[0], left[1], right[0], right[1]),
                         words_of(left[2], left[3], right[2], right[3]), a[s % 2]);
    multiply_step<float, BLOCKS2>(a[s % 2], panel, s > 0, sum);
    panel = further(panel, 32 * BLOCKS2 * 16);
  }
  wait_for_products<0>();
  hold(sum);
}

/* sent: boxes of results that the team has sent before. */
static __device__ __forceinline__ struct ring_tile tile_of_next(const struct ring_product &p, int64_t index,
                                                                int team, int sent) {
  const int lane = threadIdx.x % 32, row = threadIdx.x % TEAM / 32 * 16 + row_of_lane(lane);
  const int height = (int)min((int64_t)p.height, p.m - index * p.height);
  struct ring_tile tile = {index, team, sent, row, 0, p.n};
  tile.at = place_of_lane(p.end, index * p.height, height, row, lane);
  return tile;
}

/* The team's share of the block's tiles. */
template <int BLOCKS, int BLOCKS2>
static __device__ __forceinline__ void take_next(const struct ring_next_maps &maps, const struct ring_next &p,
                                                 const struct ring_next_memory &m,
                                                 struct ring_barriers &barriers, int team) {
  constexpr int COUNT = RING_TEAMS<BLOCKS>;
  const struct ring_product &first = p.first, &second = p.second;
  int i = team, sent = 0;
  prepare_product<BLOCKS, COUNT>(first, m.first, barriers, 0, team, 0);
  prepare_product<BLOCKS2, COUNT>(second, m.second, barriers, first.b_boxes, team, 0);
  meet_teams<BLOCKS>();
  for (int64_t tile = blockIdx.x + (int64_t)team * gridDim.x; tile < first.tiles; tile += COUNT * gridDim.x) {
    struct ring_place at = place_of_box(first, first.b_boxes + second.b_boxes + i * first.depth);
    float sum[BLOCKS][4], sum2[BLOCKS2][4];
    barrier_wait(&barriers.turn[team], i / COUNT & 1);
    multiply_ring<BLOCKS>(first, m.first, barriers, &barriers.turn[(team + 1) % COUNT],
                          threadIdx.x % TEAM / 32, threadIdx.x % 32, at, sum);
    const struct ring_tile now = tile_of_next(first, tile, team, sent);
    end_boxes<BLOCKS, END_FORWARD, true>(first, maps.first.out, m.first, barriers, now, at,
                                         sum); /* sum = Y */
    sent += first.boxes;
    const struct ring_tile next = tile_of_next(second, tile, team, sent);
    multiply_held<BLOCKS, BLOCKS2>(m.second.panel, sum, sum2);
    end_boxes<BLOCKS2, END_PLAIN>(second, maps.second.out, m.second, barriers, next, at, sum2);
    sent += second.boxes;
    i += COUNT;
  }
  if (threadIdx.x % TEAM == 0) wait_for_boxes();
}

template <int BLOCKS, int BLOCKS2>
static __global__ void __launch_bounds__((RING_TEAMS<BLOCKS> + 1) * TEAM, 1)
    ring_next_kernel(const __grid_constant__ struct ring_next_maps maps,
                     const __grid_constant__ struct ring_next p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ struct ring_barriers barriers;
  const struct ring_next_memory memory = ring_next_memory_of<BLOCKS, BLOCKS2>(p.first);
  const int team = __shfl_sync(~0u, (int)threadIdx.x / TEAM, 0);
  if (threadIdx.x == 0) open_ring(barriers, p.first.ring);
  follow();
  __syncthreads();
  if (team < RING_TEAMS<BLOCKS>) {
    take_registers<RING_REGISTERS<BLOCKS>>();
    take_next<BLOCKS, BLOCKS2>(maps, p, memory, barriers, team);
  } else {
    leave_registers<FEED_REGISTERS>();
    if (threadIdx.x % TEAM == 0) feed_next<BLOCKS, BLOCKS2>(p, maps, memory.first.ring, barriers);
  }
#endif
}

#endif
