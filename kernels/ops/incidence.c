#include "kernels/ops/incidence.h"

#include <math.h>

#include "kernels/format/layout.h"
#include "kernels/format/row_segments.h"
#include "kernels/ops/ops_check.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

/* Microseconds of one gather on a GPU, as an H200 takes them: a start; then either all rows at 8 TB/s, or the
 * longest row segment, whose batches of rows come one after the other; adding pieces of longer rows is a
 * second start, some of which is over by then. */
static double gather_time(const struct gather_shape *g, int64_t row) {
  const double start = 3.2, again = 1.2, batch = .23, bytes_a_us = 8e6;
  int64_t rows = g->rows > 0 ? g->rows : 1;
  int64_t limit = row_segments_limit(rows, g->entries, g->longest, row,
                                     row_segments_may_stream(rows, g->entries));
  int64_t row_segment = smaller(g->longest, limit);
  double ahead = row > 256 && g->entries / rows < 8 ? 2 : 4; /* rows of a batch: see spmm_variant.cuh */
  double all = (double)g->entries * (double)(row + g->beside) / bytes_a_us;
  return start + (g->longest > limit ? again : 0) + fmax(all, batch * (double)row_segment / ahead);
}

/* The same of blocks that own vertices, whose start is the longer by loads that wait for each other: either
 * all rows that they read, or those of the one that reads most, which has 4 rows for each of 64 groups of
 * threads under way. Rounds of a block behind its first one wait for it. Fitted to four hypergraphs of 32 to
 * 256 columns in both precisions: a third too low to two thirds too high, where two steps are far faster. */
static double split_time(const struct split_counts *n, int64_t row) {
  const double start = 4.7, batch = 1.4, ahead = 4 * 64, round = 1.5, bytes_a_us = 2.2e6;
  return start + round * (double)(n->rounds - n->blocks) +
         fmax((double)(n->entries * row) / bytes_a_us, batch * (double)n->longest / ahead);
}

double incidence_time(const struct incidence *a, enum incidence_form form, int64_t row) {
  if (form == INCIDENCE_SPLIT) return split_time(&a->split.cut.count, row);
  if (form == INCIDENCE_FUSED) return gather_time(&a->fused, row);
  return gather_time(&a->there, row) + gather_time(&a->back, row);
}

/* The faster one of those without blocks of vertices. */
static enum incidence_form gathered_form(const struct incidence *a, int64_t row) {
  const double fused = incidence_time(a, INCIDENCE_FUSED, row);
  return fused < incidence_time(a, INCIDENCE_STEPS, row) ? INCIDENCE_FUSED : INCIDENCE_STEPS;
}

enum incidence_form incidence_form(const struct incidence *a, int64_t row) {
  if (a->form != INCIDENCE_AUTO) return a->form;
  const enum incidence_form gathered = gathered_form(a, row);
  if (!a->split.memory) return gathered;
  return incidence_time(a, INCIDENCE_SPLIT, row) < incidence_time(a, gathered, row) ? INCIDENCE_SPLIT
                                                                                    : gathered;
}

enum { CROWD = 128 };

static struct gather_shape shape_of(const struct csr *m) {
  struct gather_shape shape = {.rows = m->rows, .entries = m->nnz, .beside = 4};
  for (int64_t i = 0; i < m->rows; i++) {
    int64_t entries = m->start[i + 1] - m->start[i];
    if (entries > shape.longest) shape.longest = entries;
    if (entries > m->nnz / CROWD) shape.crowded |= 1u << i % 32;
  }
  return shape;
}

static int init_pairs(struct kernels *k, const struct csr *edges, const struct csr *vertices,
                      struct incidence *incidence) {
  const struct layout_plan plan = {.tiers = LAYOUT_GATHER, .streams = 1};
  TRY(pairs_init(edges, vertices, &incidence->pairs));
  int64_t bytes = incidence->pairs.csr.nnz * (int64_t)sizeof *incidence->pair_edge;
  TRY(device_alloc(k->device, bytes, (void **)&incidence->pair_edge, "hyperedges of pairs"));
  TRY(device_upload(k->device, STREAM_COMPUTE, incidence->pair_edge, incidence->pairs.edge, bytes));
  TRY(device_synchronize(k->device, STREAM_COMPUTE));
  free(incidence->pairs.edge);
  incidence->pairs.edge = NULL;
  return layout_init(k, &incidence->pairs.csr, &plan, &incidence->pair);
}

/* Narrow rows have few bytes beside the starts, long ones the shortest batches. */
static const int64_t row_tried[] = {ROW_BYTES, 2 * 256};
enum { ROWS_TRIED = sizeof row_tried / sizeof *row_tried };

/* Whether rows of some width may be summed over pairs. */
static int may_fuse(const struct kernels *k, const struct incidence *a) {
  if (!k->ops->incidence->fuses) return 0;
  for (int i = 0; i < ROWS_TRIED && a->form == INCIDENCE_AUTO; i++)
    if (gathered_form(a, row_tried[i]) == INCIDENCE_FUSED) return 1;
  return a->form == INCIDENCE_FUSED;
}

static int split_pays(const struct incidence *a, const struct split_counts *n) {
  int pays = 0;
  for (int i = 0; i < ROWS_TRIED; i++)
    pays |= split_time(n, row_tried[i]) < incidence_time(a, gathered_form(a, row_tried[i]), row_tried[i]);
  return pays;
}

/* A processor sums in steps unless it is told otherwise. A hypergraph is not cut where blocks would be too
 * slow even if each vertex of a hyperedge were read once. */
static int may_split(const struct kernels *k, const struct incidence *a) {
  const struct split_counts least = {.entries = a->there.entries};
  if (!k->ops->incidence->splits) return 0;
  if (a->form == INCIDENCE_AUTO) return k->ops->incidence->fuses && split_pays(a, &least);
  return a->form == INCIDENCE_SPLIT;
}

/* An array that moves to the device. */
struct moved {
  const void *from;
  int64_t bytes;
  void **to;
};

static int64_t whole_lines(int64_t bytes) {
  return (bytes + 127) / 128 * 128;
}

/* One behind the other into one block, which `memory` receives. */
static int move(struct kernels *k, const struct moved *array, int count, void **memory) {
  int64_t bytes = 0;
  for (int i = 0; i < count; i++) bytes += whole_lines(array[i].bytes);
  TRY(device_alloc(k->device, bytes, memory, "hyperedges in pieces"));
  char *at = *memory;
  for (int i = 0; i < count; i++) {
    *array[i].to = array[i].from ? at : NULL;
    if (array[i].from) TRY(device_upload(k->device, STREAM_COMPUTE, at, array[i].from, array[i].bytes));
    at += whole_lines(array[i].bytes);
  }
  return device_synchronize(k->device, STREAM_COMPUTE);
}

#define MOVED(array, count) \
  { cut.array, (count) * (int64_t)sizeof *cut.array, (void **)&split->cut.array }

static int init_split(struct kernels *k, const struct csr *edges, const struct csr *vertices,
                      struct incidence *incidence) {
  struct incidence_split *split = &incidence->split;
  ENDED_BY(edge_split_free) struct edge_split cut = {0};
  TRY(edge_split_init(edges, vertices, k->device->threads, &cut));
  const struct split_counts *n = &cut.count;
  const struct moved arrays[] = {MOVED(block, n->blocks + 1),
                                 MOVED(round, n->rounds),
                                 MOVED(piece, n->pieces),
                                 MOVED(join, n->joins),
                                 MOVED(use, n->uses),
                                 MOVED(row_use, n->row_uses),
                                 MOVED(row, cut.row ? n->rows : 0),
                                 {edges->col, edges->nnz * (int64_t)sizeof(int32_t), (void **)&split->col}};
  if (incidence->form == INCIDENCE_AUTO && !split_pays(incidence, n)) return OK;
  split->cut = cut;
  return move(k, arrays, sizeof arrays / sizeof *arrays, &split->memory);
}

int incidence_init(struct kernels *k, const struct csr *edges, const struct csr *vertices,
                   const struct layout_plan *plan, enum incidence_form form, struct incidence *incidence) {
  assert(edges->rows == vertices->cols);
  *incidence = (struct incidence){.form = form, .there = shape_of(edges), .back = shape_of(vertices)};
  struct gather_shape *fused = &incidence->fused;
  struct layout_plan streamed = *plan;
  streamed.streams = 1;
  *fused = (struct gather_shape){.rows = vertices->rows, .beside = 12};
  pairs_count(edges, vertices, &fused->entries, &fused->longest);
  TRY(layout_init(k, edges, &streamed, &incidence->edges));
  TRY(layout_init(k, vertices, &streamed, &incidence->vertices));
  if (may_split(k, incidence)) TRY(init_split(k, edges, vertices, incidence));
  return may_fuse(k, incidence) ? init_pairs(k, edges, vertices, incidence) : OK;
}

void incidence_free(struct kernels *k, struct incidence *incidence) {
  layout_free(k, incidence->edges);
  layout_free(k, incidence->vertices);
  layout_free(k, incidence->pair);
  device_release(k->device, incidence->pair_edge);
  pairs_free(&incidence->pairs);
  device_release(k->device, incidence->split.memory);
  *incidence = (struct incidence){0};
}

int64_t incidence_workspace(const struct kernels *k, const struct incidence_sum *op) {
  return k->ops->incidence->incidence_workspace ? k->ops->incidence->incidence_workspace(k, op) : 0;
}

static double entries_of(const struct incidence_sum *op) {
  return (double)op->a->edges->csr->nnz + (double)op->a->vertices->csr->nnz;
}

/* A gathered row for each incidence in both steps, the result once. */
static double sum_bytes(const struct incidence_sum *op) {
  double row = (double)op->y.cols * (double)dtype_bytes(op->x.dtype);
  return entries_of(op) * (4 + row) + (double)op->y.rows * row;
}

int op_incidence_sum(struct kernels *k, const struct incidence_sum *op) {
  const struct csr *a = op->a->edges->csr;
  const int64_t rows = op->a->vertices->csr->rows;
  assert(is_matrix(k, op->x, a->cols, op->y.cols));
  assert(is_either_matrix(k, op->y, rows, op->y.cols) && (op->y.data != op->x.data || rows == 0));
  assert(!op->sums.data || is_real(k, op->sums, rows, op->y.cols));
  assert(!op->kept.data || is_matrix(k, op->kept, a->rows, op->y.cols));
  assert(!op->epilogue || (op->epilogue->norm != NORM_BATCH && op->epilogue->z.data == op->y.data));
  double flops = 2 * entries_of(op) * (double)op->y.cols;
  return RUN_OP(k, "incidence_sum", sum_bytes(op), flops, k->ops->incidence->incidence_sum(k, op));
}

int op_incidence_weights(struct kernels *k, const struct incidence_weights *op) {
  assert(op->count == 0 || (op->weight && op->id && op->scale && op->out));
  return RUN_OP(k, "incidence_weights", (double)(2 * op->count * dtype_bytes(k->real)), 0,
                k->ops->incidence->incidence_weights(k, op));
}

int op_incidence_weights_backward(struct kernels *k, const struct incidence_weights_backward *op) {
  assert(is_matrix(k, op->a, op->count, op->a.cols));
  assert(is_matrix(k, op->b, op->count, op->a.cols) && op->grad);
  return RUN_OP(k, "incidence_weights_backward", bytes_of(op->a) + bytes_of(op->b), 0,
                k->ops->incidence->incidence_weights_backward(k, op));
}
