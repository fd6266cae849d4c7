/* The GPU's layout: dense tiles, condensed windows or column vectors, and the row segments
 * (kernels/format/row_segments.h) of what is in neither. The entries lie in one block of device memory, row
 * segments in another, columns that were there before in their own. Or plain compressed rows, in one block.
 */
#ifndef KERNELS_CUDA_LAYOUT_LAYOUT_H
#define KERNELS_CUDA_LAYOUT_LAYOUT_H

#include "kernels/cuda/layout/condensed.h"
#include "kernels/cuda/layout/tiles.h"
#include "kernels/format/layout.h"
#include "kernels/format/row_segments.h"

/* LAYOUT_CSR: how the rows are summed (kernels/cuda/spmm/spmm_csr.cu). */
struct cuda_csr {
  const int64_t *start; /* [rows + 1]; NULL: another layout */
  int groups;           /* see struct layout_plan */
  int uncached;
};

struct cuda_layout {
  struct layout base;
  struct cuda_csr csr;             /* with col, row and value below, and nothing else */
  struct cuda_tiles tiles;         /* count 0: none */
  struct cuda_condensed condensed; /* blocks 0: none */
  const int32_t
      *compressed; /* [last listed row + 1] compressed row of each row; NULL: row i, or no windows */
  /* What follows is of the entries that are in none of these. */
  int64_t gathered; /* how many these are */
  int64_t row_segments, early, long_rows, pieces, tall_rows;
  struct packed_row_segments
      row_segment; /* [row segments]; the early ones before all others, see struct row segments */
  const struct long_row *long_row; /* [long_rows] */
  const int32_t *long_target;      /* [long_rows] their rows */
  const int32_t *piece_row;        /* [pieces] */
  const int32_t *tall_row;         /* [tall_rows] see struct row segments */
  const int32_t *col;              /* [nnz] */
  const int32_t *row;              /* [rows] of csr.row; NULL: row i */
  float *value;                    /* [nnz]; NULL: binary */
  void *block[4];                  /* what this layout owns of the above */
};

static inline const struct cuda_layout *cuda_layout(const struct layout *layout) {
  return (const struct cuda_layout *)layout;
}

#ifdef __cplusplus
extern "C" {
#endif
int cuda_layout_init(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                     struct layout **layout);
int cuda_layout_share(struct kernels *k, const struct layout *from, struct layout **layout);
void cuda_layout_free(struct kernels *k, struct layout *layout);
#ifdef __cplusplus
}
#endif

#endif
