/* Graph attention forward and backward; see struct attention, struct attention_backward, struct
 * dynamic_backward. The sums over arcs are in attention_sum.cuh and dynamic.cuh; here is what they are given.
 */
#include "kernels/cuda/attention/attention.h"

#include "kernels/cuda/attention/attention_launch.cuh"
#include "kernels/cuda/attention/attention_ops.h"
#include "kernels/cuda/attention/tiles/attention_tiles.h"
#include "kernels/cuda/elementwise/epilogue.h"
#include "kernels/cuda/spmm/spmm_epilogue_of.cuh"

static int64_t partial_stride(int64_t width, int64_t heads) {
  return 2 * partial_columns(width) + (3 * heads + 3) / 4 * 4;
}

/* Rows of windows of tiles leave what pieces of long rows leave, behind these. */
static int64_t partial_rows(const struct cuda_layout *a) {
  return a->pieces + a->tiles.pieces * TILE_ROWS;
}

int64_t cuda_attention_workspace(const struct layout *layout, int64_t width, int64_t heads) {
  const struct cuda_layout *a = cuda_layout(layout);
  const int64_t terms = a->tiles.count > 0 ? cuda_attention_tiles_terms(layout, heads) : 0;
  return (partial_rows(a) * partial_stride(width, heads) + terms) * (int64_t)sizeof(float);
}

/* What both directions share. */
static int set_sums(struct kernels *k, const struct layout *layout, int64_t width, int64_t heads,
                    const struct dropout *dropout, struct attention_task *task) {
  const struct cuda_layout *a = cuda_layout(layout);
  struct attention_sums *op = &task->sums;
  op->row_segment = a->row_segment;
  op->row_segments = a->row_segments;
  op->long_rows = long_rows_of(a);
  op->col = a->col;
  op->piece_row = a->piece_row;
  op->heads = (int32_t)heads;
  op->each = (int32_t)(width / heads);
  op->width = (int32_t)width;
  op->factor = 1;
  op->dropout = *dropout;
  op->scalars = k->scalars;
  op->partial_stride = partial_stride(width, heads);
  if (a->tiles.count > 0) op->windows = {a->tiles.start, a->compressed, (int32_t)a->pieces, TILE_SHIFT};
  return kernels_workspace(k, cuda_attention_workspace(layout, width, heads), (void **)&op->partial);
}

/* Where columns' rows lie of x and stats, which are columns of the same rows where there is `far`. */
static int place_columns(const struct layout *layout, struct tensor far, struct attention_sums *op) {
  const char *first = op->x.data;
  const ptrdiff_t stats = op->stats.data - op->x.data;
  TRY(row_places_of(&first, op->x.bytes, layout->csr->near, far, &op->places));
  if (layout->csr->near == 0 || far.rows == 0) return OK;
  op->x = {(char *)first, op->places.unit};
  op->stats = {(char *)first + stats, op->places.unit};
  return OK;
}

/* The arcs in tiles, before the others: they are of terms, and none is dropped. */
static int sum_tiles(struct kernels *k, const struct layout *layout, const struct attention_sums *op,
                     struct attention_tiles tiles) {
  const struct cuda_layout *a = cuda_layout(layout);
  if (a->tiles.count == 0) return OK;
  tiles.a = layout;
  tiles.heads = op->heads;
  tiles.width = op->width;
  tiles.factor = op->factor;
  tiles.sums = op->partial + a->pieces * op->partial_stride;
  tiles.stride = op->partial_stride;
  tiles.terms = op->partial + partial_rows(a) * op->partial_stride;
  return cuda_attention_tiles(k, &tiles);
}

/* Whether rows of t can be fetched in vectors. */
static bool is_wide(struct tensor t) {
  return is_whole_or_absent(t, 16 / dtype_bytes(t.dtype));
}

static bool heads_are_wide(const struct attention_sums *op, enum dtype dtype) {
  return op->heads == 1 || op->each % (16 / dtype_bytes(dtype)) == 0;
}

static void set_score(struct tensor score, struct attention_epilogue *epilogue) {
  epilogue->l = {(const float *)score.data, score.stride};
  epilogue->whole_terms = is_wide(score);
}

/* One thread a column of a finished row: the mean of its heads. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    mean_kernel(struct tensor y, struct tensor mean, int64_t heads, const int32_t *row, int64_t rows,
                const uint8_t *has_halo) {
  const int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) / mean.cols;
  const int64_t col = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) % mean.cols;
  if (i >= rows) return;
  const int32_t v = row ? row[i] : (int32_t)i;
  float sum = 0;
  if (has_halo && has_halo[v]) return;
  for (int64_t h = 0; h < heads; h++) sum += (float)*place_of<T>(y, v, h * mean.cols + col);
  *place_of<float>(mean, v, col) = sum / (float)heads;
}

static int average(struct kernels *k, const struct attention *op) {
  const struct cuda_layout *a = cuda_layout(op->a);
  const int64_t rows = a->base.csr->rows;
  auto *kernel = op->y.dtype == BF16 ? mean_kernel<bf16> : mean_kernel<float>;
  kernel<<<blocks_of(rows * op->mean.cols, BLOCK), BLOCK, 0, cuda_stream(k)>>>(op->y, op->mean, op->heads,
                                                                               a->row, rows, op->has_halo);
  TRY_LAUNCH();
  return OK;
}

/* Ends rows in the kernel of the sums where it can: without a mean over heads, in the update without a norm.
 * Returns what is left to do. */
struct rest {
  bool averages, updates;
};

static struct rest set_epilogue(struct kernels *k, const struct attention *op,
                                struct attention_epilogue *epilogue) {
  const int64_t wide = 16 / dtype_bytes(op->y.dtype);
  const struct tensor z = op->mean.data ? op->mean : op->y;
  const bool averages = op->mean.data && op->heads > 1,
             norm = op->epilogue && op->epilogue->norm != NORM_NONE;
  struct spmm_epilogue *f = &epilogue->finish;
  epilogue->writes_sum = op->mean.data || !op->epilogue || norm;
  epilogue->updates = !averages && ((op->epilogue && !norm) || op->mean.data);
  f->y = f->out = f->sums = rows_of(z);
  f->width = (int32_t)z.cols;
  f->whole = is_whole_or_absent(z, wide);
  f->fills = f->whole && is_padded_or_absent(z);
  f->narrow = z.dtype == op->x.dtype;
  f->end.scalars = k->scalars;
  if (op->epilogue && !norm && !averages) add_epilogue(f, op->epilogue, wide);
  return {averages, op->epilogue && (norm || averages)};
}

int cuda_attention(struct kernels *k, const struct attention *op) {
  struct attention_task task = {};
  struct attention_epilogue *epilogue = &task.epilogue;
  if (op->y.cols == 0 || cuda_layout(op->a)->row_segments == 0) return OK;
  TRY(set_sums(k, op->a, op->y.cols, op->heads, &op->dropout, &task));
  task.sums.x = rows_of(op->x);
  task.sums.stats = rows_of(op->term);
  task.sums.mine = rows_of(op->right.data ? op->right : op->row_term);
  task.sums.col_id = op->col_id;
  TRY(place_columns(op->a, op->far.x, &task.sums));
  task.wide = is_wide(op->x) && is_wide(op->self.x) && is_wide(op->right) &&
              heads_are_wide(&task.sums, op->x.dtype);
  if (op->right.data) set_score(op->score, epilogue);
  epilogue->self = rows_of(op->self.x);
  epilogue->self_stats = rows_of(op->self.term);
  epilogue->selves = op->self.x.data ? (int32_t)op->self.x.rows : 0;
  epilogue->sum = rows_of(op->y);
  epilogue->log_sum = rows_of(op->log_sum);
  if (op->positive.data) epilogue->positive = rows_of(op->positive), epilogue->all = rows_of(op->share);
  if (op->sums.data) {
    epilogue->wide_sum = rows_of(op->sums);
    if (op->positive.data)
      epilogue->wide_positive = rows_of(tensor_columns(op->sums, op->sums.cols / 2, op->y.cols));
  }
  epilogue->has_halo = op->has_halo;
  epilogue->accumulate = op->accumulate != 0;
  const struct rest rest = set_epilogue(k, op, epilogue);
  task.wide = task.wide && is_wide(op->y) && is_wide(op->positive) && is_wide(op->sums) &&
              (!epilogue->updates || epilogue->finish.whole);
  struct attention_tiles tiles = {};
  tiles.x = op->x, tiles.stats = op->term, tiles.mine = op->row_term;
  TRY(sum_tiles(k, op->a, &task.sums, tiles));
  if (op->right.data)
    TRY(dynamic_forward(k, &task, op->x.dtype));
  else
    TRY(op->x.dtype == BF16 ? attention_forward_bf16(k, &task) : attention_forward_f32(k, &task));
  if (rest.averages) TRY(average(k, op));
  if (!rest.updates) return OK;
  return cuda_epilogue_rows(k, op->epilogue, cuda_layout(op->a)->row, op->a->csr->rows, op->has_halo);
}

/* The end of rows in panels, one thread a column: dx += term_grad l + row_term_grad r. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    add_terms_kernel(const __grid_constant__ struct attention_backward op, const int32_t *row, int64_t rows) {
  const int64_t i = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) / op.dx.cols;
  const int64_t col = ((int64_t)blockIdx.x * BLOCK + threadIdx.x) % op.dx.cols;
  if (i >= rows) return;
  const int32_t v = row ? row[i] : (int32_t)i;
  const int64_t head = col / op.l.cols, within = col % op.l.cols;
  if (op.has_halo && op.has_halo[v]) return;
  const float sum = *place_of<float>(op.term_grad, v, head) * *place_of<float>(op.l, head, within) +
                    *place_of<float>(op.row_term_grad, v, head) * *place_of<float>(op.r, head, within);
  T *dx = place_of<T>(op.dx, v, col);
  *dx = (T)((float)*dx + sum);
}

static int add_terms_of_panels(struct kernels *k, const struct attention_backward *op) {
  const struct cuda_layout *a = cuda_layout(op->a);
  const int64_t rows = a->base.csr->rows;
  auto *kernel = op->dx.dtype == BF16 ? add_terms_kernel<bf16> : add_terms_kernel<float>;
  kernel<<<blocks_of(rows * op->dx.cols, BLOCK), BLOCK, 0, cuda_stream(k)>>>(*op, a->row, rows);
  TRY_LAUNCH();
  return OK;
}

int cuda_attention_backward(struct kernels *k, const struct attention_backward *op) {
  struct attention_task task = {};
  struct attention_epilogue *epilogue = &task.epilogue;
  if (op->x.cols == 0 || cuda_layout(op->a)->row_segments == 0) return OK;
  const struct tensor message = tensor_columns(op->message, 0, op->out),
                      self = tensor_columns(op->self, 0, op->out);
  const int64_t stats = message_elements(k, op->out);
  TRY(set_sums(k, op->a, op->x.cols, op->heads, &op->dropout, &task));
  task.sums.x = rows_of(message);
  task.sums.stats = rows_of(tensor_reals(k, op->message, stats, 3 * op->heads));
  task.sums.mine = rows_of(op->term);
  task.sums.averaged = op->out != op->x.cols;
  if (task.sums.averaged) task.sums.factor = 1 / (float)op->heads;
  task.sums.col_id = op->col_id;
  TRY(place_columns(op->a, op->far, &task.sums));
  task.wide = is_wide(message) && (!op->self.data || is_wide(self)) && is_wide(op->x) && is_wide(op->dx) &&
              is_wide(op->sums) && heads_are_wide(&task.sums, op->x.dtype);
  if (op->self.data) {
    epilogue->self = rows_of(self);
    epilogue->self_stats = rows_of(tensor_reals(k, op->self, stats, 3 * op->heads));
    epilogue->selves = (int32_t)op->self.rows;
  }
  epilogue->x = rows_of(op->x);
  epilogue->sum = rows_of(op->dx);
  if (op->sums.data) epilogue->wide_sum = rows_of(op->sums);
  epilogue->all = rows_of(op->term_grad);
  if (op->l.data) {
    epilogue->l = {(const float *)op->l.data, op->l.stride};
    epilogue->r = {(const float *)op->r.data, op->r.stride};
    epilogue->row_term_grad = rows_of(op->row_term_grad);
  }
  epilogue->has_halo = op->has_halo;
  epilogue->accumulate = op->accumulate != 0;
  epilogue->whole_terms = is_wide(op->l) && is_wide(op->r);
  struct attention_tiles tiles = {};
  tiles.backward = 1;
  tiles.x = message;
  tiles.stats = tensor_reals(k, op->message, stats, 3 * op->heads);
  tiles.mine = op->term;
  TRY(sum_tiles(k, op->a, &task.sums, tiles));
  TRY(op->x.dtype == BF16 ? attention_backward_bf16(k, &task) : attention_backward_f32(k, &task));
  return op->l.data && task.in_panels ? add_terms_of_panels(k, op) : OK;
}

/* A row of the pattern is an arc's end v on the way in, u on the way out. */
int cuda_dynamic_backward(struct kernels *k, const struct dynamic_backward *op) {
  struct attention_task task = {};
  struct attention_epilogue *epilogue = &task.epilogue;
  const bool in = op->way == DYNAMIC_IN;
  const int64_t width = op->grad.cols, heads = op->heads;
  const struct dynamic_message message = dynamic_parts(k, op->message, op->out, width, heads);
  if (width == 0 || cuda_layout(op->a)->row_segments == 0) return OK;
  TRY(set_sums(k, op->a, width, heads, &op->dropout, &task));
  task.sums.x = rows_of(in ? op->x : message.dz);
  task.sums.mine = rows_of(in ? message.right : op->x);
  task.sums.averaged = op->out != width;
  if (task.sums.averaged) task.sums.factor = 1 / (float)heads;
  task.sums.col_id = op->col_id;
  task.ends.products = rows_of(op->products);
  if (in) task.ends.dz = rows_of(message.dz), task.ends.stats = rows_of(message.log_sum);
  if (!in) task.ends.right = rows_of(message.right), task.sums.stats = rows_of(message.log_sum);
  set_score(op->score, epilogue);
  epilogue->self = task.sums.x;
  epilogue->selves = (int32_t)op->selves;
  epilogue->sum = rows_of(op->grad);
  epilogue->wide_sum = rows_of(op->sums);
  epilogue->has_halo = op->has_halo;
  epilogue->accumulate = op->accumulate != 0;
  task.wide = is_wide(op->x) && is_wide(message.dz) && is_wide(message.right) && is_wide(op->grad) &&
              is_wide(op->sums) && is_wide(op->products) && heads_are_wide(&task.sums, op->x.dtype);
  return in ? dynamic_in(k, &task, op->x.dtype) : dynamic_out(k, &task, op->x.dtype);
}
