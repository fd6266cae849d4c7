/* C = A B for a tall A [m, k] and any B [k, n], with the epilogue of a layer: the kernel, for what
 * gemm_tma.cuh does not take: B that shared memory cannot hold, sums with what C held, rows that bulk copies
 * cannot read.
 *
 * A block walks over tiles of rows, 64 for each warpgroup, whose sums stay in its registers. The rows stream
 * through shared memory in parts of 128 bytes of each row, some parts ahead, and with them the part of B that
 * they meet, as tensor cores want it (a panel, which another kernel made); a warp cuts its 16 rows into
 * pieces and hands them to the tensor cores, a step of 64 bytes at a time. Terms of the sums and columns of C
 * are permuted alike on both sides so that a lane reads and writes 16 bytes at once. */
#ifndef KERNELS_CUDA_GEMM_ROWS_GEMM_ROWS_CUH
#define KERNELS_CUDA_GEMM_ROWS_GEMM_ROWS_CUH

#include "kernels/cuda/gemm/gemm_epilogue.cuh"
#include "kernels/cuda/gemm/gemm_fragment.cuh"

struct rows_product {
  const void *a, *b;
  const uint4 *panel; /* B as tensor cores want it, by tiles of columns */
  int64_t a_stride, b_stride, m, tiles;
  int n, k, parts; /* parts of the sum, of two steps each; at least one */
  int height;      /* rows of a tile */
  int stages;      /* slots: 3 or 4, of which products read two */
  bool transpose_b;
  struct gemm_epilogue epilogue;
};

constexpr int IN_USE = 2;

/* A block: two warpgroups and 8 BLOCKS columns. */
template <int BLOCKS_> struct rows_shape {
  static constexpr int BLOCKS = BLOCKS_, THREADS = 256, WARPS = THREADS / 32, ROWS = 128;
  static constexpr int COLS = 8 * BLOCKS, STEP = 32 * BLOCKS; /* STEP: 16 bytes of the panel */
  static constexpr int SLOT = 8 * ROWS + 2 * STEP;            /* and those of a slot */
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

/* Where a block stands: a part of a tile, and the slot that it is in. */
struct place {
  int64_t tile;
  int part, slot;
};

static __device__ __forceinline__ void go_on(const struct rows_product &p, struct place &at) {
  if (++at.slot == p.stages) at.slot = 0;
  if (++at.part < p.parts) return;
  at.part = 0;
  at.tile += gridDim.x;
}

static __device__ __forceinline__ int rows_of_tile(const struct rows_product &p, int64_t tile) {
  return (int)min((int64_t)p.height, p.m - tile * p.height);
}

/* The eight chunks of a row's part; odd rows have their halves swapped: two rows then lie in all banks. */
template <class T, class G>
static __device__ __forceinline__ void load_part(const struct rows_product &p, const struct place &at,
                                                 uint4 *ring) {
  if (at.tile >= p.tiles) return;
  uint4 *slot = ring + at.slot * G::SLOT;
  const int thread = threadIdx.x, row = thread / 8, chunk = thread % 8, rows = rows_of_tile(p, at.tile);
  const int col = (at.part * 8 + chunk) * CHUNK<T>, count = count_before<T>(col, p.k);
  const T *from = (const T *)p.a + (at.tile * p.height + row) * p.a_stride + col;
  uint4 *to = slot + row * 8 + (chunk ^ (row & 1) << 2);
#pragma unroll
  for (int r = 0; r < G::ROWS; r += G::THREADS / 8) {
    const bool is_there = row + r < rows && count > 0;
    copy_chunk(to + r * 8, is_there ? from + r * p.a_stride : (const T *)p.a, is_there ? count : 0);
  }
  const uint4 *panel = p.panel + ((int64_t)blockIdx.y * p.parts + at.part) * 2 * G::STEP;
#pragma unroll
  for (int i = 0; i < 2 * G::STEP; i += G::THREADS)
    copy_chunk(slot + 8 * G::ROWS + i + thread, (const float *)(panel + i + thread), CHUNK<float>);
}

template <class T>
static __device__ __forceinline__ void read_fragment(const uint4 *rows, int step, int lane,
                                                     struct fragment &to) {
  const int g = lane / 4, chunk = (step * 4 + lane % 4) ^ (g & 1) << 2;
  make_fragment<T>(rows[g * 8 + chunk], rows[(g + 8) * 8 + chunk], to);
}

/* What a block keeps in shared memory: a ring of slots, totals of columns for each warp, bias. */
struct memory {
  uint4 *ring;
  double *totals;
  float *bias;
};

template <class G> static __device__ __forceinline__ struct memory memory_of(const struct rows_product &p) {
  extern __shared__ uint4 shared[];
  double *totals = (double *)(shared + p.stages * G::SLOT);
  return {shared, totals, (float *)(totals + (p.epilogue.sums ? G::WARPS * G::COLS : 0))};
}

template <class G>
static __device__ __forceinline__ void prepare(const struct rows_product &p, const struct memory &m) {
  const int64_t first_col = (int64_t)blockIdx.y * G::COLS;
  for (int j = threadIdx.x; j < G::COLS; j += G::THREADS)
    m.bias[j] = p.epilogue.bias && first_col + j < p.n ? p.epilogue.bias[first_col + j] : 0;
  for (int j = threadIdx.x; p.epilogue.sums && j < G::WARPS * G::COLS; j += G::THREADS) m.totals[j] = 0;
  __syncthreads();
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
  const int lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
  const struct lane_place at = place_of_lane(e, tile * p.height, rows_of_tile(p, tile), row, lane);
  if (e.kind == EPILOGUE_ADD)
    epilogue_parts<T, G, EPILOGUE_ADD>(e, m, at, p.n, sum);
  else if (e.kind == EPILOGUE_BACKWARD_RELU)
    epilogue_parts<T, G, EPILOGUE_BACKWARD_RELU>(e, m, at, p.n, sum);
  else
    epilogue_parts<T, G, EPILOGUE_FORWARD>(e, m, at, p.n, sum);
}

/* A part of the sums: waits for its copies, starts those of a later part, then multiplies. */
template <class T, class G>
static __device__ __forceinline__ void add_part(const struct rows_product &p, const struct memory &memory,
                                                const struct place &at, const struct place &ahead,
                                                struct fragment (&a)[2], float (&sum)[G::BLOCKS][4]) {
  wait_for_batches(p.stages - IN_USE - 1);
  wait_for_products<2>();
  show_to_products();
  __syncthreads();
  load_part<T, G>(p, ahead, memory.ring);
  close_batch();
  const uint4 *slot = memory.ring + at.slot * G::SLOT;
  const uint64_t panel = right_matrix<G::BLOCKS>(slot + 8 * G::ROWS);
#pragma unroll
  for (int s = 0; s < 2; s++) {
    wait_for_products<1>();
    read_fragment<T>(slot + threadIdx.x / 32 * 128, s, threadIdx.x % 32, a[s]);
    multiply_step<T, G::BLOCKS>(a[s], further(panel, s * 16 * G::STEP), at.part + s > 0, sum);
  }
}

template <class T, class G>
static __global__ void __launch_bounds__(G::THREADS, 1)
    rows_kernel(const __grid_constant__ struct rows_product p) {
  pdl_prologue();
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  const struct memory memory = memory_of<G>(p);
  struct place at = {(int64_t)blockIdx.x, 0, 0}, ahead = at;
  for (int i = 0; i < p.stages - IN_USE; i++, go_on(p, ahead)) {
    load_part<T, G>(p, ahead, memory.ring);
    close_batch();
  }
  prepare<G>(p, memory);
  while (at.tile < p.tiles) {
    const int64_t tile = at.tile;
    float sum[G::BLOCKS][4];
    struct fragment a[2];
    for (int part = 0; part < p.parts; part++, go_on(p, at), go_on(p, ahead))
      add_part<T, G>(p, memory, at, ahead, a, sum);
    wait_for_products<0>();
    hold(sum);
    if (sizeof(T) == 2 && p.epilogue.c.dtype == F32)
      epilogue_tile<float, G>(p, memory, tile, sum);
    else
      epilogue_tile<T, G>(p, memory, tile, sum);
  }
  if (!p.epilogue.sums) return;
  __syncthreads();
  const int first_col = (int)blockIdx.y * G::COLS;
  write_column_sums(memory.totals, G::WARPS, G::COLS, min(G::COLS, p.n - first_col), G::THREADS,
                    p.epilogue.sums + (int64_t)blockIdx.x * p.n + first_col);
#endif
}

#endif
