/* y_v = r_v ((y_v) + sum_{u in row v} w_vu c_u X_u + s_v c_v X_v) (+ added_v), then the update; see struct
 * spmm.
 *
 * Every row segment of the layout is summed by a group of threads; a second kernel adds the pieces of long
 * rows in order. X is read as it lies, or copied first: where its rows do not lie at multiples of 16 bytes,
 * and where rows are read so often that scaling each of them once, c_u X_u, costs less than reading c_u for
 * each arc; the self loops of the same rows then read the copy too. (Gathering with wide loads: Huang et al.,
 * GE-SpMM, SC 2020; Gale et al., Sputnik, SC 2020.) */
#include "kernels/cuda/spmm/spmm.h"

#include "kernels/cuda/elementwise/epilogue.h"
#include "kernels/cuda/spmm/long_rows.cuh"
#include "kernels/cuda/spmm/spmm_csr.cuh"
#include "kernels/cuda/spmm/spmm_epilogue_of.cuh"
#include "kernels/cuda/spmm/spmm_ops.h"
#include "kernels/cuda/spmm/spmm_variant.h"
#include "kernels/cuda/spmm/spmm_windows.h"

/* One thread a vector of the copy, whose rows are `vectors` long; what lies behind x's columns becomes 0. */
template <class T>
static __global__ void __launch_bounds__(BLOCK)
    copy_kernel(struct tensor x, const float *scale, uint4 *to, int64_t count, uint32_t vectors, bool whole) {
  constexpr int WIDE = 16 / sizeof(T);
  const int64_t i = (int64_t)blockIdx.x * BLOCK + threadIdx.x;
  if (i >= count) return;
  const int64_t row = i / vectors, col = i % vectors * WIDE;
  const int n = (int)max((int64_t)0, min((int64_t)WIDE, x.cols - col));
  const float c = scale ? scale[row] : 1;
  float v[WIDE];
  load(row_of<T>(x, row) + col, n, whole, v);
#pragma unroll
  for (int j = 0; j < WIDE; j++) v[j] *= c;
  store((T *)(to + i), WIDE, true, v);
}

/* X as the sums read it. */
struct source {
  const char *x;
  int64_t bytes; /* from row to row */
  bool copied;
};

/* A factor for each arc costs about 5 ps, a copy 0.5 ps a byte (measured on an H200). */
static bool scales_first(const struct csr *m, const struct spmm *op, int64_t row) {
  return op->col_scale && m->nnz * 10 >= m->cols * row;
}

static struct source source_of(const struct cuda_layout *a, const struct spmm *op) {
  const struct csr *m = a->base.csr;
  int64_t size = dtype_bytes(op->x.dtype), row = (op->x.cols * size + 15) / 16 * 16;
  int windows = cuda_has_windows(a);
  if (windows) row = (op->x.cols * size + 31) / 32 * 32; /* planes are read eight columns at a time */
  struct source from = {(const char *)op->x.data, op->x.stride * size, false};
  from.copied = m->cols > 0 && (!cuda_is_aligned(op->x) || scales_first(m, op, row) ||
                                (windows && (op->col_scale || op->x.stride * size < row)));
  if (from.copied) from.bytes = tensor_pitch(row);
  return from;
}

static int copy_x(struct kernels *k, const struct spmm *op, const float *scale, char *to, int64_t bytes) {
  const uint32_t vectors = (uint32_t)(bytes / 16);
  const int64_t count = op->x.rows * vectors;
  auto *kernel = op->x.dtype == BF16 ? copy_kernel<bf16> : copy_kernel<float>;
  kernel<<<blocks_of(count, BLOCK), BLOCK, 0, cuda_stream(k)>>>(op->x, scale, (uint4 *)to, count, vectors,
                                                                cuda_is_aligned(op->x));
  TRY_LAUNCH();
  return OK;
}

/* How rows end in the kernel of the sums, whose argument `epilogue` is then; fuses: with op->epilogue. */
struct fused_rows {
  enum row_epilogue kind;
  bool fuses;
  struct spmm_epilogue epilogue;
};

/* vectors: of a row; whole: all of them are summed at once; f: without op->epilogue. */
static struct fused_rows fused_rows_of(const struct spmm *op, const struct spmm_epilogue *f, int vectors,
                                       bool whole, int64_t degree) {
  const bool dense = degree >= DENSE_DEGREE, whole_row = whole && vectors <= WHOLE_ROW;
  const bool plain = !dense && is_plain(*f, dtype_bytes(op->x.dtype));
  const bool gains = degree < 32 ||
                     op->x.dtype == F32; /* elsewhere a plain epilogue took longer on an H200 */
  const struct fused_rows bare = {plain ? EPILOGUE_PLAIN : f->whole ? EPILOGUE_SUM : EPILOGUE_ANY, false, *f};
  const struct epilogue *epilogue = op->epilogue;
  if (!epilogue) return bare;
  struct fused_rows fused = {EPILOGUE_NORM, true, with_epilogue(f, op)};
  const bool all_whole = fused.epilogue.whole;
  if (epilogue->norm != NORM_NONE) return whole_row && !dense && all_whole ? fused : bare;
  fused.kind = all_whole ? EPILOGUE_SUM : EPILOGUE_ANY;
  if (plain && gains && is_plain_epilogue(*f, *epilogue)) fused.kind = EPILOGUE_PLAIN;
  if (epilogue->loss && whole_row && (!dense || vectors <= DENSE_WHOLE_ROW) && all_whole &&
      fused.epilogue.loss.whole)
    fused.kind = EPILOGUE_LOSS;
  return fused;
}

/* Adds up the pieces of long rows and ends these rows; a norm and a loss are of whole rows and come behind.
 */
static int end_long_rows(struct kernels *k, const struct spmm *op, const struct sums *sums,
                         const struct spmm_epilogue *bare, const struct fused_rows *fused) {
  const struct cuda_layout *a = cuda_layout(op->a);
  const struct spmm_epilogue *epilogue = fused->kind == EPILOGUE_NORM ? bare : &fused->epilogue;
  auto *kernel = op->x.dtype == BF16 ? long_rows_kernel<bf16> : long_rows_kernel<float>;
  if (a->long_rows == 0) return OK;
  struct long_rows rows = {};
  rows.row = a->long_row;
  rows.count = a->long_rows;
  rows.tall = a->tall_row;
  rows.talls = (int32_t)a->tall_rows;
  rows.partial = sums->partial;
  rows.stride = sums->partial_stride;
  rows.first = sums->first * (int32_t)(16 / dtype_bytes(op->x.dtype));
  const unsigned groups = (unsigned)column_groups(rows, epilogue->width);
  const dim3 blocks(((unsigned)a->tall_rows + blocks_of(a->long_rows, LONG_ROWS)) * groups);
  const dim3 threads(LONG_COLS, LONG_ROWS);
  TRY(pdl_launch(k, kernel, blocks, threads, 0, rows, *epilogue));
  if (fused->kind == EPILOGUE_NORM)
    return cuda_epilogue_rows(k, op->epilogue, a->long_target, a->long_rows, op->has_halo);
  return fused->kind == EPILOGUE_LOSS
             ? cuda_cross_entropy_rows(k, op->epilogue->loss, a->long_target, a->long_rows, op->has_halo)
             : OK;
}

/* What the kernels above have left of rows that finish. */
static int epilogue_apart(struct kernels *k, const struct spmm *op, const struct fused_rows *fused) {
  const struct cuda_layout *a = cuda_layout(op->a);
  const int64_t rows = op->a->csr->rows;
  if (!op->epilogue) return OK;
  if (!fused->fuses) TRY(cuda_epilogue_rows(k, op->epilogue, a->row, rows, op->has_halo));
  return op->epilogue->loss && fused->kind != EPILOGUE_LOSS
             ? cuda_cross_entropy_rows(k, op->epilogue->loss, a->row, rows, op->has_halo)
             : OK;
}

/* The self loops read the scaled copy of X where that holds the rows themselves. */
static void share_copy(struct spmm_epilogue *f, const struct spmm *op, const struct source *from) {
  if (!from->copied || !op->self_scale || op->self.data != op->x.data || op->self.stride != op->x.stride ||
      op->self.rows > op->x.rows || op->self_col_scale != op->col_scale)
    return;
  f->self = {(char *)from->x, (uint32_t)from->bytes};
  f->self_col_scale = NULL;
}

static void add_tiers(struct spmm_epilogue *f, const struct cuda_layout *a, const struct windows_place *place,
                      const char *workspace) {
  const float *tiles = (const float *)(workspace + place->tiles),
              *condensed = (const float *)(workspace + place->condensed);
  f->windows.compressed = a->compressed;
  if (a->tiles.count > 0) f->windows.tier[f->windows.tiers++] = {a->tiles.start, tiles, place->stride, 7};
  if (a->condensed.blocks > 0)
    f->windows.tier[f->windows.tiers++] = {a->condensed.start, condensed, place->stride,
                                           a->condensed.side == VECTOR_ROWS ? 3 : 4};
}
static_assert(TILE_ROWS == 1 << 7 && CONDENSED_ROWS == 1 << 4 && VECTOR_ROWS == 1 << 3,
              "rows of a window are powers of two");

/* About as many as an H200 works on at once, by eight threads each. */
constexpr int64_t FEW_ROW_SEGMENTS = 1 << 15;

static struct variant variant_of(enum dtype dtype, const struct task *task) {
  const bool narrow = dtype == BF16;
  if (task->streams) return narrow ? spmm_stream_bf16(task) : spmm_stream_f32(task);
  if (task->epilogue == EPILOGUE_PLAIN) return narrow ? spmm_plain_bf16(task) : spmm_plain_f32(task);
  if (task->epilogue >= EPILOGUE_LOSS) return narrow ? spmm_whole_rows_bf16(task) : spmm_whole_rows_f32(task);
  return narrow ? spmm_epilogues_bf16(task) : spmm_epilogues_f32(task);
}

/* Blocks that share the row segments. Where these go from row segment to row segment, they are as many as the
 * GPU holds, for rows of several panels twice that. */
static unsigned row_blocks(const struct cuda_layout *a, const struct variant *variant, int vectors,
                           struct sums *sums) {
  int device = 0, processors = 1;
  if (variant->blocks == 0) return blocks_of(sums->row_segments, variant->row_segments);
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  sums->early = (uint32_t)a->early;
  sums->early_blocks = blocks_of(a->early, variant->threads / 32);
  const int held = processors * variant->blocks * (vectors > variant->panel ? 2 : 1);
  const unsigned rest = (unsigned)max(held - (int)sums->early_blocks, processors);
  return sums->early_blocks + min(blocks_of(sums->row_segments - a->early, variant->row_segments), rest);
}

/* follows: the kernel may begin before the one queued before has ended, and waits for it itself. */
static int launch(struct kernels *k, const struct variant *variant, dim3 grid, bool pdl,
                  const struct sums *sums, const struct spmm_epilogue *epilogue) {
  if (pdl) return pdl_launch(k, variant->kernel, grid, variant->threads, 0, *sums, *epilogue);
  variant->kernel<<<grid, variant->threads, 0, cuda_stream(k)>>>(*sums, *epilogue);
  TRY_LAUNCH();
  return OK;
}

static int run(struct kernels *k, const struct spmm *op, const struct spmm_part *part, struct sums *sums,
               const struct source *from, const struct windows_place *place, const char *workspace) {
  const struct cuda_layout *a = cuda_layout(op->a);
  const struct csr *m = op->a->csr;
  const int64_t degree = a->gathered / m->rows;
  const bool whole = part->first == 0 && part->end == op->x.cols;
  const int vectors = sums->vectors - sums->first;
  struct spmm_epilogue bare = spmm_epilogue_of(k, op);
  bare.width = (int32_t)part->end;
  share_copy(&bare, op, from);
  add_tiers(&bare, a, place, workspace);
  const struct fused_rows fused = fused_rows_of(op, &bare, vectors, whole, degree);
  const bool streams = part->streams && row_segments_may_stream(m->rows, a->gathered) &&
                       fused.kind < EPILOGUE_ANY;
  const struct task task = {
      vectors,    degree, sums->value || sums->col_scale, a->row_segments < FEW_ROW_SEGMENTS,
      fused.kind, streams};
  const struct variant variant = variant_of(op->x.dtype, &task);
  const dim3 grid(row_blocks(a, &variant, vectors, sums), blocks_of(vectors, variant.panel));
  TRY(launch(k, &variant, grid, part->pdl && streams, sums, &fused.epilogue));
  TRY(end_long_rows(k, op, sums, &bare, &fused));
  return part->end < op->x.cols ? OK : epilogue_apart(k, op, &fused);
}

/* Plain rows, of X as it lies; a norm and a loss come behind. */
static int run_csr(struct kernels *k, const struct spmm *op, const struct spmm_part *part) {
  const struct cuda_layout *a = cuda_layout(op->a);
  struct spmm_epilogue bare = spmm_epilogue_of(k, op);
  const bool fuses = op->epilogue && op->epilogue->norm == NORM_NONE;
  struct csr_sums sums = {};
  bare.width = (int32_t)part->end;
  const struct fused_rows fused = {EPILOGUE_ANY, fuses, fuses ? with_epilogue(&bare, op) : bare};
  sums.start = a->csr.start;
  sums.col = a->col;
  sums.row = a->row;
  sums.value = part->value ? part->value : a->value;
  sums.value_id = part->value_id;
  sums.col_scale = (const float *)op->col_scale;
  sums.x = (const char *)op->x.data;
  sums.x_bytes = (uint32_t)(op->x.stride * dtype_bytes(op->x.dtype));
  sums.first = (int32_t)part->first;
  sums.rows = a->base.csr->rows;
  sums.bare = !op->epilogue && is_bare(bare);
  TRY(cuda_csr_sums(k, &sums, op->x.dtype, &a->csr, &fused.epilogue));
  return part->end < op->x.cols ? OK : epilogue_apart(k, op, &fused);
}

/* What a product keeps in the workspace: sums of pieces of long rows at its beginning, a copy of X, what
 * tiles and condensed windows need. From shapes alone. */
struct plan {
  struct source from;
  struct windows_place windows;
  int32_t vectors;        /* of a row */
  int64_t partial_stride; /* floats */
  int64_t copy, windows_workspace, bytes;
};

static int64_t whole_lines(int64_t bytes) {
  return (bytes + 127) / 128 * 128;
}

static struct plan plan_of(const struct spmm *op) {
  const struct cuda_layout *a = cuda_layout(op->a);
  const int64_t size = dtype_bytes(op->x.dtype);
  struct plan plan = {};
  plan.from = source_of(a, op);
  plan.windows = cuda_windows_place(a, op);
  plan.vectors = (int32_t)((op->x.cols * size + 15) / 16);
  plan.partial_stride = plan.vectors * 16 / size;
  plan.copy = whole_lines(a->pieces * plan.partial_stride * (int64_t)sizeof(float));
  plan.windows_workspace = plan.copy + (plan.from.copied ? whole_lines(op->x.rows * plan.from.bytes) : 0);
  plan.bytes = plan.windows_workspace + plan.windows.bytes;
  return plan;
}

int64_t cuda_spmm_workspace(const struct spmm *op) {
  return op->a->plain ? 0 : plan_of(op).bytes;
}

int cuda_spmm_divides(const struct spmm *op) {
  const struct cuda_layout *a = cuda_layout(op->a);
  return op->a->plain || (!cuda_has_windows(a) && !source_of(a, op).copied);
}

int cuda_spmm_part(struct kernels *k, const struct spmm *op, const struct spmm_part *part) {
  const struct cuda_layout *a = cuda_layout(op->a);
  const int64_t size = dtype_bytes(op->x.dtype);
  char *workspace = part->workspace;
  if (op->x.cols == 0 || op->a->csr->rows == 0) return OK;
  if (op->a->plain) return run_csr(k, op, part);
  struct plan plan = plan_of(op);
  struct source *from = &plan.from;
  struct sums sums = {};
  sums.row_segment = a->row_segment;
  sums.row_segments = a->row_segments;
  sums.col = a->col;
  sums.value = part->value ? part->value : a->value;
  sums.value_id = part->value_id;
  sums.crowded = part->crowded;
  sums.col_scale = (const float *)op->col_scale;
  sums.first = (int32_t)(part->first * size / 16);
  sums.vectors = (int32_t)((part->end * size + 15) / 16);
  sums.partial = (float *)workspace;
  sums.partial_stride = plan.partial_stride;
  if (from->copied) {
    TRY(copy_x(k, op, sums.col_scale, workspace + plan.copy, from->bytes));
    from->x = workspace + plan.copy;
    sums.col_scale = NULL;
  }
  workspace += plan.windows_workspace;
  if (op->phase != SPMM_REST)
    TRY(cuda_windows_multiply(k, op, from->x, from->bytes, &plan.windows, workspace));
  if (op->phase == SPMM_AHEAD) return OK;
  sums.x = from->x;
  sums.x_bytes = (uint32_t)from->bytes;
  TRY(row_places_of(&sums.x, from->bytes, op->a->csr->near, op->far, &sums.places));
  return run(k, op, part, &sums, from, &plan.windows, workspace);
}

int cuda_spmm(struct kernels *k, const struct spmm *op) {
  struct spmm_part all = {};
  all.end = op->x.cols;
  TRY(kernels_workspace(k, cuda_spmm_workspace(op), (void **)&all.workspace));
  return cuda_spmm_part(k, op, &all);
}
