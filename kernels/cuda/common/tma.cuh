/* Bulk tensor copies, the barriers that they report to, and the matrices that they leave for wgmma (PTX ISA).
 *
 * A box in shared memory begins at a multiple of 1 KiB; its rows have 128 bytes, and the chunk c of 16 bytes
 * of row r lies in place c ^ r % 8. */
#ifndef KERNELS_CUDA_COMMON_TMA_CUH
#define KERNELS_CUDA_COMMON_TMA_CUH

#include "kernels/cuda/common/tma.h"
#include "kernels/cuda/common/vec.cuh"

/* Products read boxes of 64 rows by 64 columns, 16 terms of the sum at a time. A block of theirs has two
 * teams of four warps, and a thread that feeds them. */
constexpr int BOX_ROWS = 64, BOX = BOX_ROWS * BOX_ROW_BYTES;
constexpr int TERMS = 16;
/* Columns of a box of T. */
template <class T> constexpr int TMA_COLS = BOX_ROW_BYTES / (int)sizeof(T);
constexpr int TEAM = 128, TEAMS = 2, FED_THREADS = TEAMS * TEAM + 32;
constexpr int MOST_SLOTS = 8;
constexpr int TMA_ALIGNMENT = 1024; /* of boxes; what stands before them in shared memory takes as much */

/* Registers are handed over by four warps: where two teams want more than their share, four warps feed them
 * and keep few. */
constexpr int TWO_TEAMS_THREADS = (TEAMS + 1) * TEAM, TWO_TEAMS_REGISTERS = 240, FEED_REGISTERS = 24;

template <int COUNT> static __device__ __forceinline__ void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(COUNT));
}

template <int COUNT> static __device__ __forceinline__ void leave_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(COUNT));
}

/* Of a ring of slots: what was copied is there; what lies there is not needed any more. panel: of a matrix
 * that stays. */
struct tma_barriers {
  uint64_t panel, full[MOST_SLOTS], empty[MOST_SLOTS];
};

static __device__ __forceinline__ uint32_t shared_address(const void *p) {
  return (uint32_t)__cvta_generic_to_shared(p);
}

static __device__ __forceinline__ void barrier_init(uint64_t *barrier, int arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(barrier)), "r"(arrivals));
}

/* After the last barrier_init; then the block's threads must meet. */
static __device__ __forceinline__ void show_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

static __device__ __forceinline__ void barrier_expect(uint64_t *barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(barrier)),
               "r"(bytes)
               : "memory");
}

static __device__ __forceinline__ void barrier_arrive(uint64_t *barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_address(barrier)) : "memory");
}

static __device__ __forceinline__ void barrier_wait(uint64_t *barrier, uint32_t parity) {
  asm volatile("{ .reg .pred done;\n"
               "again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n"
               "@!done bra again; }" ::"r"(shared_address(barrier)),
               "r"(parity)
               : "memory");
}

/* Whether a wait would end at once. */
static __device__ __forceinline__ bool barrier_test(uint64_t *barrier, uint32_t parity) {
  uint32_t done;
  asm volatile("{ .reg .pred done;\n"
               "mbarrier.test_wait.parity.shared::cta.b64 done, [%1], %2;\n"
               "selp.u32 %0, 1, 0, done; }"
               : "=r"(done)
               : "r"(shared_address(barrier)), "r"(parity)
               : "memory");
  return done != 0;
}

/* One thread; then the block's threads must meet. arrivals: at a slot that becomes empty. */
static __device__ __forceinline__ void open_barriers(struct tma_barriers &barriers, int slots, int arrivals) {
  barrier_init(&barriers.panel, 1);
  for (int s = 0; s < slots; s++) {
    barrier_init(&barriers.full[s], 1);
    barrier_init(&barriers.empty[s], arrivals);
  }
  show_barriers();
}

/* A box of a ring, and how often it was taken before. */
struct ring_place {
  int box, round;
};

/* P: has so many boxes as `ring`. */
template <class P> static __device__ __forceinline__ void next_box(const P &p, struct ring_place &at) {
  if (++at.box == p.ring) at.box = 0, at.round++;
}

static __device__ __forceinline__ void meet_team(int team) {
  asm volatile("bar.sync %0, %1;" ::"r"(team + 1), "n"(TEAM) : "memory");
}

/* Both teams. */
static __device__ __forceinline__ void meet_both() {
  asm volatile("bar.sync %0, %1;" ::"n"(TEAMS + 1), "n"(TEAMS * TEAM) : "memory");
}

/* A box at (row, col) of a matrix to shared memory. */
static __device__ __forceinline__ void copy_box(void *to, const CUtensorMap *from, uint64_t *barrier, int col,
                                                int row) {
  asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
               " [%0], [%1, {%3, %4}], [%2];" ::"r"(shared_address(to)),
               "l"(from), "r"(shared_address(barrier)), "r"(col), "r"(row)
               : "memory");
}

/* `bytes` one behind the other to shared memory: a multiple of 16, as both addresses. */
static __device__ __forceinline__ void copy_bytes(void *to, const void *from, uint32_t bytes,
                                                  uint64_t *barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_address(to)),
      "l"(__cvta_generic_to_global(from)), "r"(bytes), "r"(shared_address(barrier))
      : "memory");
}

/* A box from shared memory to (row, col) of a matrix: one of the thread's batch, which close_boxes ends. */
static __device__ __forceinline__ void write_box(const CUtensorMap *to, const void *from, int col, int row) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(to),
               "r"(shared_address(from)), "r"(col), "r"(row)
               : "memory");
}

static __device__ __forceinline__ void close_boxes() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/* Until the boxes that this thread writes have left shared memory, but for those of its last BEHIND batches.
 */
template <int BEHIND = 0> static __device__ __forceinline__ void wait_for_boxes() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(BEHIND) : "memory");
}

/* 16 bytes of a row of a box. */
static __device__ __forceinline__ uint4 &chunk_of_box(const unsigned char *box, int row, int chunk) {
  return *(uint4 *)(box + row * BOX_ROW_BYTES + (chunk ^ row % 8) * 16);
}

/* A matrix of wgmma's that begins at `address` in boxes: groups of 8 rows are 1 KiB apart. Where its rows are
 * terms of the sum, the next 64 columns are `next` bytes further on; where its columns are, `next` does not
 * matter. */
static __device__ __forceinline__ uint64_t boxed_matrix(uint32_t address, uint32_t next) {
  return (uint64_t)((address & 0x3FFFF) >> 4) | (uint64_t)(next >> 4) << 16 | (uint64_t)(1024 >> 4) << 32 |
         1ull << 62;
}

#endif
