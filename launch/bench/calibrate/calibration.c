#include "launch/bench/calibrate/calibration.h"

#include "kernels/format/layout.h"
#include "kernels/format/row_segments.h"
#include "runtime/base/random.h"

const int64_t calibrate_width[COST_WIDTHS] = {32, 64, 128, 256, 512};

enum { COMMUNITY = 2048 /* rows */ };

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
  return sort_distinct(col, count);
}

int calibrate_make(struct bench *bench, const struct synthetic *made, struct csr **to) {
  int64_t room = made->cells * TILE_COLS;
  TRY(bench_csr(bench, made->rows, made->cols, made->rows * room, 0, to));
  struct csr *m = *to;
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

int calibrate_element(struct calibration *c, int e) {
  c->element = (enum cost_element)e;
  c->precision = e == COST_BF16 ? PRECISION_BF16 : PRECISION_FP32;
  return bench_kernels(c->bench, c->precision);
}

BENCH_RUN(spmm)

/* Seconds of one product. Zeros do: nothing here depends on the numbers of X. */
static int time_layout(struct bench *bench, const struct layout *layout, int64_t width, double *seconds) {
  struct bench_matrix x, y;
  struct bench_row row = {0};
  TRY(bench_matrix_alloc(bench, &x, bench->kernels.dtype, layout->csr->cols, width));
  TRY(bench_matrix_alloc(bench, &y, bench->kernels.dtype, layout->csr->rows, width));
  struct spmm op = {.a = layout, .x = x.tensor, .y = y.tensor};
  TRY(bench_time(bench, run_spmm, &op, &row));
  *seconds = row.median / 1e3;
  return OK;
}

int calibrate_measure(const struct calibration *c, const struct csr *m, enum layout_tiers tiers,
                      struct cost_sample *sample) {
  struct bench *bench = c->bench;
  const int first = bench->owned_count;
  const int64_t width = calibrate_width[c->width];
  const struct row_segments_plan cuts = {width * dtype_bytes(bench->kernels.dtype), 0, 0};
  struct layout *made = NULL;
  TRY(bench_layout(bench, m, tiers, width, &made));
  *sample = (struct cost_sample){
      .precision = c->precision,
      .width = width,
      .rows = row_segments_foresee(m, &cuts),
      .least = made->least,
      .windows = {.windows = made->windows, .blocks = made->window_blocks, .arcs = made->window_entries}};
  if (tiers == LAYOUT_GATHER || made->tiles + made->windows > 0)
    TRY(time_layout(bench, made, width, &sample->seconds));
  bench_forget(bench, first);
  return OK;
}
