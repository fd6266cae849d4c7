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

/* The columns of a window with so many entries, ascending, each once; returns how many. */
static inline int64_t columns_of_window(const struct csr *m, int64_t first, int64_t end, int64_t least,
                                        int32_t *list) {
  int64_t count = 0, columns = 0;
  for (int64_t e = m->start[first]; e < m->start[end]; e++) list[count++] = m->col[e];
  qsort(list, (size_t)count, sizeof *list, compare_columns);
  for (int64_t i = 0, next; i < count; i = next) {
    for (next = i; next < count && list[next] == list[i];) next++;
    if (next - i >= least) list[columns++] = list[i];
  }
  return columns;
}

/* -1: it is not there. */
static inline int64_t place_of_column(const int32_t *list, int64_t columns, int32_t col) {
  const int32_t *found = bsearch(&col, list, (size_t)columns, sizeof *list, compare_columns);
  return found ? found - list : -1;
}

/* Columns and bits of the blocks from `block` on; weights are stood by their bits in `weight`. */
static inline void fill_blocks(const struct csr *m, int64_t first, int64_t end, const int32_t *list,
                               int64_t columns, struct condensed *c, int64_t block, float *weight) {
  const int side = c->side, bytes = side * side / 8;
  for (int64_t i = 0; i < blocks_of_side(columns, side) * side; i++)
    c->col[block * side + i] = list[i < columns ? i : columns - 1];
  for (int64_t v = first; v < end; v++) {
    for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) {
      int64_t place = place_of_column(list, columns, m->col[e]), b = block + place / side;
      if (place < 0) continue;
      struct block_bit at = block_bit_of(side, (int)(v - first), (int)(place % side));
      c->bits[b * bytes + at.byte] |= (uint8_t)(1u << at.bit);
      if (weight) weight[(b * bytes + at.byte) * 8 + at.bit] = m->weight[e];
    }
  }
}

/* The weights in the order of the bits. */
static inline void fill_values(struct condensed *c, const float *weight) {
  const int cells = c->side * c->side;
  int64_t count = 0;
  for (int64_t i = 0; i < c->blocks * cells; i++) {
    if (i % cells == 0) c->first[i / cells] = count;
    if (c->bits[i / 8] >> i % 8 & 1) c->value[count++] = weight[i];
  }
  c->first[c->blocks] = count;
}

/* As many blocks as there could be; weight: by their bits, NULL where there are none. */
static inline int allocate_split(const struct csr *m, struct condensed *c, struct csr *rest, float **weight) {
  int64_t most = m->nnz / c->side + c->windows, cells = (int64_t)c->side * c->side;
  TRY(csr_init(rest, m->rows, m->cols, m->nnz, m->weight != NULL));
  rest->row = m->row;
  rest->nnz = 0;
  TRY(memory_alloc(&c->start, (c->windows + 1) * (int64_t)sizeof *c->start, "windows"));
  TRY(memory_alloc(&c->col, most * c->side * (int64_t)sizeof *c->col, "columns of blocks"));
  TRY(memory_alloc(&c->bits, most * cells / 8, "blocks"));
  if (!m->weight) return OK;
  TRY(memory_alloc(weight, most * cells * (int64_t)sizeof **weight, "weights by their bits"));
  TRY(memory_alloc(&c->first, (most + 1) * (int64_t)sizeof *c->first, "values of blocks"));
  return memory_alloc(&c->value, m->nnz * (int64_t)sizeof *c->value, "values of blocks");
}

/* All of the rows that is in none of the columns. */
static inline void keep_rows(const struct csr *m, int64_t first, int64_t end, const int32_t *list,
                             int64_t columns, struct csr *rest) {
  for (int64_t v = first; v < end; v++) {
    for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) {
      if (place_of_column(list, columns, m->col[e]) >= 0) continue;
      rest->col[rest->nnz] = m->col[e];
      if (m->weight) rest->weight[rest->nnz] = m->weight[e];
      rest->nnz++;
    }
    rest->start[v + 1] = rest->nnz;
  }
}

/* Windows or vectors that the rule takes, and *rest (new arrays; compressed row i of m is compressed row i of
 * both, rest.row is m.row, borrowed). */
static inline int condensed_split(const struct csr *m, const struct window_rule *rule, struct condensed *c,
                                  struct csr *rest) {
  int32_t *list = NULL;
  float *weight = NULL;
  const int side = window_side(rule);
  *c = (struct condensed){.side = side, .windows = (m->rows + side - 1) / side};
  TRY(allocate_split(m, c, rest, &weight));
  TRY(memory_alloc(&list, m->nnz * (int64_t)sizeof *list, "columns"));
  for (int64_t w = 0; w < c->windows; w++) {
    int64_t first = w * side, end = first + side;
    if (end > m->rows) end = m->rows;
    int64_t arcs = m->start[end] - m->start[first];
    int64_t columns = columns_of_window(m, first, end, rule->vectors, list);
    if (!rule->vectors && (arcs == 0 || !cost_window(rule, (double)arcs, (double)columns))) columns = 0;
    c->taken += columns > 0;
    c->start[w + 1] = c->start[w] + blocks_of_side(columns, side);
    fill_blocks(m, first, end, list, columns, c, c->start[w], weight);
    keep_rows(m, first, end, list, columns, rest);
  }
  c->blocks = c->start[c->windows];
  c->entries = m->nnz - rest->nnz;
  if (m->weight) fill_values(c, weight);
  free(list);
  free(weight);
  return OK;
}

#endif
