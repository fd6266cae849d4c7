/* The CPU's layout: the host's compressed rows, borrowed, cut into chunks of about equal work. */
#ifndef KERNELS_CPU_COMMON_LAYOUT_H
#define KERNELS_CPU_COMMON_LAYOUT_H

#include "kernels/cpu/common/real.h"
#include "kernels/format/layout.h"
#include "kernels/ops/sparse.h"

struct cpu_layout {
  struct layout base;
  const real *value; /* [nnz]; NULL: binary */
  real *own_value;   /* value, when this layout owns it; NULL: borrowed */
  int64_t *chunk;    /* [chunks + 1] first rows */
  int64_t chunks;
  int64_t longest; /* entries of a row, at most */
};

static inline const struct cpu_layout *cpu_layout(const struct layout *layout) {
  return (const struct cpu_layout *)layout;
}

int REAL(cpu_layout_init)(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                          struct layout **layout);
int REAL(cpu_layout_share)(struct kernels *k, const struct layout *from, struct layout **layout);
void REAL(cpu_layout_free)(struct kernels *k, struct layout *layout);

#endif
