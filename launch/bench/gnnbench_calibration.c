#include "launch/bench/gnnbench_calibration.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/format/layout.h"
#include "kernels/ops/sparse.h"
#include "runtime/base/error.h"
#include "runtime/base/random.h"

const int64_t calibrate_width[COST_WIDTHS] = {32, 64, 128, 256, 512};

enum { COMMUNITY = 2048 /* rows */ };

static int by_value(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Arcs of row v, ascending, into col; returns how many. Inside a cell each column is there with the share of
 * arcs that the cell asks for. */
static int64_t draw_row(const struct synthetic *made, int64_t v, int32_t *col) {
  const struct philox_key key = random_key(7, 0, 0, RANDOM_SYNTH_EDGE);
  int64_t count = 0, segments = made->cols / TILE_COLS;
  struct philox_block block = {{0}};
  for (int64_t c = 0; c < made->cells * TILE_COLS; c++) {
    if (c % 4 == 0) block = random_block(key, (uint64_t)v, (uint64_t)c / 4);
    int64_t segment = (v / COMMUNITY * made->cells + c / TILE_COLS) % segments;
    if (block.word[c % 4] < (uint32_t)((double)made->arcs * (UINT32_MAX / TILE_CELLS)))
      col[count++] = (int32_t)(segment * TILE_COLS + c % TILE_COLS);
  }
  for (int64_t e = 0; made->cells == 0 && e < made->arcs; e++) {
    block = random_block(key, (uint64_t)v, (uint64_t)e);
    col[count++] = (int32_t)random_below(block.word[0], block.word[1], (uint64_t)made->cols);
  }
  qsort(col, (size_t)count, sizeof *col, by_value);
  int64_t kept = 0;
  for (int64_t i = 0; i < count; i++)
    if (i == 0 || col[i] != col[i - 1]) col[kept++] = col[i];
  return kept;
}

int calibrate_make(const struct synthetic *made, struct csr *m) {
  int64_t room = made->cells ? made->cells * TILE_COLS : made->arcs;
  TRY(csr_init(m, made->rows, made->cols, made->rows * room, 0));
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < made->rows; v++) m->start[v + 1] = draw_row(made, v, m->col + v * room);
  for (int64_t v = 0; v < made->rows; v++) {
    int64_t count = m->start[v + 1];
    memmove(m->col + m->start[v], m->col + v * room, (size_t)count * sizeof *m->col);
    m->start[v + 1] = m->start[v] + count;
  }
  m->nnz = m->start[m->rows];
  return OK;
}

static int run_product(struct kernels *k, const void *op) {
  return op_spmm(k, op);
}

/* Zeros do: nothing here depends on the numbers of X. */
static int take_matrix(struct bench *bench, int64_t rows, int64_t cols, struct tensor *t) {
  *t = tensor_padded(NULL, bench->kernels.dtype, rows, cols);
  return device_alloc(&bench->device, tensor_bytes(*t), &t->data, "benchmark matrix");
}

static int time_layout(struct bench *bench, const struct layout *layout, struct tensor x, struct tensor y,
                       double *seconds) {
  struct bench_row row = {0};
  struct spmm op = {.a = layout, .x = x, .y = y};
  TRY(bench_time(bench, run_product, &op, &row));
  *seconds = row.median / 1e3;
  return OK;
}

int calibrate_time_layout(const struct calibration *c, const struct layout *layout, double *seconds) {
  struct bench *bench = c->bench;
  const struct csr *m = layout->csr;
  struct tensor x = {0}, y = {0};
  int code = take_matrix(bench, m->cols, calibrate_width[c->width], &x);
  if (code == OK) code = take_matrix(bench, m->rows, calibrate_width[c->width], &y);
  if (code == OK) code = time_layout(bench, layout, x, y, seconds);
  device_release(&bench->device, x.data);
  device_release(&bench->device, y.data);
  return code;
}
