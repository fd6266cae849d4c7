/* Y = diag(r) (B diag(t) B^T + diag(s)) diag(c) X by blocks of vertices, each of which sums all hyperedges of
 * its vertices: what a GPU's thread block does, in its order (kernels/cuda/spmm/incidence_split.cu). */
#include "kernels/cpu/spmm/incidence_split.h"

#include <omp.h>

#include "kernels/cpu/common/segment.h"
#include "kernels/cpu/elementwise/epilogue_row.h"
#include "kernels/cpu/loss/cross_entropy_row.h"
#include "runtime/base/error.h"

/* What the threads share, and where one of them keeps the sums of pieces: the slots. */
struct work {
  const struct incidence_sum *op;
  const struct edge_split *cut;
  uint32_t epoch;
  real *slots; /* [slots + 1, stride]; the last one is a part of a long sum */
  int64_t stride;
};

int REAL(cpu_is_split)(const struct incidence_sum *op) {
  return op->a->split.memory && !op->kept.data;
}

static int64_t slots_stride(const struct incidence_sum *op) {
  return tensor_stride(REAL_DTYPE, op->y.cols);
}

int64_t REAL(cpu_split_workspace)(const struct kernels *k, const struct incidence_sum *op) {
  return k->device->threads * (op->a->split.cut.slots + 1) * slots_stride(op) * (int64_t)sizeof(real);
}

/* to += factor from. */
static void add_scaled(real factor, const real *from, int64_t cols, real *to) {
#pragma omp simd
  for (int64_t j = 0; j < cols; j++) to[j] += factor * from[j];
}

/* Long sums lose digits: none has more than SEGMENT terms (kernels/cpu/common/segment.h). Where the next
 * terms are added. */
static real *part_of(const struct work *w, int64_t terms, real *sum) {
  real *part = w->slots + w->cut->slots * w->stride;
  if (terms <= SEGMENT) return sum;
  memset(part, 0, (size_t)w->op->y.cols * sizeof *part);
  return part;
}

static void add_part(const struct work *w, const real *part, real *sum) {
  if (part != sum) add_scaled(1, part, w->op->y.cols, sum);
}

static void sum_piece(const struct work *w, const struct split_piece *piece, real *slot) {
  const struct incidence_sum *op = w->op;
  const real *col_scale = op->col_scale, *edge_scale = op->edge_scale;
  const int32_t *col = op->a->split.col + piece->first;
  memset(slot, 0, (size_t)op->y.cols * sizeof *slot);
  for (int32_t first = 0; first < piece->count; first += SEGMENT) {
    real *part = part_of(w, piece->count, slot);
    for (int32_t i = first; i < piece->count && i < first + SEGMENT; i++)
      add_scaled(col_scale ? col_scale[col[i]] : (real)1, row_of(op->x, col[i]), op->y.cols, part);
    add_part(w, part, slot);
  }
  if (piece->edge >= 0 && edge_scale) scale_row(edge_scale[piece->edge], op->y.cols, slot);
}

static void join_pieces(const struct work *w, const struct split_join *join) {
  const real *edge_scale = w->op->edge_scale;
  real *to = w->slots + join->slot * w->stride;
  for (int p = 1; p < join->pieces; p++) add_scaled(1, to + p * w->stride, w->op->y.cols, to);
  if (edge_scale) scale_row(edge_scale[join->edge], w->op->y.cols, to);
}

/* Adds the hyperedges of the round to row i of its block, which is vertex v. */
static void add_uses(const struct work *w, const struct split_round *round, int64_t i, int64_t v) {
  const int32_t *range = w->cut->row_use + round->row_use + i;
  const uint16_t *use = w->cut->use + round->use;
  real *y = row_of(w->op->y, v);
  for (int32_t first = range[0]; first < range[1]; first += SEGMENT) {
    real *part = part_of(w, range[1] - range[0], y);
    for (int32_t u = first; u < range[1] && u < first + SEGMENT; u++)
      add_scaled(1, w->slots + use[u] * w->stride, w->op->y.cols, part);
    add_part(w, part, y);
  }
}

static void run_round(const struct work *w, const struct split_round *round, int64_t first, int64_t end) {
  for (int32_t p = 0; p < round->pieces; p++)
    sum_piece(w, w->cut->piece + round->piece + p, w->slots + p * w->stride);
  for (int32_t j = 0; j < round->joins; j++) join_pieces(w, w->cut->join + round->join + j);
  for (int64_t i = first; i < end; i++) add_uses(w, round, i - first, w->cut->row ? w->cut->row[i] : i);
}

static void end_row(const struct work *w, int64_t v) {
  const struct incidence_sum *op = w->op;
  const real *self_scale = op->self_scale, *col_scale = op->col_scale, *row_scale = op->row_scale;
  real *y = row_of(op->y, v);
  if (self_scale)
    add_scaled(self_scale[v] * (col_scale ? col_scale[v] : (real)1), row_of(op->x, v), op->y.cols, y);
  if (op->has_halo && op->has_halo[v]) return;
  if (row_scale) scale_row(row_scale[v], op->y.cols, y);
  if (op->epilogue) epilogue_row(op->epilogue, w->epoch, v);
  if (op->epilogue && op->epilogue->loss) end_in_loss(op->epilogue->loss, v);
}

static void run_block(const struct work *w, const struct split_block *block) {
  const int64_t first = block[0].row, end = block[1].row;
  const int32_t *row = w->cut->row;
  for (int64_t i = first; i < end; i++)
    memset(row_of(w->op->y, row ? row[i] : i), 0, (size_t)w->op->y.cols * sizeof(real));
  for (int64_t r = block[0].round; r < block[1].round; r++) run_round(w, w->cut->round + r, first, end);
  for (int64_t i = first; i < end; i++) end_row(w, row ? row[i] : i);
}

int REAL(cpu_split_sum)(struct kernels *k, const struct incidence_sum *op) {
  const struct edge_split *cut = &op->a->split.cut;
  const int64_t stride = slots_stride(op);
  void *workspace = NULL;
  if (op->y.cols == 0) return OK;
  TRY(kernels_workspace(k, REAL(cpu_split_workspace)(k, op), &workspace));
#pragma omp parallel num_threads(threads_for(k, (cut->count.entries + cut->count.rows) * op->y.cols))
  {
    real *mine = (real *)workspace + omp_get_thread_num() * (cut->slots + 1) * stride;
    const struct work w = {op, cut, k->scalars->epoch, mine, stride};
#pragma omp for schedule(dynamic)
    for (int64_t b = 0; b < cut->count.blocks; b++) run_block(&w, cut->block + b);
  }
  return OK;
}
