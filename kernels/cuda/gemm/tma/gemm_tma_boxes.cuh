/* Boxes in a ring in shared memory (gemm_tma.cuh): who brings them, and who waits for them. */
#ifndef KERNELS_CUDA_GEMM_TMA_GEMM_TMA_BOXES_CUH
#define KERNELS_CUDA_GEMM_TMA_GEMM_TMA_BOXES_CUH

#include "kernels/cuda/common/tma.cuh"
#include "kernels/cuda/gemm/gemm_epilogue.cuh"

constexpr int MOST_BOXES = 27, MOST_TEAMS = 4, MOST_BATCH = 2;

/* A kernel for matrices of T, and 8 BLOCKS columns of C. TEAMS: as many as registers and shared memory allow.
 * REGISTERS: what their threads need beyond an even share; then four warps feed them, for registers are
 * handed over by four, and keep few. */
template <class T_, int BLOCKS_> struct tma_shape {
  typedef T_ T;
  static constexpr int BLOCKS = BLOCKS_, COLS = 8 * BLOCKS;
  static constexpr int TEAMS = sizeof(T) == 4 ? (BLOCKS <= 8 ? 3 : 2)
                               : BLOCKS <= 8  ? 4
                               : BLOCKS <= 16 ? 3
                                              : 2;
  static constexpr int REGISTERS = BLOCKS <= 8 ? 0 : TEAMS == 3 ? 160 : 240;
  static constexpr int THREADS = TEAMS * TEAM + (REGISTERS > 0 ? TEAM : 32);
  static constexpr int ACROSS = (COLS + TMA_COLS<T> - 1) / TMA_COLS<T>; /* boxes of a row of C */
  static constexpr int BOXED_COLS = ACROSS * TMA_COLS<T>;
  static constexpr int TOTALS = TEAMS * TEAM / 32 * BOXED_COLS; /* doubles of one sum of the columns */
  static constexpr int STEP = 32 * BLOCKS * 16;                 /* bytes of a step of the panel */
  static constexpr bool SENDS_BACK = sizeof(T) == 2; /* backward, too, there is room for boxes of results */
};

struct tma_maps {
  CUtensorMap a, b, a2, b2, saved, out;
};

struct tma_product {
  int64_t m, tiles;
  int n, height;    /* height: of a tile */
  int depth, boxes; /* boxes of a tile of A and A2, of a tile of C */
  int depth2;       /* of A2; 0: there is none */
  int b_boxes, b2_boxes, ring;
  int batch; /* boxes of results that leave together: 1 or 2 */
  bool transpose_b;
  struct gemm_epilogue epilogue;
};

/* Boxes of B: their rows are 64 columns of C, or 64 terms of the sum. */
template <class S> static __host__ __device__ __forceinline__ int boxes_of_b(int depth, bool transpose_b) {
  constexpr int COLS = TMA_COLS<typename S::T>;
  return transpose_b ? (S::COLS + BOX_ROWS - 1) / BOX_ROWS * depth
                     : (depth * COLS + BOX_ROWS - 1) / BOX_ROWS * S::ACROSS;
}

/* For so many blocks: tiles of equal height, in as few rounds as their largest height allows. */
template <class S> static void lay_ring(int64_t blocks, struct tma_product &p) {
  const int64_t rounds = (p.m + blocks * BOX_ROWS - 1) / (blocks * BOX_ROWS), tiles = rounds * blocks;
  p.height = (int)((p.m + tiles - 1) / tiles);
  p.tiles = (p.m + p.height - 1) / p.height;
  p.boxes = (int)blocks_of(min(p.n, S::COLS), TMA_COLS<typename S::T>);
  p.b2_boxes = boxes_of_b<S>(p.depth2, p.transpose_b);
  p.b_boxes = boxes_of_b<S>(p.depth - p.depth2, p.transpose_b) + p.b2_boxes;
}

/* The ring of a kernel that needs `fixed` bytes of shared memory beside it: as many boxes as there is room
 * for, at most MOST_BOXES. */
static inline int room_for_ring(const struct cuda_state *state, int fixed) {
  return min(MOST_BOXES, (state->shared_bytes - TMA_ALIGNMENT - fixed) / BOX);
}

/* Of these no more than a block uses: barriers that nobody waits for take time to open. */
static inline int trimmed_ring(int ring, int64_t uses) {
  return (int)min((int64_t)ring, uses);
}

/* Shared memory: the ring; two batches for each team's results, where these leave by boxes; the panel; sums
 * of columns for each warp, [sums, warps, columns]; reals of columns. */
struct tma_memory {
  unsigned char *ring, *results;
  uint4 *panel;
  double *totals;
  float *reals;
};

template <class S> static __host__ __device__ __forceinline__ int result_boxes(bool backward, int batch) {
  return backward && !S::SENDS_BACK ? 0 : 2 * S::TEAMS * batch;
}

/* Batches of a tile. */
static __host__ __device__ __forceinline__ int batches_of(const struct tma_product &p) {
  return (p.boxes + p.batch - 1) >> (p.batch - 1);
}

template <class S> static __host__ __device__ __forceinline__ int tma_panel_bytes(int depth) {
  return depth * 2 * S::STEP;
}

template <class S> static __host__ __device__ __forceinline__ int tma_totals_bytes(int sums) {
  return sums * S::TOTALS * (int)sizeof(double);
}

template <class S>
static __device__ __forceinline__ struct tma_memory tma_memory_of(const struct tma_product &p) {
  extern __shared__ __align__(1024) unsigned char boxes[];
  unsigned char *results = boxes + p.ring * BOX;
  unsigned char *panel = results + result_boxes<S>(p.epilogue.backward, p.batch) * BOX;
  unsigned char *totals = panel + tma_panel_bytes<S>(p.depth);
  float *reals = (float *)(totals + tma_totals_bytes<S>(sums_wanted(p.epilogue)));
  return {boxes, results, (uint4 *)panel, (double *)totals, reals};
}

/* What was copied to a box is there; the box is not needed any more. turn: the boxes of the tile before have
 * all come, and its team does not need those of A any more. */
struct ring_barriers {
  uint64_t full[MOST_BOXES], empty[MOST_BOXES], turn[MOST_TEAMS];
};

static __device__ __forceinline__ struct ring_place place_of_box(const struct tma_product &p, int i) {
  return {i % p.ring, i / p.ring};
}

/* By a warp that will give it back, once all boxes before have come. */
static __device__ __forceinline__ void await_next_box(struct ring_barriers &barriers,
                                                      const struct ring_place &at) {
  barrier_wait(&barriers.full[at.box], at.round & 1);
}

/* By one that knows of less: that some box less than a round of the ring before has come. A barrier tells one
 * round from the next, and from no other; what lay there before may have been for another team, and a copy
 * begun later may end first: that it was given back is waited for, too. */
static __device__ __forceinline__ void await_box(struct ring_barriers &barriers,
                                                 const struct ring_place &at) {
  if (at.round > 0) barrier_wait(&barriers.empty[at.box], (at.round - 1) & 1);
  barrier_wait(&barriers.full[at.box], at.round & 1);
}

/* All lanes of the warp have read what they need of the box. */
static __device__ __forceinline__ void give_box(struct ring_barriers &barriers, const struct ring_place &at) {
  __syncwarp();
  if (threadIdx.x % 32 == 0) barrier_arrive(&barriers.empty[at.box]);
}

/* The four neighbours number `four` of a row. */
template <class T>
static __device__ __forceinline__ T *four_of_box(const unsigned char *box, int row, int four) {
  constexpr int FOURS = CHUNK<T> / 4; /* of a chunk */
  return (T *)&chunk_of_box(box, row, four / FOURS) + four % FOURS * 4;
}

static __device__ __forceinline__ void feed_box(const struct tma_product &p, const CUtensorMap *map,
                                                unsigned char *ring, struct ring_barriers &barriers,
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
template <class S>
static __device__ __forceinline__ struct box_of_b box_of_b_at(const struct tma_product &p, int i) {
  constexpr int COLS = TMA_COLS<typename S::T>, STEPS = BOX_ROWS / (COLS / 2);
  const int depth1 = p.depth - p.depth2, boxes1 = p.b_boxes - p.b2_boxes;
  const bool second = i >= boxes1;
  const int depth = second ? p.depth2 : depth1, before = second ? depth1 : 0;
  if (second) i -= boxes1;
  if (p.transpose_b)
    return {second, i % depth * COLS, i / depth * BOX_ROWS, 2 * (before + i % depth), 2 * p.depth};
  return {second, i % S::ACROSS * COLS, i / S::ACROSS * BOX_ROWS, 2 * before + i / S::ACROSS * STEPS,
          2 * (before + depth)};
}

/* B and B2. */
template <class S>
static __device__ __forceinline__ void feed_panel(const struct tma_product &p, const struct tma_maps &maps,
                                                  unsigned char *ring, struct ring_barriers &barriers,
                                                  struct ring_place &at, int first_col) {
  for (int i = 0; i < p.b_boxes; i++) {
    const struct box_of_b b = box_of_b_at<S>(p, i);
    feed_box(p, b.second ? &maps.b2 : &maps.b, ring, barriers, at, BOX_ROWS,
             b.col + (p.transpose_b ? 0 : first_col), b.row + (p.transpose_b ? first_col : 0));
  }
}

/* First B and B2, then tile by tile A, A2 and the saved output. */
template <class S>
static __device__ __forceinline__ void feed_ring(const struct tma_product &p, const struct tma_maps &maps,
                                                 unsigned char *ring, struct ring_barriers &barriers,
                                                 int first_col) {
  constexpr int COLS = TMA_COLS<typename S::T>;
  const int saved = p.epilogue.backward ? p.boxes : 0, depth1 = p.depth - p.depth2;
  struct ring_place at = {0, 0};
  feed_panel<S>(p, maps, ring, barriers, at, first_col);
  for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    const int64_t row = tile * p.height;
    for (int i = 0; i < depth1; i++) feed_box(p, &maps.a, ring, barriers, at, p.height, i * COLS, row);
    for (int i = 0; i < p.depth2; i++) feed_box(p, &maps.a2, ring, barriers, at, p.height, i * COLS, row);
    for (int i = 0; i < saved; i++)
      feed_box(p, &maps.saved, ring, barriers, at, p.height, first_col + i * COLS, row);
  }
}

#endif
