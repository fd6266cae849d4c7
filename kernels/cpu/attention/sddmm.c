/* Scores x_v . y_u of the entries of a sparse matrix; see struct sddmm. */
#include "kernels/cpu/attention/attention_arc.h"
#include "kernels/cpu/common/layout.h"
#include "runtime/base/error.h"

int REAL(cpu_sddmm)(struct kernels *k, const struct sddmm *op) {
  const struct cpu_layout *a = cpu_layout(op->a);
  const struct csr *m = a->base.csr;
  int64_t width = op->x.cols;
  real *scores = op->scores;
#pragma omp parallel for num_threads(threads_for(k, m->nnz *width)) schedule(dynamic)
  for (int64_t c = 0; c < a->chunks; c++) {
    for (int64_t i = a->chunk[c]; i < a->chunk[c + 1]; i++) {
      const real *x = row_of(op->x, m->row ? m->row[i] : i);
      for (int64_t e = m->start[i]; e < m->start[i + 1]; e++)
        scores[e] = dot(x, row_of(op->y, m->col[e]), width);
    }
  }
  return OK;
}
