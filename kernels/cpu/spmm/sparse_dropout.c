/* Dropout of the stored values of a sparse matrix: those that are 0 stay 0 in any case. */
#include "kernels/cpu/common/cpu.h"
#include "kernels/cpu/common/philox_lanes.h"
#include "kernels/cpu/spmm/sparse_ops.h"
#include "runtime/base/base.h"

/* What the entries of one row have in common. */
struct sparse_row {
  const int32_t *col; /* of its entries, as are from and to */
  const real *from;   /* NULL: every value is 1 */
  real *to;
  int64_t v, count;
};

/* The counters of entries e, e + 1, ... of a row: each has its own, since neighbouring columns of a sparse
 * row rarely share one. Lanes beyond the last entry repeat it. feature: their columns of x by features. */
static void set_counters(const struct sparse_dropout *op, uint32_t epoch, const struct sparse_row *row,
                         int64_t e, struct philox_lanes *lanes, uint64_t feature[PHILOX_LANES]) {
  const int64_t *global = op->dropout.id;
  uint64_t own = (uint64_t)(op->transposed ? 0 : global[row->v]);
  for (int l = 0; l < PHILOX_LANES; l++) {
    int32_t column = row->col[e + l < row->count ? e + l : row->count - 1];
    uint64_t id = op->transposed ? (uint64_t)global[column] : own;
    feature[l] = op->transposed ? (uint64_t)row->v : (uint64_t)column;
    lanes->word[0][l] = id & 0xFFFFFFFFu;
    lanes->word[1][l] = id >> 32;
    lanes->word[2][l] = feature[l] / 8;
    lanes->word[3][l] = epoch;
  }
}

static void drop_entries(const struct sparse_dropout *op, uint32_t epoch, const struct sparse_row *row,
                         int64_t e) {
  struct philox_lanes lanes;
  uint64_t feature[PHILOX_LANES], bits[PHILOX_LANES];
  set_counters(op, epoch, row, e, &lanes, feature);
  philox_lanes(&lanes, op->dropout.key);
#pragma omp simd
  for (int l = 0; l < PHILOX_LANES; l++) {
    uint64_t front = feature[l] & 2 ? lanes.word[1][l] : lanes.word[0][l];
    uint64_t back = feature[l] & 2 ? lanes.word[3][l] : lanes.word[2][l];
    bits[l] = (feature[l] & 4 ? back : front) >> (feature[l] & 1) * 16 & 0xFFFF;
  }
  real scale = (real)op->dropout.wide_scale;
  int64_t left = row->count - e < PHILOX_LANES ? row->count - e : PHILOX_LANES;
  for (int64_t l = 0; l < left; l++) {
    real value = row->from ? row->from[e + l] : (real)1;
    row->to[e + l] = bits[l] >= op->dropout.threshold ? value * scale : (real)0;
  }
}

static void drop_row(const struct sparse_dropout *op, uint32_t epoch, int64_t v) {
  const struct csr *m = op->x->csr;
  const real *from = cpu_layout(op->x)->value;
  int64_t first = m->start[v];
  struct sparse_row row = {.col = m->col + first, .v = v, .count = m->start[v + 1] - first};
  row.from = from ? from + first : NULL;
  row.to = ((struct cpu_layout *)op->y)->own_value + first;
  for (int64_t e = 0; e < row.count; e += PHILOX_LANES) drop_entries(op, epoch, &row, e);
}

static void copy_values(const struct sparse_dropout *op) {
  const real *from = cpu_layout(op->x)->value;
  real *to = ((struct cpu_layout *)op->y)->own_value;
  for (int64_t e = 0; e < op->x->csr->nnz; e++) to[e] = from ? from[e] : (real)1;
}

int REAL(cpu_sparse_dropout)(struct kernels *k, const struct sparse_dropout *op) {
  const struct cpu_layout *x = cpu_layout(op->x);
  uint32_t epoch = k->scalars->epoch;
  if (op->dropout.threshold == 0) {
    copy_values(op);
    return OK;
  }
#pragma omp parallel for num_threads(threads_for(k, x->base.csr->nnz)) schedule(dynamic)
  for (int64_t c = 0; c < x->chunks; c++) {
    for (int64_t v = x->chunk[c]; v < x->chunk[c + 1]; v++) drop_row(op, epoch, v);
  }
  return OK;
}
