/* Y = epilogue(A B), and from its rows as they leave Y2 = scale_v (Y B2 + bias2)_v, the product that the
 * layer above begins with: the kernel, for Y of one block of columns.
 *
 * Tiles come and are ended as in gemm_tma.cuh; B2 is rearranged into a panel of its own behind B's. A lane's
 * sums are of four neighbours in each 16 columns of its rows: once the epilogue has gone over them, they are
 * the left matrix of the second product as they are. Both results leave by the team's two batches of boxes.
 */
#ifndef KERNELS_CUDA_GEMM_TMA_GEMM_TMA_CHAINED_CUH
#define KERNELS_CUDA_GEMM_TMA_GEMM_TMA_CHAINED_CUH

#include "kernels/cuda/gemm/tma/gemm_tma.cuh"

struct tma_chained_maps {
  struct tma_maps first, second; /* of the second b and out alone */
};

/* The second product's A is Y: it has the tiles and the ring of the first. Its depth is that of all columns
 * that the first one's sums have room for. */
struct tma_chained {
  struct tma_product first, second;
};

/* The shapes of both; the first one's teams take both. */
template <class T, int BLOCKS, int BLOCKS2> struct chained_shape {
  typedef tma_shape<T, BLOCKS> First;
  typedef tma_shape<T, BLOCKS2> Second;
  static constexpr int DEPTH = First::ACROSS; /* boxes of Y, where it is the left matrix */
};

/* Shared memory: the ring; two batches for each team's results; both panels; reals of columns of both. */
template <class C> static __host__ __device__ __forceinline__ int tma_chained_fixed(int depth, int batch) {
  return result_boxes<typename C::First>(false, batch) * BOX + tma_panel_bytes<typename C::First>(depth) +
         tma_panel_bytes<typename C::Second>(C::DEPTH) +
         (C::First::COLS + C::Second::COLS) * (int)sizeof(float);
}

struct tma_chained_memory {
  struct tma_memory first, second;
};

template <class C>
static __device__ __forceinline__ struct tma_chained_memory
tma_chained_memory_of(const struct tma_product &p) {
  extern __shared__ __align__(1024) unsigned char boxes[];
  unsigned char *results = boxes + p.ring * BOX;
  unsigned char *panel = results + result_boxes<typename C::First>(false, p.batch) * BOX;
  unsigned char *panel2 = panel + tma_panel_bytes<typename C::First>(p.depth);
  float *reals = (float *)(panel2 + tma_panel_bytes<typename C::Second>(C::DEPTH));
  return {{boxes, results, (uint4 *)panel, NULL, reals},
          {boxes, results, (uint4 *)panel2, NULL, reals + C::First::COLS}};
}

/* First B and B2, then tile by tile A. */
template <class C>
static __device__ __forceinline__ void feed_chained(const struct tma_chained &p,
                                                    const struct tma_chained_maps &maps, unsigned char *ring,
                                                    struct ring_barriers &barriers) {
  const struct tma_product &first = p.first;
  struct ring_place at = {0, 0};
  feed_panel<typename C::First>(first, maps.first, ring, barriers, at, 0);
  feed_panel<typename C::Second>(p.second, maps.second, ring, barriers, at, 0);
  for (int64_t tile = blockIdx.x; tile < first.tiles; tile += gridDim.x) {
    for (int i = 0; i < first.depth; i++)
      feed_box(first, &maps.first.a, ring, barriers, at, first.height, i * TMA_COLS<typename C::First::T>,
               tile * first.height);
  }
}

static __device__ __forceinline__ uint4 words_of(float x, float y, float z, float w) {
  return make_uint4(__float_as_uint(x), __float_as_uint(y), __float_as_uint(z), __float_as_uint(w));
}

/* sum (+)= 16 columns of Y, of which a lane has `left` and `right`, times their part of the panel: a step of
 * floats, a plane of bf16. */
template <int BLOCKS>
static __device__ __forceinline__ void multiply_sixteen(const float (&left)[4], const float (&right)[4],
                                                        struct fragment &a, uint64_t panel, int adds,
                                                        float (&sum)[BLOCKS][4], float) {
  make_fragment<float>(words_of(left[0], left[1], right[0], right[1]),
                       words_of(left[2], left[3], right[2], right[3]), a);
  multiply_step<float, BLOCKS>(a, panel, adds, sum);
}

template <int BLOCKS>
static __device__ __forceinline__ void multiply_sixteen(const float (&left)[4], const float (&right)[4],
                                                        struct fragment &a, uint64_t panel, int adds,
                                                        float (&sum)[BLOCKS][4], bf16) {
  a.word[0][0] = rounded_pair(left[0], left[1]), a.word[0][1] = rounded_pair(left[2], left[3]);
  a.word[0][2] = rounded_pair(right[0], right[1]), a.word[0][3] = rounded_pair(right[2], right[3]);
  open_products();
  multiply(sum, a.word[0], panel, adds);
  close_products();
}

/* sum = what the team's lanes hold of Y, times the second panel. */
template <class C>
static __device__ __forceinline__ void multiply_held(const uint4 *second,
                                                     const float (&y)[C::First::BLOCKS][4],
                                                     float (&sum)[C::Second::BLOCKS][4]) {
  constexpr int BYTES = sizeof(typename C::First::T) == 4 ? C::Second::STEP : C::Second::STEP / 2;
  uint64_t panel = right_matrix<C::Second::BLOCKS>(second);
  struct fragment a[2];
#pragma unroll
  for (int s = 0; s < C::First::BLOCKS / 2; s++) {
    wait_for_products<1>();
    multiply_sixteen<C::Second::BLOCKS>(y[2 * s], y[2 * s + 1], a[s % 2], panel, s > 0, sum,
                                        typename C::First::T());
    panel = further(panel, BYTES);
  }
  wait_for_products<0>();
  hold(sum);
}

/* The team's share of the block's tiles. */
template <class C>
static __device__ __forceinline__ void
take_chained(const struct tma_chained_maps &maps, const struct tma_chained &p,
             const struct tma_chained_memory &m, struct ring_barriers &barriers, int team) {
  typedef typename C::First First;
  typedef typename C::Second Second;
  constexpr int COUNT = First::TEAMS;
  const struct tma_product &first = p.first, &second = p.second;
  int i = team, sent = 0;
  prepare_product<First, COUNT>(first, m.first, barriers, 0, team, 0);
  prepare_product<Second, COUNT, true>(second, m.second, barriers, first.b_boxes, team, 0);
  meet_teams<First>();
  for (int64_t tile = blockIdx.x + (int64_t)team * gridDim.x; tile < first.tiles; tile += COUNT * gridDim.x) {
    struct ring_place at = place_of_box(first, first.b_boxes + second.b_boxes + i * first.depth);
    float sum[First::BLOCKS][4], sum2[Second::BLOCKS][4];
    barrier_wait(&barriers.turn[team], i / COUNT & 1);
    multiply_ring<First>(first, m.first, barriers, &barriers.turn[(team + 1) % COUNT], at, sum);
    epilogue_boxes<First, EPILOGUE_FORWARD, true>(first, maps.first.out, m.first, barriers,
                                                  tile_of_team(first, tile, team, sent, 0), at,
                                                  sum); /* sum = Y */
    sent += batches_of(first);
    multiply_held<C>(m.second.panel, sum, sum2);
    epilogue_boxes<Second, EPILOGUE_PLAIN>(second, maps.second.out, m.second, barriers,
                                           tile_of_team(second, tile, team, sent, 0), at, sum2);
    sent += batches_of(second);
    i += COUNT;
  }
  if (threadIdx.x % TEAM == 0) wait_for_boxes();
}

template <class C>
static __global__ void __launch_bounds__(C::First::THREADS, 1)
    tma_chained_kernel(const __grid_constant__ struct tma_chained_maps maps,
                       const __grid_constant__ struct tma_chained p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ struct ring_barriers barriers;
  const struct tma_chained_memory memory = tma_chained_memory_of<C>(p.first);
  const int team = __shfl_sync(~0u, (int)threadIdx.x / TEAM, 0);
  if (threadIdx.x == 0) open_ring(barriers, p.first.ring);
  pdl_prologue();
  __syncthreads();
  if (team < C::First::TEAMS) {
    if constexpr (C::First::REGISTERS > 0) take_registers<C::First::REGISTERS>();
    take_chained<C>(maps, p, memory, barriers, team);
  } else {
    if constexpr (C::First::REGISTERS > 0) leave_registers<FEED_REGISTERS>();
    if (threadIdx.x % TEAM == 0) feed_chained<C>(p, maps, memory.first.ring, barriers);
  }
#endif
}

#endif
