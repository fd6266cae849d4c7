/* Scores of rows of many entries, narrow and in bf16, on tensor cores; elsewhere products cost less than they
 * take to read. A warp takes a row segment, row v of x: it is every row of the left side of a matrix product.
 * The eight columns of the right side are rows of y that eight entries name, each with the four lanes of a
 * quad. Both sides take the columns of x and y in the order in which a lane's 16 bytes hold them, so that
 * nothing moves between lanes. */
#include "kernels/cuda/attention/score_arcs.h"

constexpr int BATCHES = 8;               /* of eight entries, under way at once */
constexpr int STEP = 8 * BATCHES;        /* entries */
constexpr int HELD = STEP / 32;          /* ids of a lane */
constexpr int ROW_SEGMENTS = BLOCK / 32; /* of a block */
constexpr int BLOCKS_AT_ONCE = 3;        /* on a multiprocessor */

/* d += the products over 16 columns: two words of a lane on either side. */
static __device__ __forceinline__ void multiply(uint32_t x0, uint32_t x1, uint32_t y0, uint32_t y1,
                                                float (&d)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %4, %5, %5}, {%6, %7}, "
      "{%0, %1, %2, %3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(x0), "r"(x1), "r"(y0), "r"(y1));
}

static __device__ __forceinline__ uint4 read_vector(const char *from, bool there) {
  return there ? __ldg((const uint4 *)from) : make_uint4(0, 0, 0, 0);
}

static __device__ __forceinline__ void read_ids(const int32_t *ids, int at, int count, int (&id)[HELD]) {
#pragma unroll
  for (int n = 0; n < HELD; n++) id[n] = at + 32 * n < count ? __ldg(ids + at + 32 * n) : 0;
}

/* The score of entry `lane` of four batches, all of which every quad has: quad q passes on batch q's. */
static __device__ __forceinline__ float score_of_lane(const uint4 &x, const uint4 *y, int lane) {
  float even = 0, odd = 0;
#pragma unroll
  for (int b = 0; b < 4; b++) {
    float d[4] = {};
    multiply(x.x, x.y, y[b].x, y[b].y, d);
    multiply(x.z, x.w, y[b].z, y[b].w, d);
    even = lane / 4 == b ? d[0] : even;
    odd = lane / 4 == b ? d[1] : odd;
  }
  const int from = lane / 8 * 4 + lane % 8 / 2;
  even = __shfl_sync(~0u, even, from);
  odd = __shfl_sync(~0u, odd, from);
  return lane % 2 ? odd : even;
}

static __global__ void __launch_bounds__(BLOCK, BLOCKS_AT_ONCE)
    sddmm_dense_kernel(const __grid_constant__ struct score_arcs op) {
  const int lane = (int)threadIdx.x % 32, quad = lane / 4, member = lane % 4;
  const bool mine = member < op.width / 8; /* a vector of each row is this lane's */
  const int64_t i = (int64_t)blockIdx.x * ROW_SEGMENTS + threadIdx.x / 32;
  if (i >= op.row_segments) return;
  const struct row_segment row_segment = read_row_segment(op.row_segment, i);
  const int32_t row = row_segment.target >= 0 ? row_segment.target
                                              : __ldg(op.piece_row + ~row_segment.target);
  const int32_t *ids = op.col + row_segment.first;
  float *scores = op.scores + row_segment.first;
  int id[HELD];
  read_ids(ids, lane, row_segment.count, id);
  const uint4 x = read_vector(op.x.data + (uint64_t)(uint32_t)row * op.x.bytes + member * 16, mine);
  for (int at = 0; at < row_segment.count; at += STEP) {
    uint4 y[BATCHES];
#pragma unroll
    for (int b = 0; b < BATCHES; b++) {
      const int32_t other = __shfl_sync(~0u, id[b / 4], b % 4 * 8 + quad);
      y[b] = read_vector(op.y.data + member * 16 + (uint64_t)(uint32_t)other * op.y.bytes,
                         mine && at + b * 8 + quad < row_segment.count);
    }
    read_ids(ids, at + STEP + lane, row_segment.count, id);
#pragma unroll
    for (int n = 0; n < HELD; n++) {
      const float score = score_of_lane(x, y + 4 * n, lane);
      if (at + 32 * n + lane < row_segment.count) scores[at + 32 * n + lane] = score;
    }
  }
}

int cuda_sddmm_dense(struct kernels *k, const struct score_arcs *op) {
  sddmm_dense_kernel<<<blocks_of(op->row_segments, ROW_SEGMENTS), BLOCK, 0, cuda_stream(k)>>>(*op);
  TRY_LAUNCH();
  return OK;
}
