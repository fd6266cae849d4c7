/* dZ = end'(A B^T) of bf16, and at once the gradient L^T dZ of a weight, where nobody else reads dZ: its rows
 * stay in shared memory. The kernel, for at most 128 columns of L ("left") and 256 of dZ.
 *
 * A block has a share of the rows, in tiles of 64: of A, of the saved output and of L, which come by bulk
 * copies into a ring of slots. Each of two teams of four warps multiplies the tile with half of the panel B,
 * and leaves dZ in the place of the saved output. Then each adds the products of dZ with half of L's columns
 * to sums that stay in its registers, and which tensor cores go on with while the next tile is waited for.
 * The sums of all shares are added afterwards, in order. */
#ifndef KERNELS_CUDA_GEMM_BULK_THEN_CUH
#define KERNELS_CUDA_GEMM_BULK_THEN_CUH

#include "kernels/cuda/gemm_bulk.cuh"
#include "kernels/cuda/gemm_tiles.cuh"

struct then_maps {
  CUtensorMap a, b, saved, left;
};

struct then_product {
  int64_t m, share; /* share: a multiple of TERMS */
  int n, steps;     /* columns of dZ; products of a sum of A B^T */
  int depth, boxes, left_boxes;
  int slots;
  struct end end;
  float *partial; /* [shares, columns of all left boxes, 8 BLOCKS] */
};

/* A slot: the boxes of A, of dZ, of L. */
static __host__ __device__ __forceinline__ int then_slot_bytes(int cols, int depth, int left_boxes) {
  return (depth + cols / BOX_COLS + left_boxes) * BOX;
}

struct then_memory {
  unsigned char *panel, *slots;
  double *totals; /* [warps, half of the columns] */
};

template <int BLOCKS>
static __device__ __forceinline__ struct then_memory then_memory_of(const struct then_product &p) {
  extern __shared__ __align__(1024) unsigned char boxes[];
  struct then_memory m = {boxes, boxes + panel_bytes(8 * BLOCKS, p.depth)};
  m.totals = (double *)(m.slots + p.slots * then_slot_bytes(8 * BLOCKS, p.depth, p.left_boxes));
  return m;
}

/* Tile i of the share that begins at `begin`, into its slot. */
template <int BLOCKS>
static __device__ __forceinline__ void feed_then(const struct then_product &p, const struct then_maps &maps,
                                                 int64_t begin, int i, unsigned char *slots,
                                                 struct bulk_barriers &barriers) {
  const int slot = i % p.slots, row = (int)begin + i * BOX_ROWS;
  uint64_t *full = &barriers.full[slot];
  unsigned char *to = slots + slot * then_slot_bytes(8 * BLOCKS, p.depth, p.left_boxes);
  barrier_expect(full, (uint32_t)((p.depth + p.boxes + p.left_boxes) * BOX));
  for (int b = 0; b < p.depth; b++) copy_box(to + b * BOX, &maps.a, full, b * BOX_COLS, row);
  to += p.depth * BOX;
  for (int b = 0; b < p.boxes; b++) copy_box(to + b * BOX, &maps.saved, full, b * BOX_COLS, row);
  to += 8 * BLOCKS / BOX_COLS * BOX;
  for (int b = 0; b < p.left_boxes; b++) copy_box(to + b * BOX, &maps.left, full, b * BOX_COLS, row);
}

/* gradient += the left box, turned, times dZ, over so many rows; under way. */
template <int BLOCKS>
static __device__ __forceinline__ void add_gradient(const unsigned char *left, const unsigned char *dz,
                                                    int steps, bool adds, float (&gradient)[BLOCKS][4]) {
  const uint64_t of_left = boxed_matrix(shared_address(left), 0),
                 of_dz = boxed_matrix(shared_address(dz), BOX);
  int s = 0;
#pragma unroll 1
  do {
    const int along = s * TERMS * BOX_ROW_BYTES;
    open_products();
    multiply<true, true>(gradient, further(of_left, along), further(of_dz, along), adds || s > 0);
    close_products();
  } while (++s < steps);
}

/* A lane's sums: of left columns v and v + 8 those of dZ 8 j + 2 q and its neighbour. */
template <int BLOCKS>
static __device__ __forceinline__ void write_gradient(const struct then_product &p, int team, int thread,
                                                      const float (&gradient)[BLOCKS][4]) {
  const int v = team * BOX_COLS + thread / 32 * 16 + thread % 32 / 4;
  float *to = p.partial + ((int64_t)blockIdx.x * p.left_boxes * BOX_COLS + v) * 8 * BLOCKS + thread % 4 * 2;
  if (team >= p.left_boxes) return;
#pragma unroll
  for (int j = 0; j < BLOCKS; j++) {
    *(float2 *)(to + 8 * j) = make_float2(gradient[j][0], gradient[j][1]);
    *(float2 *)(to + 8 * 8 * BLOCKS + 8 * j) = make_float2(gradient[j][2], gradient[j][3]);
  }
}

template <int BLOCKS>
static __device__ __forceinline__ void take_share(const struct then_product &p, const struct then_maps &maps,
                                                  const struct then_memory &m,
                                                  struct bulk_barriers &barriers) {
  constexpr int HALF = BLOCKS / 2;
  const int team = __shfl_sync(~0u, (int)threadIdx.x / TEAM, 0), thread = threadIdx.x % TEAM;
  const int64_t begin = blockIdx.x * p.share, end = min(begin + p.share, p.m);
  const int tiles = (int)((end - begin + BOX_ROWS - 1) / BOX_ROWS);
  const unsigned char *panel = m.panel + team * 8 * HALF * BOX_ROW_BYTES;
  double *totals = m.totals + threadIdx.x / 32 * 8 * HALF;
  float gradient[BLOCKS][4];
  if (threadIdx.x == 0) {
    barrier_expect(&barriers.panel, (uint32_t)panel_bytes(8 * BLOCKS, p.depth));
    for (int b = 0; b < p.depth; b++)
      copy_box(m.panel + b * 8 * BLOCKS * BOX_ROW_BYTES, &maps.b, &barriers.panel, b * BOX_COLS, 0);
    for (int i = 0; i < min(p.slots, tiles); i++) feed_then<BLOCKS>(p, maps, begin, i, m.slots, barriers);
  }
  __syncwarp();
  barrier_wait(&barriers.panel, 0);
  for (int i = 0; i < tiles; i++) {
    const int rows = (int)min((int64_t)BOX_ROWS, end - begin - (int64_t)i * BOX_ROWS);
    const struct lane_place at = lane_place_of(p.end, begin + i * BOX_ROWS, rows, thread);
    unsigned char *slot = m.slots + i % p.slots * then_slot_bytes(8 * BLOCKS, p.depth, p.left_boxes);
    unsigned char *dz = slot + p.depth * BOX, *left = dz + 8 * BLOCKS / BOX_COLS * BOX;
    float sum[HALF][4];
    barrier_wait(&barriers.full[i % p.slots], i / p.slots & 1);
    multiply_tile<HALF, false>(p.steps, 8 * BLOCKS * BOX_ROW_BYTES, slot, panel, sum);
    wait_for_products<0>();
    hold(sum);
    end_boxes<HALF, END_BACKWARD_RELU>(p.end, NULL, totals, at, thread / 32,
                                       dz + team * 8 * HALF / BOX_COLS * BOX, sum);
    show_to_products();
    __syncthreads(); /* both halves of dZ are there, and the tile before is not needed any more */
    if (threadIdx.x == 0 && i > 0 && i - 1 + p.slots < tiles)
      feed_then<BLOCKS>(p, maps, begin, i - 1 + p.slots, m.slots, barriers);
    __syncwarp();
    add_gradient<BLOCKS>(left + min(team, p.left_boxes - 1) * BOX, dz, (rows + TERMS - 1) / TERMS, i > 0,
                         gradient);
  }
  wait_for_products<0>();
  hold(gradient);
  write_gradient<BLOCKS>(p, team, thread, gradient);
}

/* The block's sums of dZ's columns, of each half from its team's warps. */
template <int BLOCKS>
static __device__ __forceinline__ void write_half_sums(const struct then_product &p, const double *totals) {
  constexpr int COLS = 4 * BLOCKS, WARPS = TEAM / 32;
  __syncthreads();
  for (int j = threadIdx.x; j < p.n; j += blockDim.x) {
    double sum = 0;
    for (int w = 0; w < WARPS; w++) sum += totals[(j / COLS * WARPS + w) * COLS + j % COLS];
    p.end.sums[(int64_t)blockIdx.x * p.n + j] = sum;
  }
}

template <int BLOCKS>
static __global__ void __launch_bounds__(TEAMS *TEAM, 1)
    then_kernel(const __grid_constant__ struct then_maps maps,
                const __grid_constant__ struct then_product p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ struct bulk_barriers barriers;
  const struct then_memory memory = then_memory_of<BLOCKS>(p);
  if (threadIdx.x == 0) open_barriers(barriers, p.slots, 1);
  for (int j = threadIdx.x; p.end.sums && j < TEAMS * TEAM / 32 * 4 * BLOCKS; j += blockDim.x)
    memory.totals[j] = 0;
  __syncthreads();
  take_share<BLOCKS>(p, maps, memory, barriers);
  if (p.end.sums) write_half_sums<BLOCKS>(p, memory.totals);
#endif
}

#endif
