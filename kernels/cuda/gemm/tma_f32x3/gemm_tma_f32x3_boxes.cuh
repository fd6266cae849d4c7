/* Boxes of floats in a ring in shared memory (gemm_tma_f32x3.cuh): who brings them, and who waits for them.
 */
#ifndef KERNELS_CUDA_GEMM_TMA_F32X3_GEMM_TMA_F32X3_BOXES_CUH
#define KERNELS_CUDA_GEMM_TMA_F32X3_GEMM_TMA_F32X3_BOXES_CUH

#include "kernels/cuda/common/tma.cuh"
#include "kernels/cuda/gemm/gemm_place.cuh"

constexpr int TMA_F32X3_COLS = BOX_ROW_BYTES / (int)sizeof(float); /* of a box: two steps of A */
constexpr int MOST_BOXES = 27, MOST_TEAMS = 3;

struct tma_f32x3_maps {
  CUtensorMap a, b, a2, b2, saved, out;
};

struct tma_f32x3_product {
  int64_t m, tiles;
  int n, height;    /* height: of a tile */
  int depth, boxes; /* boxes of a tile of A and A2, of a tile of C */
  int depth2;       /* of A2; 0: there is none */
  int b_boxes, b2_boxes, ring;
  bool transpose_b;
  struct gemm_epilogue epilogue;
};

/* Teams of a block, as many as the registers allow that they have when those who feed it (four warps, for
 * registers are handed over by four) keep few. */
template <int BLOCKS> constexpr int TMA_F32X3_TEAMS = BLOCKS <= 8 ? 3 : 2;
template <int BLOCKS> constexpr int TMA_F32X3_REGISTERS = BLOCKS <= 8 ? 160 : 240;

/* Columns of the boxes of a tile of C, and how many boxes of B there are. */
template <int BLOCKS> constexpr int BOXED_COLS = (BLOCKS + 3) / 4 * TMA_F32X3_COLS;

template <int BLOCKS> static __host__ __device__ __forceinline__ int boxes_of_b(int depth, bool transpose_b) {
  return transpose_b ? (BLOCKS + 7) / 8 * depth : (depth + 1) / 2 * ((BLOCKS + 3) / 4);
}

/* For so many blocks: tiles of equal height, in as few rounds as their largest height allows. */
template <int BLOCKS> static void lay_ring(int64_t blocks, struct tma_f32x3_product &p) {
  const int64_t rounds = (p.m + blocks * BOX_ROWS - 1) / (blocks * BOX_ROWS), tiles = rounds * blocks;
  p.height = (int)((p.m + tiles - 1) / tiles);
  p.tiles = (p.m + p.height - 1) / p.height;
  p.boxes = (int)blocks_of(min(p.n, 8 * BLOCKS), TMA_F32X3_COLS);
  p.b2_boxes = boxes_of_b<BLOCKS>(p.depth2, p.transpose_b);
  p.b_boxes = boxes_of_b<BLOCKS>(p.depth - p.depth2, p.transpose_b) + p.b2_boxes;
}

/* Shared memory: the ring; forward two boxes for each team's results; the panel; sums of columns for each
 * warp, [sums, warps, columns]; reals of columns. */
struct tma_f32x3_memory {
  unsigned char *ring, *results;
  uint4 *panel;
  double *totals;
  float *reals;
};

template <int BLOCKS> static __host__ __device__ __forceinline__ int result_boxes(bool backward) {
  return backward ? 0 : 2 * TMA_F32X3_TEAMS<BLOCKS>;
}

template <int BLOCKS> static __host__ __device__ __forceinline__ int tma_f32x3_panel_bytes(int depth) {
  return depth * 2 * 32 * BLOCKS * 16;
}

/* Doubles of one sum of the columns. */
template <int BLOCKS>
constexpr int TMA_F32X3_TOTALS = TMA_F32X3_TEAMS<BLOCKS> *TEAM / 32 * BOXED_COLS<BLOCKS>;

template <int BLOCKS> static __host__ __device__ __forceinline__ int tma_f32x3_totals_bytes(int sums) {
  return sums * TMA_F32X3_TOTALS<BLOCKS> * (int)sizeof(double);
}

template <int BLOCKS>
static __device__ __forceinline__ struct tma_f32x3_memory
tma_f32x3_memory_of(const struct tma_f32x3_product &p) {
  extern __shared__ __align__(1024) unsigned char boxes[];
  unsigned char *results = boxes + p.ring * BOX;
  unsigned char *panel = results + result_boxes<BLOCKS>(p.epilogue.backward) * BOX;
  unsigned char *totals = panel + tma_f32x3_panel_bytes<BLOCKS>(p.depth);
  float *reals = (float *)(totals + tma_f32x3_totals_bytes<BLOCKS>(sums_wanted(p.epilogue)));
  return {boxes, results, (uint4 *)panel, (double *)totals, reals};
}

/* What was copied to a box is there; the box is not needed any more. turn: the boxes of the tile before have
 * all come, and its team does not need those of A any more. */
struct tma_f32x3_barriers {
  uint64_t full[MOST_BOXES], empty[MOST_BOXES], turn[MOST_TEAMS];
};

/* A box of the ring, and how often it was taken before. */
struct ring_place {
  int box, round;
};

static __device__ __forceinline__ struct ring_place place_of_box(const struct tma_f32x3_product &p, int i) {
  return {i % p.ring, i / p.ring};
}

static __device__ __forceinline__ void next_box(const struct tma_f32x3_product &p, struct ring_place &at) {
  if (++at.box == p.ring) at.box = 0, at.round++;
}

/* By a warp that will give it back, once all boxes before have come. */
static __device__ __forceinline__ void await_next_box(struct tma_f32x3_barriers &barriers,
                                                      const struct ring_place &at) {
  barrier_wait(&barriers.full[at.box], at.round & 1);
}

/* By one that knows of less: that some box less than a round of the ring before has come. A barrier tells one
 * round from the next, and from no other; what lay there before may have been for another team, and a copy
 * begun later may end first: that it was given back is waited for, too. */
static __device__ __forceinline__ void await_box(struct tma_f32x3_barriers &barriers,
                                                 const struct ring_place &at) {
  if (at.round > 0) barrier_wait(&barriers.empty[at.box], (at.round - 1) & 1);
  barrier_wait(&barriers.full[at.box], at.round & 1);
}

/* All lanes of the warp have read what they need of the box. */
static __device__ __forceinline__ void give_box(struct tma_f32x3_barriers &barriers,
                                                const struct ring_place &at) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) barrier_arrive(&barriers.empty[at.box]);
}

/* Rows of lanes 4 g + q in a warp's 16: so that eight lanes in a sequence read from all banks of a box. */
static __device__ __forceinline__ int row_of_lane(int lane) {
  return lane / 8 + lane / 4 % 2 * 4;
}

/* 16 bytes of a row of a box. */
static __device__ __forceinline__ uint4 &chunk_of_box(const unsigned char *box, int row, int chunk) {
  return *(uint4 *)(box + row * BOX_ROW_BYTES + (chunk ^ row % 8) * 16);
}

static __device__ __forceinline__ void feed_box(const struct tma_f32x3_product &p, const CUtensorMap *map,
                                                unsigned char *ring, struct tma_f32x3_barriers &barriers,
                                                struct ring_place &at, int rows, int col, int64_t row) {
  uint64_t *full = &barriers.full[at.box];
  if (at.round > 0) barrier_wait(&barriers.empty[at.box], (at.round - 1) & 1);
  barrier_expect(full, (uint32_t)(rows * BOX_ROW_BYTES));
  copy_box(ring + at.box * BOX, map, full, col, (int)row);
  next_box(p, at);
}

/* A box of B or B2 begins there; its first step in the panel, and where the panel's steps of that matrix end.
 */
struct box_of_b {
  bool second;
  int col, row, step, steps;
};

/* Box i of B and B2, one behind the other: columns of C run along rows of the boxes, or down them. */
template <int BLOCKS>
static __device__ __forceinline__ struct box_of_b box_of_b_at(const struct tma_f32x3_product &p, int i) {
  constexpr int ACROSS = (BLOCKS + 3) / 4;
  const int depth1 = p.depth - p.depth2, boxes1 = p.b_boxes - p.b2_boxes;
  const bool second = i >= boxes1;
  const int depth = second ? p.depth2 : depth1, before = second ? depth1 : 0;
  if (second) i -= boxes1;
  if (p.transpose_b)
    return {second, i % depth * TMA_F32X3_COLS, i / depth * BOX_ROWS, 2 * (before + i % depth), 2 * p.depth};
  return {second, i % ACROSS * TMA_F32X3_COLS, i / ACROSS * BOX_ROWS,
          2 * before + i / ACROSS * BOX_ROWS / TERMS, 2 * (before + depth)};
}

/* B and B2. */
template <int BLOCKS>
static __device__ __forceinline__ void
feed_panel(const struct tma_f32x3_product &p, const struct tma_f32x3_maps &maps, unsigned char *ring,
           struct tma_f32x3_barriers &barriers, struct ring_place &at, int first_col) {
  for (int i = 0; i < p.b_boxes; i++) {
    const struct box_of_b b = box_of_b_at<BLOCKS>(p, i);
    feed_box(p, b.second ? &maps.b2 : &maps.b, ring, barriers, at, BOX_ROWS,
             b.col + (p.transpose_b ? 0 : first_col), b.row + (p.transpose_b ? first_col : 0));
  }
}

/* First B and B2, then tile by tile A, A2 and the saved output. */
template <int BLOCKS>
static __device__ __forceinline__ void feed_ring(const struct tma_f32x3_product &p,
                                                 const struct tma_f32x3_maps &maps, unsigned char *ring,
                                                 struct tma_f32x3_barriers &barriers, int first_col) {
  const int saved = p.epilogue.backward ? p.boxes : 0, depth1 = p.depth - p.depth2;
  struct ring_place at = {0, 0};
  feed_panel<BLOCKS>(p, maps, ring, barriers, at, first_col);
  for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    const int64_t row = tile * p.height;
    for (int i = 0; i < depth1; i++)
      feed_box(p, &maps.a, ring, barriers, at, p.height, i * TMA_F32X3_COLS, row);
    for (int i = 0; i < p.depth2; i++)
      feed_box(p, &maps.a2, ring, barriers, at, p.height, i * TMA_F32X3_COLS, row);
    for (int i = 0; i < saved; i++)
      feed_box(p, &maps.saved, ring, barriers, at, p.height, first_col + i * TMA_F32X3_COLS, row);
  }
}

#endif
