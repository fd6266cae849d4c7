/* dZ = epilogue'(A B^T (+ A2 B2^T)) of bf16, and along with it gradients of weights from the rows that lie in
 * shared memory meanwhile: H^T A (and H^T A2) of the saved output H (`fused_wgrad`); and L^T dZ
 * (`chained_wgrad`), after which nobody reads dZ and it is not written. The kernel, for at most 256 columns
 * of dZ and H and 128 of L
 * ("left").
 *
 * A block has a share of the rows, in tiles of 64: of A, of H and of L, which come by bulk copies into a ring
 * of slots. Each of two teams of four warps has half of dZ's columns: it adds the products of its half of H
 * with A to sums in its registers, multiplies the tile with its half of the panel B, and leaves dZ in the
 * place of H. Then it adds the products of half of L's columns with dZ to further sums, with which tensor
 * cores go on while the next tile is waited for; or a bulk copy writes dZ. The sums of all shares are added
 * afterwards, in order. */
#ifndef KERNELS_CUDA_GEMM_TMA_GEMM_TMA_WGRAD_BF16_CUH
#define KERNELS_CUDA_GEMM_TMA_GEMM_TMA_WGRAD_BF16_CUH

#include "kernels/cuda/common/tma.cuh"
#include "kernels/cuda/gemm/gemm_epilogue.cuh"
#include "kernels/cuda/gemm/gemm_tiles.cuh"
#include "kernels/cuda/gemm/gemm_wgmma.cuh"

struct wgrad_maps {
  CUtensorMap a, b, a2, b2, saved, left, out; /* left with then, out without */
};

struct wgrad_product {
  int64_t m, share;                     /* share: a multiple of TERMS, of BOX_ROWS where dZ is written */
  int n, steps;                         /* columns of dZ; products of a sum of A B^T + A2 B2^T */
  int depth, depth2, boxes, left_boxes; /* depth: of A and A2 */
  int slots;
  struct gemm_epilogue epilogue;
  /* [shares, columns of all left boxes, 8 BLOCKS], [shares, 8 BLOCKS, 8 A_BLOCKS], both */
  float *chained_wgrad, *fused_wgrad, *fused_wgrad2;
};

/* 8 BLOCKS columns of dZ, half of them in boxes of each team; THEN: with L^T dZ; 8 A_BLOCKS of A with H^T A,
 * 0 without; PAIR: and as many of A2 with H^T A2. */
template <int BLOCKS_, bool THEN_, int A_BLOCKS_, bool PAIR_ = false> struct wgrad_shape {
  static constexpr int BLOCKS = BLOCKS_, COLS = 8 * BLOCKS, BOXES = COLS / BOX_COLS, EACH = BOXES / TEAMS;
  static constexpr bool CHAINED_WGRAD = THEN_, FUSED_WGRAD = A_BLOCKS_ > 0, PAIR = PAIR_;
  static constexpr int A_BLOCKS = FUSED_WGRAD ? A_BLOCKS_ : 6;
};

/* A slot: the boxes of A and A2, of dZ, of L. */
static __host__ __device__ __forceinline__ int wgrad_slot_bytes(int cols, int depth, int left_boxes) {
  return (depth + cols / BOX_COLS + left_boxes) * BOX;
}

static __host__ __device__ __forceinline__ int panel_bytes(int cols, int depth) {
  return depth * BOX_COLS * cols * 2;
}

struct wgrad_memory {
  unsigned char *panel, *slots;
  double *totals; /* [warps, half of the columns] */
};

template <class S>
static __device__ __forceinline__ struct wgrad_memory wgrad_memory_of(const struct wgrad_product &p) {
  extern __shared__ __align__(1024) unsigned char boxes[];
  struct wgrad_memory m = {boxes, boxes + panel_bytes(S::COLS, p.depth)};
  m.totals = (double *)(m.slots + p.slots * wgrad_slot_bytes(S::COLS, p.depth, p.left_boxes));
  return m;
}

template <class S>
static __device__ __forceinline__ void feed_panel_along(const struct wgrad_product &p,
                                                        const struct wgrad_maps &maps, unsigned char *panel,
                                                        uint64_t *barrier) {
  const int depth1 = p.depth - p.depth2;
  barrier_expect(barrier, (uint32_t)panel_bytes(S::COLS, p.depth));
  for (int b = 0; b < p.depth; b++)
    copy_box(panel + b * S::COLS * BOX_ROW_BYTES, b < depth1 ? &maps.b : &maps.b2, barrier,
             (b < depth1 ? b : b - depth1) * BOX_COLS, 0);
}

/* Tile i of the share that begins at `begin`, into its slot. */
template <class S>
static __device__ __forceinline__ void feed_wgrad(const struct wgrad_product &p,
                                                  const struct wgrad_maps &maps, int64_t begin, int i,
                                                  unsigned char *slots, struct tma_barriers &barriers) {
  const int slot = i % p.slots, row = (int)begin + i * BOX_ROWS;
  uint64_t *full = &barriers.full[slot];
  unsigned char *to = slots + slot * wgrad_slot_bytes(S::COLS, p.depth, p.left_boxes);
  barrier_expect(full, (uint32_t)((p.depth + p.boxes + p.left_boxes) * BOX));
  const int depth1 = p.depth - p.depth2;
  for (int b = 0; b < depth1; b++) copy_box(to + b * BOX, &maps.a, full, b * BOX_COLS, row);
  for (int b = 0; b < p.depth2; b++) copy_box(to + (depth1 + b) * BOX, &maps.a2, full, b * BOX_COLS, row);
  to += p.depth * BOX;
  for (int b = 0; b < p.boxes; b++) copy_box(to + b * BOX, &maps.saved, full, b * BOX_COLS, row);
  to += S::BOXES * BOX;
  for (int b = 0; b < p.left_boxes; b++) copy_box(to + b * BOX, &maps.left, full, b * BOX_COLS, row);
}

/* sum = 64 columns of the tile times the panel, under way. */
static __device__ __forceinline__ void multiply_tile(int steps, uint32_t box, const unsigned char *tile,
                                                     const unsigned char *panel, float (&sum)[8][4]) {
  const uint64_t left = boxed_matrix(shared_address(tile), 0), right = boxed_matrix(shared_address(panel), 0);
  int s = 0;
#pragma unroll 1
  do {
    const int within = s % 4 * TERMS * 2;
    open_products();
    multiply<false, false>(sum, further(left, s / 4 * BOX + within),
                           further(right, s / 4 * (int)box + within), s > 0);
    close_products();
  } while (++s < steps);
}

/* gradient += a box, turned, times other boxes, over so many rows; under way. */
template <int BLOCKS>
static __device__ __forceinline__ void add_gradient(const unsigned char *left, const unsigned char *right,
                                                    int steps, bool adds, float (&gradient)[BLOCKS][4]) {
  const uint64_t of_left = boxed_matrix(shared_address(left), 0),
                 of_right = boxed_matrix(shared_address(right), BOX);
  int s = 0;
#pragma unroll 1
  do {
    const int along = s * TERMS * BOX_ROW_BYTES;
    open_products();
    multiply<true, true>(gradient, further(of_left, along), further(of_right, along), adds || s > 0);
    close_products();
  } while (++s < steps);
}

/* A lane's sums of 64 rows of a gradient: of rows v and v + 8 the columns 8 j + 2 q and its neighbour. */
template <int BLOCKS>
static __device__ __forceinline__ void write_gradient(float *to, const float (&gradient)[BLOCKS][4]) {
  const int thread = threadIdx.x % TEAM, v = thread / 32 * 16 + thread % 32 / 4;
  to += v * 8 * BLOCKS + thread % 4 * 2;
#pragma unroll
  for (int j = 0; j < BLOCKS; j++) {
    *(float2 *)(to + 8 * j) = make_float2(gradient[j][0], gradient[j][1]);
    *(float2 *)(to + 8 * 8 * BLOCKS + 8 * j) = make_float2(gradient[j][2], gradient[j][3]);
  }
}

/* What a team's threads hold from tile to tile. */
template <class S> struct wgrad_sums {
  float chained_wgrad[S::CHAINED_WGRAD ? S::BLOCKS : 1][4], fused_wgrad[S::EACH][S::A_BLOCKS][4];
  float fused_wgrad2[S::PAIR ? S::EACH : 1][S::A_BLOCKS][4];
};

template <class S>
static __device__ __forceinline__ void write_wgrad(const struct wgrad_product &p, int team,
                                                   const struct wgrad_sums<S> &sums) {
  if constexpr (S::CHAINED_WGRAD) {
    if (team < p.left_boxes)
      write_gradient(p.chained_wgrad + ((int64_t)blockIdx.x * p.left_boxes + team) * BOX_COLS * S::COLS,
                     sums.chained_wgrad);
  }
  if constexpr (S::FUSED_WGRAD) {
#pragma unroll
    for (int e = 0; e < S::EACH; e++) {
      const int64_t at = ((int64_t)blockIdx.x * S::BOXES + team * S::EACH + e) * BOX_COLS * 8 * S::A_BLOCKS;
      write_gradient(p.fused_wgrad + at, sums.fused_wgrad[e]);
      if constexpr (S::PAIR) write_gradient(p.fused_wgrad2 + at, sums.fused_wgrad2[e]);
    }
  }
}

/* dZ of a box in the place of H, from the sums; those of its columns are added to the warp's totals. */
static __device__ __forceinline__ void epilogue_box(const struct gemm_epilogue &e,
                                                    const struct lane_place &at, const float (&sum)[8][4],
                                                    unsigned char *box, double *totals) {
  const float scale = e.dropout.threshold > 0 ? e.dropout.scale : 1;
  float column[8][2] = {};
  box += (threadIdx.x % TEAM / 32 * 16 + at.g) * BOX_ROW_BYTES + 4 * at.q;
#pragma unroll
  for (int j = 0; j < 8; j++) {
#pragma unroll
    for (int r = 0; r < 2; r++) {
      uint32_t *pair = (uint32_t *)(box + (j ^ at.g) * 16 + r * 8 * BOX_ROW_BYTES);
      const float x = low_half(*pair) > 0 ? sum[j][2 * r] * scale : 0,
                  y = high_half(*pair) > 0 ? sum[j][2 * r + 1] * scale : 0;
      if (at.is_there[r]) column[j][0] += x, column[j][1] += y;
      *pair = rounded_pair(x * at.factor[r], y * at.factor[r]);
    }
  }
  if (!e.sums) return;
  fold_columns(at.g, column);
  totals[at.g * 8 + 2 * at.q] += (double)column[0][0];
  totals[at.g * 8 + 2 * at.q + 1] += (double)column[0][1];
}

/* dZ of the team's columns of a tile, a box after the other, in the place of H; H^T A before that. */
template <class S>
static __device__ __forceinline__ void
epilogue_wgrad(const struct wgrad_product &p, const struct wgrad_memory &m, const struct lane_place &at,
               const unsigned char *a, unsigned char *dz, int team, int steps, bool adds,
               struct wgrad_sums<S> &sums) {
  double *totals = m.totals + threadIdx.x / 32 * S::EACH * BOX_COLS;
  dz += team * S::EACH * BOX;
  if constexpr (S::FUSED_WGRAD) {
#pragma unroll
    for (int e = 0; e < S::EACH; e++) {
      add_gradient<S::A_BLOCKS>(dz + e * BOX, a, steps, adds, sums.fused_wgrad[e]);
      if constexpr (S::PAIR)
        add_gradient<S::A_BLOCKS>(dz + e * BOX, a + (p.depth - p.depth2) * BOX, steps, adds,
                                  sums.fused_wgrad2[e]);
    }
  }
#pragma unroll
  for (int e = 0; e < S::EACH; e++) {
    const unsigned char *panel = m.panel + (team * S::EACH + e) * BOX_COLS * BOX_ROW_BYTES;
    float sum[8][4];
    multiply_tile(p.steps, S::COLS * BOX_ROW_BYTES, a, panel, sum);
    wait_for_products<0>();
    hold(sum);
    if constexpr (S::FUSED_WGRAD) {
      hold(sums.fused_wgrad[e]);
      if constexpr (S::PAIR) hold(sums.fused_wgrad2[e]);
      if (e == 0) meet_team(team); /* no warp of the team reads H any more */
    }
    epilogue_box(p.epilogue, at, sum, dz + e * BOX, totals + e * BOX_COLS);
  }
}

template <class S>
static __device__ __forceinline__ void take_share(const struct wgrad_product &p,
                                                  const struct wgrad_maps &maps, const struct wgrad_memory &m,
                                                  struct tma_barriers &barriers) {
  const int team = __shfl_sync(~0u, (int)threadIdx.x / TEAM, 0);
  const int64_t begin = blockIdx.x * p.share, end = min(begin + p.share, p.m);
  const int tiles = (int)((end - begin + BOX_ROWS - 1) / BOX_ROWS);
  struct wgrad_sums<S> sums;
  if (threadIdx.x == 0) {
    feed_panel_along<S>(p, maps, m.panel, &barriers.panel);
    for (int i = 0; i < min(p.slots, tiles); i++) feed_wgrad<S>(p, maps, begin, i, m.slots, barriers);
  }
  __syncwarp();
  barrier_wait(&barriers.panel, 0);
  for (int i = 0; i < tiles; i++) {
    const int64_t row = begin + (int64_t)i * BOX_ROWS;
    const int rows = (int)min((int64_t)BOX_ROWS, end - row), steps = (rows + TERMS - 1) / TERMS;
    const int lane = threadIdx.x % 32, first = threadIdx.x % TEAM / 32 * 16 + lane / 4;
    const struct lane_place at = place_of_lane(p.epilogue, row, rows, first, lane);
    unsigned char *a = m.slots + i % p.slots * wgrad_slot_bytes(S::COLS, p.depth, p.left_boxes);
    unsigned char *dz = a + p.depth * BOX, *left = dz + S::BOXES * BOX;
    barrier_wait(&barriers.full[i % p.slots], i / p.slots & 1);
    epilogue_wgrad<S>(p, m, at, a, dz, team, steps, i > 0, sums);
    show_to_products();
    __syncthreads(); /* both halves of dZ are there, and the tile before is not needed any more */
    if (threadIdx.x == 0) {
      if (!S::CHAINED_WGRAD) wait_for_boxes();
      if (i > 0 && i - 1 + p.slots < tiles) feed_wgrad<S>(p, maps, begin, i - 1 + p.slots, m.slots, barriers);
      for (int b = 0; !S::CHAINED_WGRAD && b < p.boxes; b++)
        write_box(&maps.out, dz + b * BOX, b * BOX_COLS, (int)row);
      if (!S::CHAINED_WGRAD) close_boxes();
    }
    __syncwarp();
    if constexpr (S::CHAINED_WGRAD)
      add_gradient<S::BLOCKS>(left + min(team, p.left_boxes - 1) * BOX, dz, steps, i > 0, sums.chained_wgrad);
  }
  wait_for_products<0>();
  if constexpr (S::CHAINED_WGRAD) hold(sums.chained_wgrad);
  if (!S::CHAINED_WGRAD && threadIdx.x == 0) wait_for_boxes();
  write_wgrad<S>(p, team, sums);
}

template <class S>
static __global__ void __launch_bounds__(TEAMS *TEAM, 1)
    wgrad_kernel(const __grid_constant__ struct wgrad_maps maps,
                 const __grid_constant__ struct wgrad_product p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ struct tma_barriers barriers;
  const struct wgrad_memory memory = wgrad_memory_of<S>(p);
  if (threadIdx.x == 0) open_barriers(barriers, p.slots, 1);
  for (int j = threadIdx.x; p.epilogue.sums && j < TEAMS * TEAM / 32 * S::COLS / 2; j += blockDim.x)
    memory.totals[j] = 0;
  pdl_prologue();
  __syncthreads();
  take_share<S>(p, maps, memory, barriers);
  if (!p.epilogue.sums) return;
  __syncthreads();
  write_half_sums(memory.totals, TEAM / 32, S::COLS / 2, p.n, TEAMS * TEAM,
                  p.epilogue.sums + (int64_t)blockIdx.x * p.n);
#endif
}

#endif
