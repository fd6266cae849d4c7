/* Y = diag(r) (B diag(t) B^T + diag(s)) diag(c) X, see struct incidence_sum, in one of three forms.
 *
 * Steps: two gathers by the kernels of spmm, from vertices to hyperedges, whose sums leave the first one
 * multiplied by t, and back; the second may begin while the first ends. On request both do some columns, a
 * panel, before they go on to the next: then no more of the sums of hyperedges than a panel is ever kept. On
 * an H200 that was slower at every width: a panel reads row segments and ids anew. Fused: one gather over
 * pairs of vertices (kernels/format/pairs.h). It reads more rows, the more the larger the hyperedges, and
 * saves a step: for few and small ones. Split: by blocks of vertices, see incidence_split.cu. */
#include "kernels/cuda/layout/layout.h"
#include "kernels/cuda/spmm/spmm.h"
#include "kernels/cuda/spmm/spmm_ops.h"

/* The two steps, and where what they need lies in the workspace: that of spmm, then sums of hyperedges. */
struct steps {
  struct spmm gather, scatter;
  int64_t panel;       /* columns */
  int64_t sums, bytes; /* offset; all */
};

static int64_t whole_lines(int64_t bytes) {
  return (bytes + 127) / 128 * 128;
}

static struct tensor sums_of(const struct incidence_sum *op, int64_t cols) {
  return op->kept.data ? op->kept : tensor_padded(NULL, op->x.dtype, op->a->edges->csr->rows, cols);
}

static struct steps steps_of(const struct incidence_sum *op) {
  const int64_t size = dtype_bytes(op->x.dtype), cols = op->x.cols;
  struct steps s = {};
  s.gather.a = op->a->edges;
  s.gather.x = op->x;
  s.gather.col_scale = op->col_scale;
  s.gather.row_scale = op->kept.data ? NULL : op->edge_scale;
  s.gather.y = sums_of(op, cols);
  s.scatter.a = op->a->vertices;
  s.scatter.x = s.gather.y;
  s.scatter.col_scale = op->kept.data ? op->edge_scale : NULL;
  s.scatter.self_scale = op->self_scale;
  s.scatter.self = tensor_rows(op->x, 0, op->y.rows);
  s.scatter.self_col_scale = op->col_scale;
  s.scatter.row_scale = op->row_scale;
  s.scatter.has_halo = op->has_halo;
  s.scatter.epilogue = op->epilogue;
  s.scatter.sums = op->sums;
  s.scatter.y = op->y;
  s.panel = op->a->panel / size;
  if (s.panel == 0 || s.panel >= cols || !cuda_spmm_divides(&s.gather) || !cuda_spmm_divides(&s.scatter))
    s.panel = cols;
  const int64_t first = cuda_spmm_workspace(&s.gather), second = cuda_spmm_workspace(&s.scatter);
  s.sums = whole_lines(first > second ? first : second);
  s.bytes = s.sums + (op->kept.data ? 0 : tensor_bytes(sums_of(op, s.panel)));
  return s;
}

/* Such that its column `first` is the first of t. */
static struct tensor moved(struct tensor t, int64_t first) {
  t.data = (char *)t.data - first * dtype_bytes(t.dtype);
  return t;
}

/* Both steps for columns [part->first, part->end), with the sums of hyperedges where `sums` is. */
static int sum_panel(struct kernels *k, const struct incidence_sum *op, struct steps *s,
                     const struct spmm_part *part, char *sums) {
  if (!op->kept.data) {
    struct tensor panel = tensor_padded(sums, op->x.dtype, op->a->edges->csr->rows, part->end - part->first);
    s->gather.y = s->scatter.x = moved(panel, part->first);
    s->scatter.x.cols = op->x.cols;
  }
  struct spmm_part there = *part, back = *part;
  there.crowded = op->a->back.crowded;
  back.crowded = op->a->there.crowded;
  back.pdl = cuda_layout(s->gather.a)->row_segments > 0;
  TRY(cuda_spmm_part(k, &s->gather, &there));
  return cuda_spmm_part(k, &s->scatter, &back);
}

static int sum_in_steps(struct kernels *k, const struct incidence_sum *op) {
  struct steps s = steps_of(op);
  struct spmm_part part = {};
  part.streams = true;
  TRY(kernels_workspace(k, s.bytes, (void **)&part.workspace));
  for (; part.first < op->x.cols; part.first = part.end) {
    part.end = part.first + s.panel < op->x.cols ? part.first + s.panel : op->x.cols;
    TRY(sum_panel(k, op, &s, &part, part.workspace + s.sums));
  }
  return OK;
}

/* Rows of y and how they end, by pairs or by blocks of vertices. */
static struct spmm rows_of_sum(const struct incidence_sum *op) {
  struct spmm sum = {};
  sum.x = op->x;
  sum.self = tensor_rows(op->x, 0, op->y.rows);
  sum.col_scale = sum.self_col_scale = op->col_scale;
  sum.self_scale = op->self_scale;
  sum.row_scale = op->row_scale;
  sum.has_halo = op->has_halo;
  sum.epilogue = op->epilogue;
  sum.sums = op->sums;
  sum.y = op->y;
  return sum;
}

static struct spmm fused_of(const struct incidence_sum *op) {
  struct spmm sum = rows_of_sum(op);
  sum.a = op->a->pair;
  return sum;
}

static int sum_fused(struct kernels *k, const struct incidence_sum *op) {
  const struct spmm sum = fused_of(op);
  struct spmm_part all = {};
  all.end = op->x.cols;
  all.value = (const float *)op->edge_scale;
  all.value_id = op->edge_scale ? op->a->pair_edge : NULL;
  TRY(kernels_workspace(k, cuda_spmm_workspace(&sum), (void **)&all.workspace));
  return cuda_spmm_part(k, &sum, &all);
}

static bool is_fused(const struct incidence_sum *op) {
  const int64_t row = op->x.cols * dtype_bytes(op->x.dtype);
  return op->a->pair && !op->kept.data && incidence_form(op->a, row) == INCIDENCE_FUSED;
}

int64_t cuda_incidence_workspace(const struct kernels *k, const struct incidence_sum *op) {
  if (cuda_is_split(k, op)) return 0;
  if (!is_fused(op)) return steps_of(op).bytes;
  const struct spmm sum = fused_of(op);
  return cuda_spmm_workspace(&sum);
}

int cuda_incidence_sum(struct kernels *k, const struct incidence_sum *op) {
  if (cuda_is_split(k, op)) {
    const struct spmm rows = rows_of_sum(op);
    return cuda_split_sum(k, op, &rows);
  }
  return is_fused(op) ? sum_fused(k, op) : sum_in_steps(k, op);
}
