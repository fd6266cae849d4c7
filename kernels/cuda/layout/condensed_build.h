/* condensed_build: cuts condensed windows and column vectors (kernels/format/condensed.h) on the GPU: they
 * are measured there, and blocks and the rest written where the layout wants them. Tests compare with a plain
 * cut, to the bit. */
#ifndef KERNELS_CUDA_LAYOUT_CONDENSED_BUILD_H
#define KERNELS_CUDA_LAYOUT_CONDENSED_BUILD_H

#include "kernels/cuda/common/cuda.h"
#include "kernels/cuda/layout/condensed_arrays.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "kernels/format/condensed.h"

enum { CONDENSED_BATCH = 1 << 22 /* entries that are sorted at a time, at 16 bytes each */ };

/* A matrix on the device, and what it is cut with there. */
struct condensed_build {
  const struct csr *m;     /* on the host: shape and offsets; borrowed */
  struct window_rule rule; /* what becomes of it */
  const int64_t *start;
  const int32_t *col;
  const float *value; /* [nnz]; NULL: binary */
  void *copied[3];    /* those of the three that were copied here */
  int64_t windows, batch;
  int column_bits;
  uint64_t *key[2];  /* [largest batch] */
  int64_t *distinct; /* how many keys of a batch differ */
  void *temporary;   /* of the sort */
  size_t temporary_bytes;
  int32_t *columns;     /* [windows] distinct ones, of vectors those that are taken */
  int32_t *left;        /* [rows] entries in no vector; NULL: windows are whole */
  int64_t *block_start; /* [windows + 1], behind measure */
  int64_t *rest_start;  /* [rows + 1], behind measure */
};

/* Prepares to cut m by the rule. start, col and value: m's on the device already, outliving the build; NULL:
 * they are copied, value where m has weights. batch: entries sorted at a time, one window's at least. Errors:
 * FAILED when memory is short; close takes a half-opened one. */
int cuda_condensed_build_open(struct kernels *k, const struct csr *m, const int64_t *start,
                              const int32_t *col, const float *value, const struct window_rule *rule,
                              int64_t batch, struct condensed_build *build);
void cuda_condensed_build_close(struct kernels *k, struct condensed_build *build);

/* Which windows or vectors the rule takes: of condensed all but the blocks themselves, of rest all but
 * columns and weights. */
int cuda_condensed_build_measure(struct kernels *k, struct condensed_build *build,
                                 struct condensed *condensed, struct csr *rest);

/* Behind measure. */
int cuda_condensed_build_fill(struct kernels *k, struct condensed_build *build,
                              const struct condensed_arrays *to);

#ifdef __cplusplus
}
#endif

#endif
