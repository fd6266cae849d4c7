/* y_v = r_v ((y_v) + sum_{u in row v} w_vu c_u X_u + s_v c_v X_v) (+ added_v), then the update and its loss,
 * or the epilogue below; see struct spmm.
 *
 * A row of y is summed in groups of up to GROUP vectors that stay in registers. The last vector of a row may
 * overlap the one before it, so that no width needs a scalar rest; columns in the overlap are computed twice
 * with equal results. Rows narrower than a vector go by single reals. */
#include "kernels/cpu/common/segment.h"
#include "kernels/cpu/elementwise/epilogue_row.h"
#include "kernels/cpu/loss/cross_entropy_row.h"
#include "kernels/cpu/spmm/sparse_ops.h"
#include "runtime/base/error.h"

enum {
  GROUP = 8,  /* vectors summed at a time */
  AHEAD = 12, /* entries between a prefetch and its use */
};

/* A group of columns of one row of the result. */
struct sums {
  const int32_t *col; /* of the whole matrix, as are: */
  const real *value;  /* NULL: 1 */
  int64_t nnz;
  int64_t first, end;    /* the row's entries */
  const real *col_scale; /* NULL: 1 */
  const real *x;         /* at the group's first column, as are far, self and y */
  int64_t stride;        /* of x */
  int64_t near;          /* columns from there on are the rows of: */
  const real *far;
  int64_t far_stride;
  const real *self; /* NULL: none */
  real self_factor; /* s_v c_v */
  int accumulate;
  real row_factor; /* r_v */
  real *y;
  int64_t last; /* offset of the group's last vector */
};

#define NAME(part) vectors_##part
#define VECTOR vector
#define IN_MEMORY vector_in_memory
#define WIDTH LANES
#include "kernels/cpu/spmm/sum_columns.h"

#define NAME(part) reals_##part
#define VECTOR real
#define IN_MEMORY real
#define WIDTH 1
#include "kernels/cpu/spmm/sum_columns.h"

/* `row` describes all columns; each group of vectors gets its own offsets. */
static void sum_row(const struct sums *row, int64_t width) {
  if (width < LANES) {
    struct sums s = *row;
    s.last = width - 1;
    reals_sum(&s, width);
    return;
  }
  int64_t vectors = (width + LANES - 1) / LANES;
  int groups = (int)((vectors + GROUP - 1) / GROUP);
  for (int g = 0; g < groups; g++) {
    int64_t first = part_first(vectors, groups, g), n = part_first(vectors, groups, g + 1) - first;
    int64_t column = first * LANES, last = (n - 1) * LANES;
    struct sums s = *row;
    s.x += column;
    if (s.far) s.far += column;
    s.y += column;
    if (s.self) s.self += column;
    s.last = last < width - LANES - column ? last : width - LANES - column;
    vectors_sum(&s, n);
  }
}

static void add_row(const real *from, real *to, int64_t width) {
  for (int64_t j = 0; j < width; j++) to[j] += from[j];
}

/* See op_spmm_takes_epilogue. */
static void end_below(const struct epilogue_backward *below, int64_t v, real *dy) {
  const struct epilogue *forward = below->forward;
  const real scale = forward->dropout.threshold > 0 ? (real)forward->dropout.wide_scale : (real)1;
  const int64_t cols = below->dy.cols;
  if (below->signs.data) {
    const uint8_t *bits = (const uint8_t *)below->signs.data + v * below->signs.stride;
    for (int64_t j = 0; j < cols; j++) dy[j] = bits[j / 8] >> j % 8 & 1 ? dy[j] * scale : (real)0;
    return;
  }
  const real *kept = row_of(forward->y, v);
#pragma omp simd
  for (int64_t j = 0; j < cols; j++) dy[j] = kept[j] > 0 ? dy[j] * scale : (real)0;
}

static void compute_row(const struct spmm *op, uint32_t epoch, int64_t i) {
  const struct cpu_layout *a = cpu_layout(op->a);
  const struct csr *m = a->base.csr;
  const real *self_scale = op->self_scale, *self_col_scale = op->self_col_scale, *row_scale = op->row_scale;
  int64_t v = m->row ? m->row[i] : i;
  int finishes = !op->has_halo || !op->has_halo[v];
  struct sums row = {
      .col = m->col,
      .value = a->value,
      .nnz = m->nnz,
      .first = m->start[i],
      .end = m->start[i + 1],
      .col_scale = op->col_scale,
      .x = op->x.data,
      .stride = op->x.stride,
      .near = m->near > 0 ? m->near : m->cols,
      .far = op->far.data,
      .far_stride = op->far.stride,
      .self = self_scale ? row_of(op->self, v) : NULL,
      .self_factor = self_scale ? self_scale[v] * (self_col_scale ? self_col_scale[v] : (real)1) : (real)0,
      .accumulate = op->accumulate,
      .row_factor = finishes && row_scale ? row_scale[v] : (real)1,
      .y = row_of(op->y, v),
  };
  sum_row(&row, op->y.cols);
  if (finishes && op->added.data) add_row(row_of(op->added, v), row.y, op->y.cols);
  if (finishes && op->epilogue) epilogue_row(op->epilogue, epoch, v);
  if (finishes && op->epilogue && op->epilogue->loss) end_in_loss(op->epilogue->loss, v);
  if (finishes && op->below) end_below(op->below, v, row.y);
}

int REAL(cpu_spmm)(struct kernels *k, const struct spmm *op) {
  const struct cpu_layout *a = cpu_layout(op->a);
  uint32_t epoch = k->scalars->epoch;
  int threads = threads_for(k, (a->base.csr->nnz + a->base.csr->rows) * op->y.cols);
  if (op->y.cols == 0 || op->phase == SPMM_AHEAD) return OK; /* there are no tensor cores */
#pragma omp parallel for num_threads(threads) schedule(dynamic)
  for (int64_t c = 0; c < a->chunks; c++) {
    for (int64_t i = a->chunk[c]; i < a->chunk[c + 1]; i++) compute_row(op, epoch, i);
  }
  return OK;
}
