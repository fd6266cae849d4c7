/* layout: a sparse matrix as a device wants it. Every table's own struct begins with this one. */
#ifndef KERNELS_LAYOUT_H
#define KERNELS_LAYOUT_H

#include "runtime/csr.h"

struct layout {
  const struct csr *csr; /* the matrix on the host; borrowed, outlives the layout */
};

#endif
