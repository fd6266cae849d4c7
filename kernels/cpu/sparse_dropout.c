/* Dropout of the stored values of a sparse matrix: those that are 0 stay 0 in any case. */
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/layout.h"
#include "kernels/cpu/philox_lanes.h"
#include "runtime/error.h"

/* Columns of row v at entries [first, first + count), at most PHILOX_LANES of them. Each has a counter of
 * its own: neighbouring columns of a sparse row rarely share one. */
static void drop_entries(const struct sparse_dropout *op, uint32_t epoch, int64_t v, int64_t first,
                         int64_t count) {
  const struct csr *m = op->x->csr;
  const real *from = cpu_layout(op->x)->value;
  real *to = ((struct cpu_layout *)op->y)->own_value, scale = (real)op->dropout.scale;
  struct philox_lanes lanes = {0};
  int64_t feature[PHILOX_LANES];
  for (int64_t l = 0; l < count; l++) {
    int64_t column = m->col[first + l];
    uint64_t id = (uint64_t)op->dropout.id[op->transposed ? column : v];
    feature[l] = op->transposed ? v : column;
    lanes.word[0][l] = id & 0xFFFFFFFFu;
    lanes.word[1][l] = id >> 32;
    lanes.word[2][l] = (uint64_t)(feature[l] / 8);
    lanes.word[3][l] = epoch;
  }
  philox_lanes(&lanes, op->dropout.key);
  for (int64_t l = 0; l < count; l++) {
    uint64_t word = lanes.word[feature[l] % 8 / 2][l];
    uint64_t bits = feature[l] % 2 ? word >> 16 : word & 0xFFFF;
    real value = from ? from[first + l] : (real)1;
    to[first + l] = bits >= op->dropout.threshold ? value * scale : (real)0;
  }
}

static void copy_values(const struct sparse_dropout *op) {
  const real *from = cpu_layout(op->x)->value;
  real *to = ((struct cpu_layout *)op->y)->own_value;
  for (int64_t e = 0; e < op->x->csr->nnz; e++) to[e] = from ? from[e] : (real)1;
}

int REAL(cpu_sparse_dropout)(struct kernels *k, const struct sparse_dropout *op) {
  const struct cpu_layout *x = cpu_layout(op->x);
  const int64_t *start = x->base.csr->start;
  uint32_t epoch = k->scalars->epoch;
  if (op->dropout.threshold == 0) {
    copy_values(op);
    return OK;
  }
#pragma omp parallel for num_threads(threads_for(k, x->base.csr->nnz)) schedule(dynamic)
  for (int64_t c = 0; c < x->chunks; c++) {
    for (int64_t v = x->chunk[c]; v < x->chunk[c + 1]; v++) {
      for (int64_t e = start[v]; e < start[v + 1]; e += PHILOX_LANES) {
        int64_t left = start[v + 1] - e;
        drop_entries(op, epoch, v, e, left < PHILOX_LANES ? left : PHILOX_LANES);
      }
    }
  }
  return OK;
}
