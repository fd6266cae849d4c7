/* dZ = epilogue'(A B^T) of floats, and along with it gradients of weights from the rows that lie in shared
 * memory meanwhile: H^T A of the saved output H (`fused_wgrad`); and L^T dZ (`chained_wgrad`), after which
 * nobody reads dZ and it is not written. The kernel, for at most 128 columns of each.
 *
 * A block has a share of the rows, in tiles of 64: boxes of A, of H and of L, which one warp brings through a
 * ring (gemm_tma_boxes.cuh). Both teams cut the tile of A into planes, hi and mid, that lie as wgmma
 * reads bf16. Each team then has half of dZ's columns, which are those of its half of H: it multiplies the
 * tile with its half of the panel B; adds the products of its half of H, turned and cut in registers, with
 * the planes of A; and leaves the planes of its half of dZ. With these it multiplies half of L's columns,
 * while the next tile is cut; or a bulk copy writes dZ. Every TMA_FLUSH tiles the sums of gradients are
 * added to the block's own in the workspace, rounded to nearest, for tensor cores cut off; those of all
 * shares are added afterwards, in order. */
#ifndef KERNELS_CUDA_GEMM_TMA_GEMM_TMA_WGRAD_F32_CUH
#define KERNELS_CUDA_GEMM_TMA_GEMM_TMA_WGRAD_F32_CUH

#include "kernels/cuda/gemm/gemm_tiles.cuh"
#include "kernels/cuda/gemm/tma/gemm_tma.cuh"
#include "kernels/cuda/gemm/tma/gemm_tma_split.cuh"

constexpr int WGRAD_STEPS = BOX_ROWS / TERMS;
constexpr int WGRAD_COLS = 128,
              WGRAD_BOXES = WGRAD_COLS / TMA_COLS<float>; /* of dZ and of H; L has as many at most */

struct tma_wgrad_maps {
  CUtensorMap a, b, saved, left, out; /* left with then, out without */
};

struct tma_wgrad {
  struct tma_product product; /* of dZ; its tiles are of 64 rows */
  int64_t share;              /* rows of a block: a multiple of TERMS, of BOX_ROWS where dZ is written */
  int left_boxes;
  float *chained_wgrad,
      *fused_wgrad; /* [shares, columns of all left boxes, 128], [shares, 128, 8 A_BLOCKS] */
};

/* THEN: with L^T dZ; 8 A_BLOCKS columns of A with H^T A, 0 without. */
template <bool THEN_, int A_BLOCKS_> struct tma_wgrad_shape {
  static constexpr bool CHAINED_WGRAD = THEN_, FUSED_WGRAD = A_BLOCKS_ > 0;
  static constexpr int A_BLOCKS = FUSED_WGRAD ? A_BLOCKS_ : 6;
};

/* Shared memory: the ring; the planes of a tile of A; those of dZ, or its boxes; the planes of B; sums of
 * columns, [warps, half of the columns]. */
struct tma_wgrad_memory {
  unsigned char *ring, *results;
  struct split_boxes a, dz, b;
  double *totals;
};

static __host__ __device__ __forceinline__ int wgrad_split_boxes(int depth) {
  return (depth + 1) / 2;
}

static __host__ __device__ __forceinline__ int tma_wgrad_fixed(int depth, bool sums) {
  const int planes = wgrad_split_boxes(depth) * BOX * 2;
  return planes + WGRAD_BOXES * BOX + planes * (WGRAD_COLS / BOX_ROWS) +
         (sums ? 2 * TEAM / 32 * WGRAD_COLS / 2 * (int)sizeof(double) : 0);
}

static __device__ __forceinline__ struct tma_wgrad_memory tma_wgrad_memory_of(const struct tma_product &p) {
  extern __shared__ __align__(1024) unsigned char boxes[];
  const int plane = wgrad_split_boxes(p.depth) * BOX;
  unsigned char *a = boxes + p.ring * BOX, *dz = a + 2 * plane, *b = dz + WGRAD_BOXES * BOX;
  const int panel = plane * (WGRAD_COLS / BOX_ROWS);
  return {boxes, dz, {a, a + plane}, {dz, dz + 2 * BOX}, {b, b + panel}, (double *)(b + 2 * panel)};
}

/* The block's rows, and how many of its tiles there are. */
struct wgrad_share {
  int64_t begin, end;
  int tiles;
};

static __device__ __forceinline__ struct wgrad_share wgrad_share_of(const struct tma_wgrad &p) {
  const int64_t begin = blockIdx.x * p.share, end = min(begin + p.share, p.product.m);
  return {begin, end, (int)((end - begin + BOX_ROWS - 1) / BOX_ROWS)};
}

static __device__ __forceinline__ void feed_wgrad(const struct tma_wgrad &wgrad,
                                                  const struct tma_wgrad_maps &maps, unsigned char *ring,
                                                  struct ring_barriers &barriers) {
  const struct tma_product &p = wgrad.product;
  const struct wgrad_share share = wgrad_share_of(wgrad);
  const CUtensorMap *map[] = {&maps.a, &maps.saved, &maps.left};
  const int count[] = {p.depth, p.boxes, wgrad.left_boxes};
  struct ring_place at = {0, 0};
  for (int i = 0; i < p.b_boxes; i++)
    feed_box(p, &maps.b, ring, barriers, at, BOX_ROWS, i % p.depth * TMA_COLS<float>, i / p.depth * BOX_ROWS);
  for (int tile = 0; tile < share.tiles; tile++) {
#pragma unroll
    for (int m = 0; m < 3; m++) {
      for (int i = 0; i < count[m]; i++)
        feed_box(p, map[m], ring, barriers, at, BOX_ROWS, i * TMA_COLS<float>,
                 share.begin + (int64_t)tile * BOX_ROWS);
    }
  }
}

/* What a team's threads hold from tile to tile. */
template <class S> struct tma_wgrad_sums {
  float chained_wgrad[S::CHAINED_WGRAD ? 16 : 1][4], fused_wgrad[S::A_BLOCKS][4];
};

/* gradient += the warp's 16 columns of a box, turned, times planes, over so many steps of 16 rows, each a
 * group of products that is under way; the others add zeros. */
template <int BLOCKS>
static __device__ __forceinline__ void add_turned(const unsigned char *box, int first, int lane,
                                                  const struct split_boxes &right, int steps, bool adds,
                                                  float (&gradient)[BLOCKS][4]) {
  const uint64_t hi = boxed_matrix(shared_address(right.hi), BOX),
                 mid = boxed_matrix(shared_address(right.mid), BOX);
  struct fragment a[WGRAD_STEPS];
#pragma unroll
  for (int s = 0; s < WGRAD_STEPS; s++) {
    const int along = s * TERMS * BOX_ROW_BYTES;
    turn_columns(box, s * TERMS, first, lane, s < steps, a[s]);
    open_products();
    multiply<true>(gradient, a[s].word[1], further(hi, along), adds || s > 0);
    multiply<true>(gradient, a[s].word[0], further(mid, along), 1);
    multiply<true>(gradient, a[s].word[0], further(hi, along), 1);
    close_products();
  }
}

/* The team's 64 columns of dZ before the epilogue, under way. */
static __device__ __forceinline__ void
multiply_wgrad(const struct tma_product &p, const struct tma_wgrad_memory &m, int team, float (&sum)[8][4]) {
  const int panel = WGRAD_COLS * BOX_ROW_BYTES, half = team * BOX;
  const uint64_t a[2] = {boxed_matrix(shared_address(m.a.hi), 0), boxed_matrix(shared_address(m.a.mid), 0)};
  const uint64_t b[2] = {boxed_matrix(shared_address(m.b.hi + half), 0),
                         boxed_matrix(shared_address(m.b.mid + half), 0)};
  int s = 0;
  open_products();
#pragma unroll 1
  do {
    const int within = s % 4 * TERMS * 2, left = s / 4 * BOX + within, right = s / 4 * panel + within;
    multiply<false, false>(sum, further(a[1], left), further(b[0], right), s > 0);
    multiply<false, false>(sum, further(a[0], left), further(b[1], right), 1);
    multiply<false, false>(sum, further(a[0], left), further(b[0], right), 1);
  } while (++s < 2 * p.depth);
  close_products();
}

/* What 32 columns of the team's half of dZ are made from, a box of H, and where they go: the planes, or the
 * boxes, of dZ. */
template <class S> struct wgrad_part {
  typedef float T;
  const struct tma_wgrad_memory &m;
  int team, part, row;
  const unsigned char *saved;

  __device__ __forceinline__ void read(const struct lane_place &at, int i, int r, float (&x)[4]) const {
    load_four(four_of_box<float>(saved, row + 8 * r, 4 * i + at.q), 4, x);
  }
  __device__ __forceinline__ void write(const struct lane_place &at, int i, int r,
                                        const float (&x)[4]) const {
    if constexpr (S::CHAINED_WGRAD)
      put_four(m.dz, team, row + 8 * r, 32 * part + 16 * i + 4 * at.q, x);
    else
      store_four(four_of_box<float>(m.results + (2 * team + part) * BOX, row + 8 * r, 4 * i + at.q), 4, x);
  }
};

/* The epilogue of the team's half of dZ. from: its boxes of H. */
template <class S>
static __device__ __forceinline__ void
epilogue_wgrad(const struct tma_product &p, const struct tma_wgrad_memory &m, int team,
               const struct lane_place &at, int row, const unsigned char *const (&from)[2],
               float (&sum)[8][4]) {
  double *totals = m.totals + threadIdx.x / 32 * (WGRAD_COLS / 2);
#pragma unroll
  for (int part = 0; part < 2; part++)
    epilogue_part<EPILOGUE_BACKWARD_RELU, false>(p.epilogue, at, part, 0, NULL, 0,
                                                 wgrad_part<S>{m, team, part, row, from[part]}, sum,
                                                 totals + part * 32, 0);
}

static __device__ __forceinline__ void write_wgrad(const struct tma_product &p, const CUtensorMap &out,
                                                   const struct tma_wgrad_memory &m, int team, int64_t row) {
  if (threadIdx.x % TEAM > 0) return;
  for (int b = 2 * team; b < min(2 * team + 2, p.boxes); b++)
    write_box(&out, m.results + b * BOX, b * TMA_COLS<float>, (int)row);
  close_boxes();
}

/* The team's boxes of A or of B, from number `first` of the ring on. */
static __device__ __forceinline__ void cut_boxes(const struct tma_product &p,
                                                 const struct tma_wgrad_memory &m,
                                                 struct ring_barriers &barriers, int team, int first,
                                                 bool is_panel) {
  const int count = is_panel ? p.b_boxes : p.depth;
  for (int i = team; i < count; i += TEAMS) {
    const struct ring_place at = place_of_box(p, first + i);
    const int column = i % p.depth, rows = i / p.depth * BOX_ROWS;
    const int to = column / 2 * (is_panel ? WGRAD_COLS : BOX_ROWS) * BOX_ROW_BYTES;
    const struct split_boxes &planes = is_panel ? m.b : m.a;
    await_box(barriers, at);
    if (is_panel)
      cut_box<true>(m.ring + at.box * BOX, {planes.hi + to, planes.mid + to}, rows, column % 2);
    else
      cut_box<false>(m.ring + at.box * BOX, {planes.hi + to, planes.mid + to}, rows, column % 2);
    give_box(barriers, at);
  }
}

/* Adds the sums of gradients so far to the block's own; `adds`: there are some before. */
template <class S>
static __device__ __forceinline__ void flush_wgrad(const struct tma_wgrad &p, int team, bool adds,
                                                   struct tma_wgrad_sums<S> &sums) {
  const int warp = threadIdx.x % TEAM / 32, col = team * 64 + warp * 16;
  wait_for_products<0>();
  if constexpr (S::CHAINED_WGRAD) {
    float *to = p.chained_wgrad + ((int64_t)blockIdx.x * p.left_boxes * TMA_COLS<float> + col) * WGRAD_COLS;
    hold(sums.chained_wgrad);
    if (col < p.left_boxes * TMA_COLS<float>) add_turned_sums(to, adds, sums.chained_wgrad);
  }
  if constexpr (S::FUSED_WGRAD) {
    hold(sums.fused_wgrad);
    add_turned_sums(p.fused_wgrad + ((int64_t)blockIdx.x * WGRAD_COLS + col) * 8 * S::A_BLOCKS, adds,
                    sums.fused_wgrad);
  }
}

/* Tile i of the block, the boxes of which are the ring's from number `first` on. adds: to the sums so far. */
template <class S>
static __device__ __forceinline__ void
take_wgrad_tile(const struct tma_wgrad &wgrad, const struct tma_wgrad_maps &maps,
                const struct tma_wgrad_memory &m, struct ring_barriers &barriers,
                const struct wgrad_share &share, int team, int i, int first, bool adds,
                struct tma_wgrad_sums<S> &sums) {
  const struct tma_product &p = wgrad.product;
  const int lane = threadIdx.x % 32, warp = threadIdx.x % TEAM / 32, row = warp * 16 + lane / 4;
  const int64_t begin = share.begin + (int64_t)i * BOX_ROWS;
  const int rows = (int)min((int64_t)BOX_ROWS, share.end - begin), steps = (rows + TERMS - 1) / TERMS;
  const int mine = 2 * team + warp / 2, half = warp % 2 * 16, saved = first + p.depth, left = saved + p.boxes;
  const struct lane_place at = place_of_lane(p.epilogue, begin, rows, row, lane);
  float sum[8][4];
  cut_boxes(p, m, barriers, team, first, false);
  show_to_products();
  wait_for_products<0>(); /* of the tile before */
  if (!S::CHAINED_WGRAD && threadIdx.x % TEAM == 0) wait_for_boxes();
  meet_both();
  multiply_wgrad(p, m, team, sum);
  const unsigned char *const h[2] = {await_nth(p, m.ring, barriers, saved, 2 * team, p.boxes, m.a.hi),
                                     await_nth(p, m.ring, barriers, saved, 2 * team + 1, p.boxes, m.a.hi)};
  if constexpr (S::FUSED_WGRAD) {
    add_turned(warp < 2 ? h[0] : h[1], half, lane, m.a, steps, adds, sums.fused_wgrad);
    wait_for_products<WGRAD_STEPS>();
  } else {
    wait_for_products<0>();
  }
  hold(sum);
  epilogue_wgrad<S>(p, m, team, at, row, h, sum);
  give_pair(p, barriers, saved, team, p.boxes);
  wait_for_products<0>();
  show_to_products();
  meet_both();
  if constexpr (S::CHAINED_WGRAD) {
    const unsigned char *l = await_nth(p, m.ring, barriers, left, mine, wgrad.left_boxes, m.dz.hi);
    add_turned(l, half, lane, m.dz, mine < wgrad.left_boxes ? steps : 0, adds, sums.chained_wgrad);
    give_pair(p, barriers, left, team, wgrad.left_boxes);
  } else {
    write_wgrad(p, maps.out, m, team, begin);
  }
}

template <class S>
static __device__ __forceinline__ void
take_wgrad(const struct tma_wgrad &wgrad, const struct tma_wgrad_maps &maps, const struct tma_wgrad_memory &m,
           struct ring_barriers &barriers, int team) {
  const struct tma_product &p = wgrad.product;
  const struct wgrad_share share = wgrad_share_of(wgrad);
  const int each = p.depth + p.boxes + wgrad.left_boxes;
  struct tma_wgrad_sums<S> sums;
  for (int j = threadIdx.x; p.epilogue.sums && j < TEAMS * TEAM / 32 * WGRAD_COLS / 2; j += TEAMS * TEAM)
    m.totals[j] = 0;
  cut_boxes(p, m, barriers, team, 0, true);
  for (int begin = 0; begin < share.tiles; begin += TMA_FLUSH) {
    for (int i = begin; i < min(begin + TMA_FLUSH, share.tiles); i++)
      take_wgrad_tile<S>(wgrad, maps, m, barriers, share, team, i, p.b_boxes + i * each, i > begin, sums);
    flush_wgrad<S>(wgrad, team, begin > 0, sums);
  }
  if (!S::CHAINED_WGRAD && threadIdx.x % TEAM == 0) wait_for_boxes();
  if (!p.epilogue.sums) return;
  meet_both();
  write_half_sums(m.totals, TEAM / 32, WGRAD_COLS / 2, p.n, TEAMS * TEAM,
                  p.epilogue.sums + (int64_t)blockIdx.x * p.n);
}

template <class S>
static __global__ void __launch_bounds__(TWO_TEAMS_THREADS, 1)
    tma_wgrad_kernel(const __grid_constant__ struct tma_wgrad_maps maps,
                     const __grid_constant__ struct tma_wgrad p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ struct ring_barriers barriers;
  const struct tma_wgrad_memory memory = tma_wgrad_memory_of(p.product);
  const int team = __shfl_sync(~0u, (int)threadIdx.x / TEAM, 0);
  if (threadIdx.x == 0) open_ring(barriers, p.product.ring);
  pdl_prologue();
  __syncthreads();
  if (team < TEAMS) {
    take_registers<TWO_TEAMS_REGISTERS>();
    take_wgrad<S>(p, maps, memory, barriers, team);
  } else {
    leave_registers<FEED_REGISTERS>();
    if (threadIdx.x % TEAM == 0) feed_wgrad(p, maps, memory.ring, barriers);
  }
#endif
}

#endif
