/* C = A B (+ A2 B2) for a tall A [m, k] and a small B [k, n], of floats or bf16, with the epilogue of a
 * layer, by bulk copies: the kernel. A2 and B2 are further boxes of the same sums.
 *
 * A block walks over tiles of rows. One thread feeds it through a ring of boxes of 64 rows by 128 bytes,
 * which are given back one by one: first B, which the block rearranges and keeps (a panel), then tile by tile
 * A and the saved output that a backward epilogue reads. Teams of four warps take the tiles in turn, so that
 * one's epilogue hides behind another's products. A warp takes its 16 rows of a box of A to registers, where
 * floats are cut into pieces, and gives the box back before the products have ended. Columns of C are
 * permuted so that a lane has four neighbours of a row: these go by way of boxes of results, which bulk
 * copies write; but backward floats, for which there is no room, go straight to memory, 64 bytes of a row
 * with the neighbours'. */
#ifndef KERNELS_CUDA_GEMM_TMA_GEMM_TMA_CUH
#define KERNELS_CUDA_GEMM_TMA_GEMM_TMA_CUH

#include "kernels/cuda/gemm/tma/gemm_tma_epilogue.cuh"
#include "kernels/cuda/gemm/tma/gemm_tma_panel.cuh"

/* All teams meet. */
template <class S> static __device__ __forceinline__ void meet_teams() {
  asm volatile("bar.sync %0, %1;" ::"n"(S::TEAMS + 1), "n"(S::TEAMS * TEAM) : "memory");
}

/* Until the boxes of the saved output, from this one on, have come: for the next team they are boxes before
 * its own. */
static __device__ __forceinline__ void await_saved(const struct tma_product &p,
                                                   struct ring_barriers &barriers, struct ring_place from) {
  const int boxes = p.epilogue.backward ? p.boxes : 0;
  for (int i = 0; i < boxes; i++) {
    await_next_box(barriers, from);
    next_box(p, from);
  }
}

/* sum = the tile times B; its boxes are given back, and the next team takes its turn. */
template <class S>
static __device__ __forceinline__ void multiply_ring(const struct tma_product &p, const struct tma_memory &m,
                                                     struct ring_barriers &barriers, uint64_t *turn,
                                                     struct ring_place &at, float (&sum)[S::BLOCKS][4]) {
  typedef typename S::T T;
  const int lane = threadIdx.x % 32, row = threadIdx.x % TEAM / 32 * 16 + row_of_lane(lane);
  uint64_t panel = right_matrix<S::BLOCKS>(m.panel);
  struct fragment a[2];
  int d = 0;
#pragma unroll 1
  do {
    const unsigned char *box = m.ring + at.box * BOX;
    await_next_box(barriers, at);
#pragma unroll
    for (int s = 0; s < 2; s++) {
      const int chunk = 4 * s + lane % 4;
      wait_for_products<1>();
      make_fragment<T>(chunk_of_box(box, row, chunk), chunk_of_box(box, row + 8, chunk), a[s]);
      multiply_step<T, S::BLOCKS>(a[s], panel, d + s > 0, sum);
      panel = further(panel, S::STEP);
    }
    give_box(barriers, at);
    next_box(p, at);
  } while (++d < p.depth);
  await_saved(p, barriers, at);
  if (lane == 0) barrier_arrive(turn);
  wait_for_products<0>();
  hold(sum);
}

/* By one thread, which is faster than by a warp; then the block's threads must meet. */
static __device__ __forceinline__ void open_ring(struct ring_barriers &barriers, int boxes) {
  for (int i = 0; i < boxes; i++) {
    barrier_init(&barriers.full[i], 1);
    barrier_init(&barriers.empty[i], TEAM / 32);
  }
  for (int i = 0; i < MOST_TEAMS; i++) barrier_init(&barriers.turn[i], TEAM / 32);
  for (int i = 0; i < TEAM / 32; i++) barrier_arrive(&barriers.turn[0]); /* nobody is before the first */
  show_barriers();
}

/* By SHARES teams, which must meet then: what stays in shared memory. first: B's first box of the ring. */
template <class S, int SHARES, bool HELD = false>
static __device__ __forceinline__ void
prepare_product(const struct tma_product &p, const struct tma_memory &m, struct ring_barriers &barriers,
                int first, int team, int first_col) {
  constexpr int THREADS = SHARES * TEAM;
  const int totals = sums_wanted(p.epilogue) * S::TOTALS;
  for (int j = threadIdx.x; j < S::COLS; j += THREADS)
    put_reals(p.epilogue, first_col + j, first_col + j < p.n, S::COLS, j, m.reals);
  for (int j = threadIdx.x; j < totals; j += THREADS) m.totals[j] = 0;
  cut_panel<S, SHARES, HELD>(p, m, barriers, first, team, threadIdx.x % TEAM);
  show_to_products();
}

/* The team's share of the block's tiles. */
template <class S>
static __device__ __forceinline__ void take_ring(const struct tma_maps &maps, const struct tma_product &p,
                                                 const struct tma_memory &m, struct ring_barriers &barriers,
                                                 int team, int first_col) {
  constexpr int COUNT = S::TEAMS;
  const int each = p.depth + (p.epilogue.backward ? p.boxes : 0);
  int i = team;
  prepare_product<S, COUNT>(p, m, barriers, 0, team, first_col);
  meet_teams<S>();
  for (int64_t tile = blockIdx.x + (int64_t)team * gridDim.x; tile < p.tiles; tile += COUNT * gridDim.x) {
    struct ring_place at = place_of_box(p, p.b_boxes + i * each);
    float sum[S::BLOCKS][4];
    barrier_wait(&barriers.turn[team], i / COUNT & 1);
    multiply_ring<S>(p, m, barriers, &barriers.turn[(team + 1) % COUNT], at, sum);
    epilogue_tile<S>(p, maps.out, m, barriers,
                     tile_of_team(p, tile, team, i / COUNT * batches_of(p), first_col), at, sum);
    i += COUNT;
  }
  if (threadIdx.x % TEAM == 0) wait_for_boxes();
  if (!p.epilogue.sums) return;
  meet_teams<S>();
  if (team > 0) return;
  const int sums = sums_wanted(p.epilogue);
  for (int s = 0; s < sums; s++)
    write_column_sums(m.totals + s * S::TOTALS, COUNT * TEAM / 32, S::BOXED_COLS,
                      min(S::COLS, p.n - first_col), TEAM,
                      p.epilogue.sums + ((int64_t)blockIdx.x * sums + s) * p.n + first_col);
}

template <class S>
static __global__ void __launch_bounds__(S::THREADS, 1)
    tma_kernel(const __grid_constant__ struct tma_maps maps, const __grid_constant__ struct tma_product p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ struct ring_barriers barriers;
  const struct tma_memory memory = tma_memory_of<S>(p);
  const int team = __shfl_sync(~0u, (int)threadIdx.x / TEAM, 0), first_col = (int)blockIdx.y * S::COLS;
  if (threadIdx.x == 0) open_ring(barriers, p.ring);
  pdl_prologue();
  __syncthreads();
  if (team < S::TEAMS) {
    if constexpr (S::REGISTERS > 0) take_registers<S::REGISTERS>();
    take_ring<S>(maps, p, memory, barriers, team, first_col);
  } else {
    if constexpr (S::REGISTERS > 0) leave_registers<FEED_REGISTERS>();
    if (threadIdx.x % TEAM == 0) feed_ring<S>(p, maps, memory.ring, barriers, first_col);
  }
#endif
}

#endif
