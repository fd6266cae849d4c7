/* Which kernel sums the arcs of a layout, for either direction: by shapes alone, so that equal inputs give
 * equal bits. */
#ifndef KERNELS_CUDA_ATTENTION_ATTENTION_LAUNCH_CUH
#define KERNELS_CUDA_ATTENTION_ATTENTION_LAUNCH_CUH

#include "kernels/cuda/attention/attention_row.cuh"

/* Dynamic scores: what the two ends of an arc bring beside sums.x and sums.mine; see dynamic.cuh. */
struct dynamic_ends {
  struct rows right;     /* of the arcs' other ends, on the way out: right_v */
  struct rows dz, stats; /* of the rows, on the way in: dz_v, and log_sum and delta, `heads` each */
  struct rows products;  /* backward */
};

/* What a launch needs beside its arguments. */
struct attention_task {
  struct attention_sums sums;
  struct attention_epilogue epilogue;
  struct dynamic_ends ends;
  bool wide;      /* rows of all matrices hold whole vectors, each of one head */
  bool in_panels; /* set by the launch: heads were wider than what a group of threads holds */
};

template <class S, bool WINDOWS> static int run(struct kernels *k, struct attention_task *task) {
  struct attention_sums &op = task->sums;
  task->in_panels = S::SINGLE && op.each > S::PANEL;
  if (task->in_panels) op.long_rows.talls = 0; /* a piece's maximum and total serve all panels */
  const unsigned panels = S::SINGLE ? (unsigned)op.heads : blocks_of(op.width, S::PANEL);
  const dim3 grid(blocks_of(op.row_segments, S::ROW_SEGMENTS), panels),
      rest(blocks_of_long_rows(op.long_rows, S::of_pieces::ROW_SEGMENTS), panels);
  auto *rows = attention_kernel<S, false, WINDOWS>;
  auto *long_rows = attention_kernel<typename S::of_pieces, true, WINDOWS>;
  rows<<<grid, S::THREADS, 0, cuda_stream(k)>>>(op, task->epilogue);
  TRY_LAUNCH();
  if (op.long_rows.count == 0) return OK;
  long_rows<<<rest, S::THREADS, 0, cuda_stream(k)>>>(op, task->epilogue);
  TRY_LAUNCH();
  return OK;
}

/* Tiles are of bf16, without dropout. */
template <class S> static int run_rows(struct kernels *k, struct attention_task *task) {
  if constexpr (sizeof(typename S::T) < sizeof(float) && !S::DROPS)
    if (task->sums.windows.start) return run<S, true>(k, task);
  return run<S, false>(k, task);
}

/* vectors: of a head. A panel is 32 vectors or more. */
static inline bool fits_panels(const struct attention_task *task, int vectors) {
  return task->wide && task->sums.heads > 1 && vectors <= 32 && (vectors & (vectors - 1)) == 0;
}

/* SINGLE, columns of a vector, vectors of a lane, lanes, team, arcs under way, blocks on a multiprocessor. */
template <class T, enum direction DIRECTION, bool DROPS>
static int run_with(struct kernels *k, struct attention_task *task) {
  constexpr int WIDE = 16 / (int)sizeof(T);
  const int vectors = (task->sums.each + WIDE - 1) / WIDE; /* of a head */
#define USE(...) return run_rows<attention_shape<T, DIRECTION, DROPS, __VA_ARGS__>>(k, task)
  if (!task->wide) USE(true, 1, 1, 8, 4, 4, 3);
  if (fits_panels(task, vectors) && vectors < 4) USE(false, WIDE, 1, 8, 1, 4, 3);
  if (fits_panels(task, vectors) && vectors * task->sums.heads <= 16) USE(false, WIDE, 1, 16, 4, 4, 3);
  if (fits_panels(task, vectors)) USE(false, WIDE, 1, 32, 4, 4, 3);
  if (vectors <= 8) USE(true, WIDE, 1, 8, 4, 4, 4);
  if (vectors <= 16) USE(true, WIDE, 1, 16, 4, 4, 4);
  USE(true, WIDE, 2, 16, 4, 4, 2);
#undef USE
}

template <class T, enum direction DIRECTION>
static int run_direction(struct kernels *k, struct attention_task *task) {
  return task->sums.dropout.threshold > 0 ? run_with<T, DIRECTION, true>(k, task)
                                          : run_with<T, DIRECTION, false>(k, task);
}

#endif
