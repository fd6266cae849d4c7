/* C = A B (+ A2 B2) of bf16 for a tall A [m, k] and a small B [k, n], with the epilogue of a layer, where
 * whole tiles of rows come and go by bulk copies: the kernel. A2 and B2 are further boxes of the same sums.
 *
 * A block keeps B in shared memory, or some of its columns, and walks over tiles of rows. One thread feeds
 * it: it brings A's tiles, and those of the saved output that a backward epilogue reads, into a ring of
 * slots, some tiles ahead. Two teams of four warps take the tiles in turn: tensor cores read a tile where it
 * lies, the epilogue goes over the sums in their registers, leaves the result in shared memory (in the place
 * of what it read there), and a bulk copy writes it while the next tile is under way. */
#ifndef KERNELS_CUDA_GEMM_TMA_BF16_GEMM_TMA_BF16_CUH
#define KERNELS_CUDA_GEMM_TMA_BF16_GEMM_TMA_BF16_CUH

#include "kernels/cuda/gemm/gemm_place.cuh"
#include "kernels/cuda/gemm/gemm_wgmma.cuh"
#include "kernels/cuda/gemm/tma_bf16/gemm_tma_bf16_shape.cuh"

/* Shared memory: B and B2; slots, each a tile of A and, backward, of the saved output; forward a place for
 * each team's result; column sums for each warp, [sums, warps, columns]; reals of columns. */
struct tma_bf16_memory {
  unsigned char *panel, *slots, *results;
  double *totals;
  float *reals;
};

/* Registers hold no more sums beside what the epilogues of batch norms take. */
constexpr int MOST_NORM_BLOCKS = 16;

static constexpr __host__ __device__ bool needs_norm_blocks(enum epilogue_kind kind) {
  return is_of_norm(kind) || kind == EPILOGUE_MOMENTS;
}

/* Columns of C that a block has room for. */
template <int BLOCKS> constexpr int TMA_BF16_COLS = (BLOCKS + 7) / 8 * BOX_COLS;

/* Doubles of one sum of the columns. */
template <int BLOCKS> constexpr int TMA_BF16_TOTALS = TEAMS *TEAM / 32 * TMA_BF16_COLS<BLOCKS>;

static __host__ __device__ __forceinline__ int panel_bytes(int cols, int depth) {
  return depth * BOX_COLS * cols * 2;
}

static __host__ __device__ __forceinline__ int slot_bytes(int cols, int depth, bool backward) {
  return (depth + (backward ? cols / BOX_COLS : 0)) * BOX;
}

template <int BLOCKS>
static __device__ __forceinline__ struct tma_bf16_memory
tma_bf16_memory_of(const struct tma_bf16_product &p) {
  extern __shared__ __align__(1024) unsigned char boxes[];
  constexpr int COLS = TMA_BF16_COLS<BLOCKS>;
  struct tma_bf16_memory m = {boxes, boxes + panel_bytes(COLS, p.depth)};
  m.results = m.slots + p.slots * slot_bytes(COLS, p.depth, p.epilogue.backward);
  m.totals = (double *)(m.results + (p.epilogue.backward ? 0 : TEAMS * COLS / BOX_COLS * BOX));
  m.reals = (float *)(m.totals + sums_wanted(p.epilogue) * TMA_BF16_TOTALS<BLOCKS>);
  return m;
}

/* The block's columns of C begin there; the widest blocks have all of them. */
template <int BLOCKS> static __device__ __forceinline__ int first_col_of_block() {
  return TMA_BF16_COLS<BLOCKS> < MOST_BOX_ROWS ? (int)blockIdx.y * TMA_BF16_COLS<BLOCKS> : 0;
}

/* B as wgmma wants it: its columns are contiguous in boxes of all rows, or its rows in boxes of all columns.
 */
template <int BLOCKS>
static __device__ __forceinline__ void feed_panel(const struct tma_bf16_product &p,
                                                  const struct tma_bf16_maps &maps, unsigned char *panel,
                                                  uint64_t *barrier) {
  constexpr int COLS = TMA_BF16_COLS<BLOCKS>;
  const int first_col = first_col_of_block<BLOCKS>(), depth1 = p.depth - p.depth2;
  const int boxes = p.transpose_b ? p.depth : p.boxes;
  const int bytes = (p.transpose_b ? COLS : p.depth * BOX_COLS) * BOX_ROW_BYTES;
  barrier_expect(barrier, (uint32_t)(boxes * bytes));
  for (int i = 0; i < boxes; i++) {
    unsigned char *to = panel + i * bytes;
    if (p.transpose_b) {
      const bool second = i >= depth1;
      copy_box(to, second ? &maps.b2 : &maps.b, barrier, (second ? i - depth1 : i) * BOX_COLS, first_col);
    } else {
      copy_box(to, &maps.b, barrier, first_col + i * BOX_COLS, 0);
      if (p.depth2 > 0) copy_box(to + depth1 * BOX, &maps.b2, barrier, first_col + i * BOX_COLS, 0);
    }
  }
}

/* The block's tiles one after the other, each into the slot that is next. */
template <int BLOCKS>
static __device__ __forceinline__ void feed(const struct tma_bf16_product &p,
                                            const struct tma_bf16_maps &maps, const struct tma_bf16_memory &m,
                                            struct tma_barriers &barriers) {
  const int saved = p.epilogue.backward ? p.boxes : 0, first_col = first_col_of_block<BLOCKS>();
  const int depth1 = p.depth - p.depth2;
  feed_panel<BLOCKS>(p, maps, m.panel, &barriers.panel);
  int slot = 0, round = 0;
  for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    unsigned char *to = m.slots + slot * slot_bytes(TMA_BF16_COLS<BLOCKS>, p.depth, p.epilogue.backward);
    uint64_t *full = &barriers.full[slot];
    const int row = (int)tile * p.height;
    if (round > 0) barrier_wait(&barriers.empty[slot], (round - 1) & 1);
    barrier_expect(full, (uint32_t)((p.depth + saved) * p.height * BOX_ROW_BYTES));
    for (int i = 0; i < depth1; i++) copy_box(to + i * BOX, &maps.a, full, i * BOX_COLS, row);
    to += depth1 * BOX;
    for (int i = 0; i < p.depth2; i++) copy_box(to + i * BOX, &maps.a2, full, i * BOX_COLS, row);
    to += p.depth2 * BOX;
    for (int i = 0; i < saved; i++) copy_box(to + i * BOX, &maps.saved, full, first_col + i * BOX_COLS, row);
    if (++slot == p.slots) slot = 0, round++;
  }
}

/* sum = the tile times B, under way; box: bytes of the boxes of B. */
template <int BLOCKS, bool ROWS>
static __device__ __forceinline__ void multiply_tile(int steps, uint32_t box, const unsigned char *tile,
                                                     const unsigned char *panel, float (&sum)[BLOCKS][4]) {
  const uint32_t a = shared_address(tile), b = shared_address(panel);
  const uint64_t left = boxed_matrix(a, 0), right = boxed_matrix(b, box);
  int s = 0;
#pragma unroll 1
  do {
    const int along = s % 4 * TERMS * 2;
    open_products();
    multiply<false, ROWS>(sum, further(left, s / 4 * BOX + along),
                          further(right, ROWS ? s * TERMS * BOX_ROW_BYTES : s / 4 * (int)box + along), s > 0);
    close_products();
  } while (++s < steps);
}

/* Of a tile of so many rows that begins at `first`: a lane's sums are of columns 8 j + 2 q, 8 j + 2 q + 1. */
static __device__ __forceinline__ struct lane_place lane_place_of(const struct gemm_epilogue &e,
                                                                  int64_t first, int rows, int thread) {
  return place_of_lane(e, first, rows, thread / 32 * 16 + thread % 32 / 4, thread % 32);
}

/* Of blocks `first` to `first` + 3 lane 4 g + q asks for block `first` + q, and all four of a row share what
 * they got: bits 0 and 1 of kept[t] are the lane's columns of block `first` + t in its first row, 8 and 9 in
 * its second. */
static __device__ __forceinline__ void share_kept(const struct gemm_epilogue &e, uint32_t epoch,
                                                  const struct lane_place &at, int first,
                                                  uint32_t (&kept)[4]) {
  const uint32_t mine = kept_of_block(e.dropout, epoch, at.id[0], first + at.q) |
                        kept_of_block(e.dropout, epoch, at.id[1], first + at.q) << 8;
#pragma unroll
  for (int t = 0; t < 4; t++) kept[t] = __shfl_sync(~0u, mine, 4 * at.g + t) >> 2 * at.q;
}

/* column[j]: a lane's sums of two columns of block j of eight. The four lanes 4 g + q add those of block g,
 * over the warp's rows, to the warp's totals. */
static __device__ __forceinline__ void add_columns(const struct lane_place &at, float (&column)[8][2],
                                                   double *totals) {
  fold_columns(at.g, column);
  totals[at.g * 8 + 2 * at.q] += (double)column[0][0];
  totals[at.g * 8 + 2 * at.q + 1] += (double)column[0][1];
}

/* The epilogue of a pair of neighbours in a row. saved: backward, what the forward pass left of them; becomes
 * the result. x: the product; backward it becomes dz without the row's factor. */
template <enum epilogue_kind KIND>
static __device__ __forceinline__ void epilogue_pair(const struct gemm_epilogue &e, float2 bias, float factor,
                                                     uint32_t kept, float (&x)[2], uint32_t &saved) {
  const float scale = e.dropout.threshold > 0 ? e.dropout.scale : 1, floor = floor_of(e);
  if (KIND == EPILOGUE_BACKWARD_RELU) {
    x[0] = low_half(saved) > 0 ? x[0] * scale : 0;
    x[1] = high_half(saved) > 0 ? x[1] * scale : 0;
  } else {
    x[0] += bias.x, x[1] += bias.y;
    if (KIND == EPILOGUE_FORWARD) x[0] = x[0] < floor ? floor : x[0], x[1] = x[1] < floor ? floor : x[1];
    if (KIND == EPILOGUE_FORWARD && drops_forward(e)) {
      x[0] = kept & 1 ? x[0] * scale : 0;
      x[1] = kept & 2 ? x[1] * scale : 0;
    }
  }
  saved = rounded_pair(x[0] * factor, x[1] * factor);
}

/* The same where a batch norm is: z, backward, becomes dn or dz; forward x is z. sums: of both columns. */
template <enum epilogue_kind KIND>
static __device__ __forceinline__ void norm_pair(float2 near, const struct norm_columns_of<2> &norm,
                                                 bool is_there, float (&x)[2], uint32_t &z,
                                                 float (&sums)[2][2]) {
  float other[2];
  if constexpr (KIND == EPILOGUE_MOMENTS) {
    z = rounded_pair(x[0], x[1]);
    other[0] = low_half(z) - near.x, other[1] = high_half(z) - near.y;
  } else {
    const float of_z[2] = {low_half(z), high_half(z)};
    norm_backward<2, KIND == EPILOGUE_NORM_APPLY>(norm, of_z, x, other);
    z = rounded_pair(x[0], x[1]);
  }
#pragma unroll
  for (int c = 0; c < 2 && is_there && sums_of(KIND) > 0; c++) {
    sums[0][c] += KIND == EPILOGUE_MOMENTS ? other[c] : x[c];
    sums[1][c] += (KIND == EPILOGUE_MOMENTS ? other[c] : x[c]) * other[c];
  }
}

/* The epilogue of a warp's 16 rows, from their sums into boxes, of columns from first_col on. totals: the
 * warp's, of columns; those of the next sum are `pitch` further on. reals: [reals, cols] of the columns. */
template <int BLOCKS, enum epilogue_kind KIND>
static __device__ __forceinline__ void epilogue_boxes(const struct gemm_epilogue &e, const float *reals,
                                                      int cols, double *totals, int pitch,
                                                      const struct lane_place &at, int warp, int first_col,
                                                      unsigned char *boxes, float (&sum)[BLOCKS][4]) {
  const bool drops = KIND == EPILOGUE_FORWARD && drops_forward(e);
  const uint32_t epoch = drops ? e.scalars->epoch : 0;
  constexpr bool NORM = needs_norm_blocks(KIND);
  boxes += (warp * 16 + at.g) * BOX_ROW_BYTES + 4 * at.q;
#pragma unroll
  for (int box = 0; box < (BLOCKS + 7) / 8; box++) {
    float column[2][8][2] = {};
    uint32_t kept[4] = {};
#pragma unroll
    for (int i = 0; i < 8 && 8 * box + i < BLOCKS; i++) {
      const int j = 8 * box + i;
      uint32_t *pair = (uint32_t *)(boxes + box * BOX + (i ^ at.g) * 16);
      const float2 bias = is_backward(KIND) ? make_float2(0, 0) : *(float2 *)(reals + 8 * j + 2 * at.q);
      struct norm_columns_of<2> norm;
      if constexpr (is_of_norm(KIND))
        take_norm<2, KIND == EPILOGUE_NORM_APPLY>(reals, cols, 8 * j + 2 * at.q, norm);
      if (drops && i % 4 == 0) share_kept(e, epoch, at, first_col / GROUP + j, kept);
      float sums[2][2] = {};
#pragma unroll
      for (int r = 0; r < 2; r++) {
        uint32_t *place = pair + r * 8 * BOX_ROW_BYTES / 4, both = is_backward(KIND) ? *place : 0;
        float x[2] = {sum[j][2 * r], sum[j][2 * r + 1]};
        if constexpr (NORM)
          norm_pair<KIND>(bias, norm, at.is_there[r], x, both, sums);
        else
          epilogue_pair<KIND>(e, bias, at.factor[r], kept[i % 4] >> 8 * r, x, both);
        *place = both;
        if (KIND == EPILOGUE_BACKWARD_RELU && at.is_there[r]) sums[0][0] += x[0], sums[0][1] += x[1];
      }
#pragma unroll
      for (int c = 0; c < 2; c++) column[0][i][c] = sums[0][c], column[1][i][c] = sums[1][c];
    }
    if (!e.sums) continue;
#pragma unroll
    for (int s = 0; s < sums_of(KIND); s++) add_columns(at, column[s], totals + s * pitch + box * BOX_COLS);
  }
}

template <int BLOCKS, enum epilogue_kind KIND>
static __device__ __forceinline__ void
epilogue_tile_of(const struct gemm_epilogue &e, const struct tma_bf16_memory &m, const struct lane_place &at,
                 int warp, unsigned char *boxes, float (&sum)[BLOCKS][4]) {
  epilogue_boxes<BLOCKS, KIND>(e, m.reals, TMA_BF16_COLS<BLOCKS>,
                               m.totals + threadIdx.x / 32 * TMA_BF16_COLS<BLOCKS>, TMA_BF16_TOTALS<BLOCKS>,
                               at, warp, first_col_of_block<BLOCKS>(), boxes, sum);
}

template <int BLOCKS>
static __device__ __forceinline__ void
epilogue_tile(const struct gemm_epilogue &e, const struct tma_bf16_memory &m, const struct lane_place &at,
              int warp, unsigned char *boxes, float (&sum)[BLOCKS][4]) {
  if constexpr (BLOCKS <= MOST_NORM_BLOCKS) {
    if (e.kind == EPILOGUE_NORM_SUMS)
      return epilogue_tile_of<BLOCKS, EPILOGUE_NORM_SUMS>(e, m, at, warp, boxes, sum);
    if (e.kind == EPILOGUE_MOMENTS)
      return epilogue_tile_of<BLOCKS, EPILOGUE_MOMENTS>(e, m, at, warp, boxes, sum);
    if (e.kind == EPILOGUE_NORM_APPLY)
      return epilogue_tile_of<BLOCKS, EPILOGUE_NORM_APPLY>(e, m, at, warp, boxes, sum);
  }
  if (e.kind == EPILOGUE_BACKWARD_RELU)
    epilogue_tile_of<BLOCKS, EPILOGUE_BACKWARD_RELU>(e, m, at, warp, boxes, sum);
  else
    epilogue_tile_of<BLOCKS, EPILOGUE_FORWARD>(e, m, at, warp, boxes, sum);
}

static __device__ __forceinline__ void write_result(const struct tma_bf16_product &p,
                                                    const struct tma_bf16_maps &maps, int64_t tile,
                                                    int first_col, const unsigned char *boxes) {
  for (int i = 0; i < p.boxes; i++)
    write_box(&maps.out, boxes + i * BOX, first_col + i * BOX_COLS, (int)tile * p.height);
  close_boxes();
}

/* Every other tile of the block. The slot of a backward tile is free again when its result has left, which is
 * looked at once the next tile is under way, or before it where it goes into the same slot; that of a forward
 * one when the products have ended in all four warps. */
template <int BLOCKS>
static __device__ __forceinline__ void
take_tiles(const struct tma_bf16_product &p, const struct tma_bf16_maps &maps,
           const struct tma_bf16_memory &m, struct tma_barriers &barriers, int team) {
  constexpr int COLS = TMA_BF16_COLS<BLOCKS>;
  const int thread = threadIdx.x % TEAM;
  const bool backward = p.epilogue.backward;
  uint64_t *left = NULL; /* the barrier of the slot whose result is on its way */
  barrier_wait(&barriers.panel, 0);
  int i = team;
  for (int64_t tile = blockIdx.x + (int64_t)team * gridDim.x; tile < p.tiles; tile += TEAMS * gridDim.x) {
    const int slot = i % p.slots;
    unsigned char *from = m.slots + slot * slot_bytes(COLS, p.depth, backward);
    unsigned char *boxes = backward ? from + p.depth * BOX : m.results + team * (COLS / BOX_COLS) * BOX;
    const int rows = (int)min((int64_t)p.height, p.m - tile * p.height);
    const struct lane_place at = lane_place_of(p.epilogue, tile * p.height, rows, thread);
    float sum[BLOCKS][4];
    if (thread == 0 && left && p.slots == TEAMS) {
      wait_for_boxes();
      barrier_arrive(left);
      left = NULL;
    }
    __syncwarp();
    barrier_wait(&barriers.full[slot], i / p.slots & 1);
    if (p.transpose_b)
      multiply_tile<BLOCKS, false>(p.steps, COLS * BOX_ROW_BYTES, from, m.panel, sum);
    else
      multiply_tile<BLOCKS, true>(p.steps, p.depth * BOX, from, m.panel, sum);
    if (thread == 0) {
      wait_for_boxes();
      if (left) barrier_arrive(left);
    }
    __syncwarp();
    wait_for_products<0>();
    hold(sum);
    if (!backward) {
      if (thread % 32 == 0) barrier_arrive(&barriers.empty[slot]);
      meet_team(team); /* the result before this one has left */
    } else {
      left = &barriers.empty[slot];
    }
    epilogue_tile<BLOCKS>(p.epilogue, m, at, thread / 32, boxes, sum);
    show_to_products();
    meet_team(team);
    if (thread == 0 && !p.epilogue.sums_alone)
      write_result(p, maps, tile, first_col_of_block<BLOCKS>(), boxes);
    i += TEAMS;
  }
  if (thread == 0) wait_for_boxes();
}

template <int BLOCKS>
static __device__ __forceinline__ void prepare_tma_bf16(const struct tma_bf16_product &p,
                                                        const struct tma_bf16_memory &m,
                                                        struct tma_barriers &barriers) {
  const int totals = sums_wanted(p.epilogue) * TMA_BF16_TOTALS<BLOCKS>;
  const int first_col = first_col_of_block<BLOCKS>();
  if (threadIdx.x == 0) open_barriers(barriers, p.slots, p.epilogue.backward ? 1 : TEAM / 32);
  pdl_prologue();
  for (int j = threadIdx.x; j < TMA_BF16_COLS<BLOCKS>; j += blockDim.x)
    put_reals(p.epilogue, first_col + j, first_col + j < p.n, TMA_BF16_COLS<BLOCKS>, j, m.reals);
  for (int j = threadIdx.x; j < totals; j += blockDim.x) m.totals[j] = 0;
  __syncthreads();
}

template <int BLOCKS>
static __global__ void __launch_bounds__(FED_THREADS, 1)
    tma_bf16_kernel(const __grid_constant__ struct tma_bf16_maps maps,
                    const __grid_constant__ struct tma_bf16_product p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  __shared__ struct tma_barriers barriers;
  const struct tma_bf16_memory memory = tma_bf16_memory_of<BLOCKS>(p);
  const int team = __shfl_sync(~0u, (int)threadIdx.x / TEAM, 0), first_col = first_col_of_block<BLOCKS>();
  prepare_tma_bf16<BLOCKS>(p, memory, barriers);
  if (team < TEAMS) {
    take_tiles<BLOCKS>(p, maps, memory, barriers, team);
  } else {
    if (threadIdx.x % 32 == 0) feed<BLOCKS>(p, maps, memory, barriers);
    __syncwarp();
  }
  if (!p.epilogue.sums) return;
  __syncthreads();
  const int sums = sums_of(p.epilogue.kind);
  for (int s = 0; s < sums; s++)
    write_column_sums(memory.totals + s * TMA_BF16_TOTALS<BLOCKS>, TEAMS * TEAM / 32, TMA_BF16_COLS<BLOCKS>,
                      min(TMA_BF16_COLS<BLOCKS>, p.n - first_col), FED_THREADS,
                      p.epilogue.sums + ((int64_t)blockIdx.x * sums + s) * p.n + first_col);
#endif
}

#endif
