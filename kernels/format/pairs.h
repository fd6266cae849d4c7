/* pairs: the vertices that meet in hyperedges, as rows: what a sum over hyperedges and back reads when no
 * hyperedge's own sum is kept. Row v lists, hyperedge by hyperedge, all vertices of each that v is in, v
 * itself included; `edge` says through which. (HyperGef: Yu et al., MLSys 2023.) */
#ifndef KERNELS_FORMAT_PAIRS_H
#define KERNELS_FORMAT_PAIRS_H

#include "runtime/base/csr.h"

struct pairs {
  struct csr
      csr;       /* [rows of vertices, columns of edges]; columns repeat and ascend only inside a hyperedge */
  int32_t *edge; /* [csr.nnz] */
};

/* How many pairs there are and the most of one vertex. edges and vertices: both views of the incidences. */
void pairs_count(const struct csr *edges, const struct csr *vertices, int64_t *count, int64_t *longest);
/* Errors: FAILED when memory is short. */
int pairs_init(const struct csr *edges, const struct csr *vertices, struct pairs *pairs);
void pairs_free(struct pairs *pairs);

#endif
