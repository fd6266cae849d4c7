/* Which kernel sums the rows of a product: by the shape of the product alone, so that equal inputs give equal
 * bits. */
#ifndef KERNELS_CUDA_SPMM_SPMM_VARIANT_H
#define KERNELS_CUDA_SPMM_SPMM_VARIANT_H

#include "kernels/cuda/spmm/spmm_sum.cuh"

/* What a kernel is chosen for. */
struct task {
  int vectors;    /* of 16 bytes in a row of X */
  int64_t degree; /* mean of the rows */
  bool factors;   /* entries have values or column scales */
  bool few;       /* slots: what the last block takes counts */
  enum row_end end;
  bool streams; /* see spmm_stream.cuh; with END_PLAIN and END_SUM alone */
};

/* A kernel and how it cuts the work. */
struct variant {
  void (*kernel)(const struct sums, const struct finish);
  int panel, threads, slots; /* vectors; of a block, of a block */
  int blocks; /* on a multiprocessor, of those that go from slot to slot; 0: a group has one slot */
};

/* A source each, by the type of elements and how rows end: END_PLAIN; END_SUM and END_ANY; END_LOSS and
 * END_NORM, which see whole rows; tasks that stream. */
struct variant spmm_plain_f32(const struct task *task);
struct variant spmm_plain_bf16(const struct task *task);
struct variant spmm_ends_f32(const struct task *task);
struct variant spmm_ends_bf16(const struct task *task);
struct variant spmm_whole_rows_f32(const struct task *task);
struct variant spmm_whole_rows_bf16(const struct task *task);
struct variant spmm_stream_f32(const struct task *task);
struct variant spmm_stream_bf16(const struct task *task);

/* Vectors of the widest row that a loss or a layer norm ends in the same kernel; and a loss where rows are
 * dense, whose wider rows are better summed in panels. */
constexpr int WHOLE_ROW = 32, DENSE_WHOLE_ROW = 12;

#endif
