/* condensed_split: what kernels/cuda/layout/condensed_build.h does, plainly. */
#ifndef TESTS_KERNELS_FORMAT_CONDENSED_SPLIT_H
#define TESTS_KERNELS_FORMAT_CONDENSED_SPLIT_H

#include <stdlib.h>

#include "kernels/format/condensed.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"

static inline int compare_columns(const void *a, const void *b) {
  return *(const int32_t *)a - *(const int32_t *)b;
}

/* The columns of a window, ascending, each once; returns how many. */
static inline int64_t columns_of_window(const struct csr *m, int64_t first, int64_t end, int32_t *list) {
  int64_t count = 0, columns = 0;
  for (int64_t e = m->start[first]; e < m->start[end]; e++) list[count++] = m->col[e];
  qsort(list, (size_t)count, sizeof *list, compare_columns);
  for (int64_t i = 0; i < count; i++)
    if (i == 0 || list[i] != list[columns - 1]) list[columns++] = list[i];
  return columns;
}

static inline int64_t place_of_column(const int32_t *list, int64_t columns, int32_t col) {
  return (const int32_t *)bsearch(&col, list, (size_t)columns, sizeof *list, compare_columns) - list;
}

/* Columns and bits of the blocks from `block` on; weights are stood by their bits in `weight`. */
static inline void fill_blocks(const struct csr *m, int64_t first, int64_t end, const int32_t *list,
                               int64_t columns, struct condensed *c, int64_t block, float *weight) {
  for (int64_t i = 0; i < blocks_of_columns(columns) * CONDENSED_COLS; i++)
    c->col[block * CONDENSED_COLS + i] = list[i < columns ? i : columns - 1];
  for (int64_t v = first; v < end; v++) {
    for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) {
      int64_t place = place_of_column(list, columns, m->col[e]), b = block + place / CONDENSED_COLS;
      struct block_bit at = block_bit_of((int)(v - first), (int)(place % CONDENSED_COLS));
      c->bits[b * BLOCK_BYTES + at.byte] |= (uint8_t)(1u << at.bit);
      if (weight) weight[(b * BLOCK_BYTES + at.byte) * 8 + at.bit] = m->weight[e];
    }
  }
}

/* The weights in the order of the bits. */
static inline void fill_values(struct condensed *c, const float *weight) {
  int64_t count = 0;
  for (int64_t i = 0; i < c->blocks * BLOCK_BYTES * 8; i++) {
    if (i % (BLOCK_BYTES * 8) == 0) c->first[i / (BLOCK_BYTES * 8)] = count;
    if (c->bits[i / 8] >> i % 8 & 1) c->value[count++] = weight[i];
  }
  c->first[c->blocks] = count;
}

/* As many blocks as there could be; weight: by their bits, NULL where there are none. */
static inline int allocate_split(const struct csr *m, struct condensed *c, struct csr *rest, float **weight) {
  int64_t most = m->nnz / CONDENSED_COLS + c->windows;
  TRY(csr_init(rest, m->rows, m->cols, m->nnz, m->weight != NULL));
  rest->row = m->row;
  rest->nnz = 0;
  TRY(memory_alloc(&c->start, (c->windows + 1) * (int64_t)sizeof *c->start, "windows"));
  TRY(memory_alloc(&c->col, most * CONDENSED_COLS * (int64_t)sizeof *c->col, "columns of blocks"));
  TRY(memory_alloc(&c->bits, most * BLOCK_BYTES, "blocks"));
  if (!m->weight) return OK;
  TRY(memory_alloc(weight, most * BLOCK_BYTES * 8 * (int64_t)sizeof **weight, "weights by their bits"));
  TRY(memory_alloc(&c->first, (most + 1) * (int64_t)sizeof *c->first, "values of blocks"));
  return memory_alloc(&c->value, m->nnz * (int64_t)sizeof *c->value, "values of blocks");
}

static inline void keep_rows(const struct csr *m, int64_t first, int64_t end, int wanted, struct csr *rest) {
  for (int64_t v = first; v < end; v++) {
    for (int64_t e = m->start[v]; e < m->start[v + 1] && wanted; e++) {
      rest->col[rest->nnz] = m->col[e];
      if (m->weight) rest->weight[rest->nnz] = m->weight[e];
      rest->nnz++;
    }
    rest->start[v + 1] = rest->nnz;
  }
}

/* Windows that the rule takes, and *rest (new arrays; compressed row i of m is compressed row i of both,
 * rest.row is m.row, borrowed). */
static inline int condensed_split(const struct csr *m, const struct window_rule *rule, struct condensed *c,
                                  struct csr *rest) {
  int32_t *list = NULL;
  float *weight = NULL;
  *c = (struct condensed){.windows = (m->rows + CONDENSED_ROWS - 1) / CONDENSED_ROWS};
  TRY(allocate_split(m, c, rest, &weight));
  TRY(memory_alloc(&list, m->nnz * (int64_t)sizeof *list, "columns"));
  for (int64_t w = 0; w < c->windows; w++) {
    int64_t first = w * CONDENSED_ROWS, end = first + CONDENSED_ROWS;
    if (end > m->rows) end = m->rows;
    int64_t arcs = m->start[end] - m->start[first], columns = columns_of_window(m, first, end, list);
    int taken = arcs > 0 && cost_window(rule, (double)arcs, (double)columns);
    c->taken += taken;
    c->start[w + 1] = c->start[w] + (taken ? blocks_of_columns(columns) : 0);
    if (taken) fill_blocks(m, first, end, list, columns, c, c->start[w], weight);
    keep_rows(m, first, end, !taken, rest);
  }
  c->blocks = c->start[c->windows];
  c->entries = m->nnz - rest->nnz;
  if (m->weight) fill_values(c, weight);
  free(list);
  free(weight);
  return OK;
}

#endif
