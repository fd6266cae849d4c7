/* Long rows in attention: the groups of threads that add up the pieces that a layout cut them into. A row of
 * many pieces has a block of its own: its groups add eight of them each, or more where there are not groups
 * enough, and leave the sum where the first one was, until one group can add the rest. */
#ifndef KERNELS_CUDA_ATTENTION_PARTS_LONG_ROWS_OF_ARCS_CUH
#define KERNELS_CUDA_ATTENTION_PARTS_LONG_ROWS_OF_ARCS_CUH

#include "kernels/cuda/common/vec.cuh"
#include "kernels/cuda/layout/layout.h"

struct long_rows_of_arcs {
  const struct long_row *row;
  int64_t count;
  const int32_t *tall; /* places of the rows of more than TALL_PIECES, */
  int32_t talls;       /* which have the first blocks; 0: none has its own */
};

static inline struct long_rows_of_arcs long_rows_of(const struct cuda_layout *a) {
  struct long_rows_of_arcs rows = {a->long_row, a->long_rows, a->tall_row, (int32_t)a->tall_rows};
  return rows;
}

/* Of `groups` groups each. */
static inline unsigned blocks_of_long_rows(const struct long_rows_of_arcs &rows, int groups) {
  return (unsigned)rows.talls + blocks_of(rows.count, groups);
}

/* What a group does: a row, whose end is its own where it is there; or it helps with a tall one. */
struct long_row_work {
  struct long_row of;
  bool there, tall;
  int group; /* of the block */
};

static __device__ __forceinline__ struct long_row_work long_row_work_of(const struct long_rows_of_arcs &rows,
                                                                        int group, int groups) {
  struct long_row_work work = {{}, false, (int)blockIdx.x < rows.talls, group};
  const int64_t i = work.tall ? __ldg(rows.tall + blockIdx.x)
                              : (int64_t)((int)blockIdx.x - rows.talls) * groups + group;
  if (i >= rows.count) return work;
  work.of = rows.row[i];
  work.there = work.tall ? group == 0 : rows.talls == 0 || work.of.pieces <= TALL_PIECES;
  if (!work.there && !work.tall) work.of.pieces = 0;
  return work;
}

/* Adds a row's pieces: clear() empties a group's sums, add(piece) adds to them, write(piece) leaves them
 * there. By all threads of the block; the group of a row that is there ends with its sums. */
template <int GROUPS, class CLEAR, class ADD, class WRITE>
static __device__ __forceinline__ void add_pieces(const struct long_row_work &work, const CLEAR &clear,
                                                  const ADD &add, const WRITE &write) {
  constexpr int EACH = 8;
  int count = work.of.pieces;
  while (work.tall && count > EACH) {
    const int groups = min(GROUPS, (count + EACH - 1) / EACH);
    if (work.group < groups) {
      clear();
      for (int p = work.group; p < count; p += groups) add(work.of.first_piece + p);
      write(work.of.first_piece + work.group);
    }
    __syncthreads();
    count = groups;
  }
  clear();
  for (int p = 0; p < count && (work.there || !work.tall); p++) add(work.of.first_piece + p);
}

#endif
