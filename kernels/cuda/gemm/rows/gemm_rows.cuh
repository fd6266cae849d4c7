/* C = A B for a tall A [m, k] and any B [k, n], with the epilogue of a layer: the kernel, for what
 * gemm_tma.cuh does not take: B that shared memory cannot hold, and sums with what C held.
 *
 * A block walks over tiles of rows, 64 for each of two teams of four warps, whose sums stay in its registers.
 * One thread feeds them through a ring of slots: parts of 128 bytes of each row, and with them the part of B
 * that they meet, as tensor cores want it (a panel, which another kernel made). A warp takes its 16 rows of a
 * part to registers, where floats are cut into pieces, and hands them to the tensor cores, a step of 64 bytes
 * at a time. Terms of the sums and columns of C are permuted alike on both sides so that a lane reads and
 * writes 16 bytes at once. */
#ifndef KERNELS_CUDA_GEMM_ROWS_GEMM_ROWS_CUH
#define KERNELS_CUDA_GEMM_ROWS_GEMM_ROWS_CUH

#include "kernels/cuda/common/tma.cuh"
#include "kernels/cuda/gemm/gemm_epilogue.cuh"
#include "kernels/cuda/gemm/gemm_fragment.cuh"

struct rows_product {
  const void *b;
  const uint4 *panel; /* B as tensor cores want it, by tiles of columns */
  int64_t b_stride, m, tiles;
  int n, k, parts; /* parts of the sum, of two steps each; at least one */
  int height;      /* rows of a tile */
  int ring;        /* its slots, of which products read two */
  bool transpose_b;
  struct gemm_epilogue epilogue;
};

/* A block: two teams and 8 BLOCKS columns. */
template <int BLOCKS_> struct rows_shape {
  static constexpr int BLOCKS = BLOCKS_, THREADS = TEAMS * TEAM, WARPS = THREADS / 32;
  static constexpr int ROWS = TEAMS * BOX_ROWS, COLS = 8 * BLOCKS;
  static constexpr int STEP = 32 * BLOCKS;                         /* 16 bytes of the panel */
  static constexpr int LEFT = ROWS * BOX_ROW_BYTES;                /* bytes of a slot for rows of A, */
  static constexpr int RIGHT = 2 * STEP * 16, SLOT = LEFT + RIGHT; /* those for the panel, and both */
};

template <class T>
static __device__ __forceinline__ T element_of_b(const struct rows_product &p, int row, int64_t col) {
  if (row >= p.k || col >= p.n) return T(0.0f);
  return read_only((const T *)p.b + (p.transpose_b ? col * p.b_stride + row : row * p.b_stride + col));
}

/* Eight terms of one column in half of a product. plane: floats' hi and mid; bf16: the step's first and
 * second product. Lane q holds of A's step the floats 4 q to 4 q + 3, or the bf16 8 q to 8 q + 7, and takes
 * them to be the terms 2 q, 2 q + 1 of one half and of the other. */
template <class T>
static __device__ __forceinline__ uint4 panel_chunk(const struct rows_product &p, int step, int plane,
                                                    int half, int64_t col) {
  uint32_t word[4];
#pragma unroll
  for (int q = 0; q < 4; q++) {
    const int row = (step * 4 + q) * CHUNK<T> + (sizeof(T) == 4 ? 0 : 4 * plane) + 2 * half;
    const T x = element_of_b<T>(p, row, col), y = element_of_b<T>(p, row + 1, col);
    const struct bf16x2_split pair = split((float)x, (float)y);
    word[q] = sizeof(T) == 4 && plane ? pair.mid : pair.hi;
  }
  return make_uint4(word[0], word[1], word[2], word[3]);
}

/* Chunk i of a panel [steps][plane][half][block][column]. */
template <class T, int BLOCKS>
static __device__ __forceinline__ uint4 chunk_of_panel(const struct rows_product &p, int64_t first_col,
                                                       int i) {
  const int g = i % 8, block = i / 8 % BLOCKS, half = i / (8 * BLOCKS) % 2, plane = i / (16 * BLOCKS) % 2;
  const int64_t col = first_col + block / 2 * 16 + g / 2 * 4 + block % 2 * 2 + g % 2;
  return panel_chunk<T>(p, i / (32 * BLOCKS), plane, half, col);
}

static __device__ __forceinline__ int rows_of_tile(const struct rows_product &p, int64_t tile) {
  return (int)min((int64_t)p.height, p.m - tile * p.height);
}

/* By one thread. */
template <class T, class G>
static __device__ __forceinline__ void feed_parts(const struct rows_product &p, const CUtensorMap &a,
                                                  unsigned char *ring, struct tma_barriers &barriers) {
  const uint4 *panel = p.panel + (int64_t)blockIdx.y * p.parts * 2 * G::STEP;
  struct ring_place at = {0, 0};
  for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    for (int part = 0; part < p.parts; part++, next_box(p, at)) {
      unsigned char *slot = ring + at.box * G::SLOT;
      uint64_t *full = &barriers.full[at.box];
      if (at.round > 0) barrier_wait(&barriers.empty[at.box], (at.round - 1) & 1);
      barrier_expect(full, (uint32_t)(p.height * BOX_ROW_BYTES + G::RIGHT));
      copy_box(slot, &a, full, part * TMA_COLS<T>, (int)(tile * p.height));
      copy_bytes(slot + G::LEFT, panel + (int64_t)part * 2 * G::STEP, G::RIGHT, full);
    }
  }
}

/* What a block keeps in shared memory: a ring of slots, totals of columns for each warp, bias. */
struct memory {
  unsigned char *ring;
  double *totals;
  float *bias;
};

template <class G> static __device__ __forceinline__ struct memory memory_of(const struct rows_product &p) {
  extern __shared__ __align__(1024) unsigned char slots[];
  double *totals = (double *)(slots + p.ring * G::SLOT);
  return {slots, totals, (float *)(totals + (p.epilogue.sums ? G::WARPS * G::COLS : 0))};
}

/* Then the block's threads must meet. */
template <class G>
static __device__ __forceinline__ void prepare(const struct rows_product &p, const struct memory &m) {
  const int64_t first_col = (int64_t)blockIdx.y * G::COLS;
  for (int j = threadIdx.x; j < G::COLS; j += TWO_TEAMS_THREADS)
    m.bias[j] = p.epilogue.bias && first_col + j < p.n ? p.epilogue.bias[first_col + j] : 0;
  for (int j = threadIdx.x; p.epilogue.sums && j < G::WARPS * G::COLS; j += TWO_TEAMS_THREADS)
    m.totals[j] = 0;
}

/* What a part of a tile reads and writes: rows of C or of the saved output, and of the result. */
template <class T_> struct row_part {
  typedef T_ T;
  const struct tensor &from, &to;
  int first_col, cols; /* of the part, and how many there are from there on */

  __device__ __forceinline__ int left(const struct lane_place &at, int i) const {
    return min(4, cols - 16 * i - 4 * at.q);
  }
  __device__ __forceinline__ void read(const struct lane_place &at, int i, int r, float (&x)[4]) const {
    if (at.is_there[r])
      load_four(row_of<T>(from, at.v + 8 * r) + first_col + 16 * i + 4 * at.q, left(at, i), x);
  }
  __device__ __forceinline__ void write(const struct lane_place &at, int i, int r,
                                        const float (&x)[4]) const {
    if (at.is_there[r])
      store_four(row_of<T>(to, at.v + 8 * r) + first_col + 16 * i + 4 * at.q, left(at, i), x);
  }
};

template <class T, class G, enum epilogue_kind KIND>
static __device__ __forceinline__ void epilogue_parts(const struct gemm_epilogue &e, const struct memory &m,
                                                      const struct lane_place &at, int n,
                                                      float (&sum)[G::BLOCKS][4]) {
  const int first_col = (int)blockIdx.y * G::COLS;
#pragma unroll
  for (int part = 0; part < G::COLS / 32; part++) {
    const struct row_part<T> rows = {
      KIND == EPILOGUE_ADD ? e.c : e.saved, e.out, first_col + 32 * part, n - first_col - 32 * part
    };
    epilogue_part<KIND, false>(e, at, part, first_col, m.bias, G::COLS, rows, sum,
                               m.totals + threadIdx.x / 32 * G::COLS + part * 32, 0);
  }
}

/* The epilogue of the tile's rows that a warp holds; T: of C. */
template <class T, class G>
static __device__ __forceinline__ void epilogue_tile(const struct rows_product &p, const struct memory &m,
                                                     int64_t tile, float (&sum)[G::BLOCKS][4]) {
  const struct gemm_epilogue &e = p.epilogue;
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + row_of_lane(lane);
  const struct lane_place at = place_of_lane(e, tile * p.height, rows_of_tile(p, tile), row, lane);
  if (e.kind == EPILOGUE_ADD)
    epilogue_parts<T, G, EPILOGUE_ADD>(e, m, at, p.n, sum);
  else if (e.kind == EPILOGUE_BACKWARD_RELU)
    epilogue_parts<T, G, EPILOGUE_BACKWARD_RELU>(e, m, at, p.n, sum);
  else
    epilogue_parts<T, G, EPILOGUE_FORWARD>(e, m, at, p.n, sum);
}

/* sum = a tile's rows times B. Products are let go on while the next ones' rows are read: a slot is given
 * back a step after its last product was begun. */
template <class T, class G>
static __device__ __forceinline__ void multiply_tile(const struct rows_product &p, const unsigned char *ring,
                                                     struct tma_barriers &barriers, struct ring_place &at,
                                                     float (&sum)[G::BLOCKS][4]) {
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + row_of_lane(lane);
  struct fragment a[2];
  int before = 0;
  for (int part = 0; part < p.parts; part++, before = at.box, next_box(p, at)) {
    const unsigned char *slot = ring + at.box * G::SLOT;
    const uint64_t panel = right_matrix<G::BLOCKS>(slot + G::LEFT);
    barrier_wait(&barriers.full[at.box], at.round & 1);
#pragma unroll
    for (int s = 0; s < 2; s++) {
      const int chunk = 4 * s + lane % 4;
      wait_for_products<1>();
      if (s == 1 && part > 0 && lane == 0) barrier_arrive(&barriers.empty[before]);
      make_fragment<T>(chunk_of_box(slot, row, chunk), chunk_of_box(slot, row + 8, chunk), a[s]);
      multiply_step<T, G::BLOCKS>(a[s], further(panel, s * 16 * G::STEP), part + s > 0, sum);
    }
  }
  wait_for_products<0>();
  hold(sum);
  if (lane == 0) barrier_arrive(&barriers.empty[before]);
}

template <class T, class G>
static __device__ __forceinline__ void take_tiles(const struct rows_product &p, const struct memory &memory,
                                                  struct tma_barriers &barriers) {
  const int first_col = (int)blockIdx.y * G::COLS;
  struct ring_place at = {0, 0};
  for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    float sum[G::BLOCKS][4];
    multiply_tile<T, G>(p, memory.ring, barriers, at, sum);
    if (sizeof(T) == 2 && p.epilogue.c.dtype == F32)
      epilogue_tile<float, G>(p, memory, tile, sum);
    else
      epilogue_tile<T, G>(p, memory, tile, sum);
  }
  if (!p.epilogue.sums) return;
  meet_both();
  write_column_sums(memory.totals, G::WARPS, G::COLS, min(G::COLS, p.n - first_col), G::THREADS,
                    p.epilogue.sums + (int64_t)blockIdx.x * p.n + first_col);
}

template <class T, class G>
static __global__ void __launch_bounds__(TWO_TEAMS_THREADS, 1)
    rows_kernel(const __grid_constant__ CUtensorMap a, const __grid_constant__ struct rows_product p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ struct tma_barriers barriers;
  const struct memory memory = memory_of<G>(p);
  const int team = __shfl_sync(~0u, (int)threadIdx.x / TEAM, 0);
  if (threadIdx.x == 0) open_barriers(barriers, p.ring, G::WARPS);
  pdl_prologue();
  prepare<G>(p, memory);
  __syncthreads();
  if (team < TEAMS) {
    take_registers<TWO_TEAMS_REGISTERS>();
    take_tiles<T, G>(p, memory, barriers);
  } else {
    leave_registers<FEED_REGISTERS>();
    if (threadIdx.x % TEAM == 0) feed_parts<T, G>(p, a, memory.ring, barriers);
  }
#endif
}

#endif
