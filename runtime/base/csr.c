#include "runtime/base/csr.h"

#include "runtime/base/base.h"

int csr_init(struct csr *m, int64_t rows, int64_t cols, int64_t nnz, int weighted) {
  *m = (struct csr){.rows = rows, .cols = cols, .nnz = nnz};
  TRY(memory_arrays("row offsets", ROOM(&m->start, rows + 1)));
  TRY(memory_arrays("column indices", ROOM(&m->col, nnz)));
  if (weighted) TRY(memory_alloc(&m->weight, nnz * (int64_t)sizeof *m->weight, "edge weights"));
  return OK;
}

void csr_free(struct csr *m) {
  free_all(m->start, m->col, m->weight, m->row, m->wide);
  *m = (struct csr){0};
}

int csr_transpose(const struct csr *m, struct csr *t, int64_t **entry) {
  TRY(csr_init(t, m->cols, m->rows, m->nnz, m->weight != NULL));
  if (m->wide) TRY(memory_alloc(&t->wide, m->nnz * (int64_t)sizeof *t->wide, "edge weights"));
  if (entry) TRY(memory_alloc(entry, m->nnz * (int64_t)sizeof **entry, "transposed entries"));
  for (int64_t e = 0; e < m->nnz; e++) t->start[m->col[e] + 1]++;
  for (int64_t v = 0; v < t->rows; v++) t->start[v + 1] += t->start[v];
  for (int64_t v = 0; v < m->rows; v++) {
    for (int64_t e = m->start[v]; e < m->start[v + 1]; e++) {
      int64_t at = t->start[m->col[e]]++; /* start[v] runs to the old start[v + 1] */
      t->col[at] = (int32_t)v;
      if (m->weight) t->weight[at] = m->weight[e];
      if (m->wide) t->wide[at] = m->wide[e];
      if (entry) (*entry)[at] = e;
    }
  }
  memmove(t->start + 1, t->start, (size_t)t->rows * sizeof *t->start);
  t->start[0] = 0;
  return OK;
}

/* The first entries of a row. */
static void copy_row(const struct csr *from, struct csr *to, int64_t row) {
  const int64_t at = to->start[row], count = to->start[row + 1] - at, first = from->start[row];
  memcpy(to->col + at, from->col + first, (size_t)count * sizeof *to->col);
  if (to->weight) memcpy(to->weight + at, from->weight + first, (size_t)count * sizeof *to->weight);
}

/* Entries of a row below a column: often few, so that the search begins at the front. */
static int64_t entries_below(const struct csr *m, int64_t row, int64_t cols) {
  const int64_t first = m->start[row], end = m->start[row + 1];
  int64_t step = 1;
  while (first + step < end && m->col[first + step] < cols) step *= 2;
  return csr_entry_from(m->col, first + step / 2, smaller(first + step, end), cols) - first;
}

int csr_cut(const struct csr *m, int64_t rows, int64_t cols, struct csr *to) {
  *to = (struct csr){.rows = rows, .cols = cols};
  TRY(memory_arrays("row offsets", ROOM(&to->start, rows + 1)));
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < rows; v++) to->start[v + 1] = entries_below(m, v, cols);
  for (int64_t v = 0; v < rows; v++) to->start[v + 1] += to->start[v];
  to->nnz = to->start[rows];
  TRY(memory_arrays("column indices", ROOM(&to->col, to->nnz)));
  if (m->weight) TRY(memory_arrays("edge weights", ROOM(&to->weight, to->nnz)));
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t v = 0; v < rows; v++) copy_row(m, to, v);
  return OK;
}

/* A block that could not be made smaller stays as it is. */
static void shorten(void *pointer, int64_t bytes) {
  void *block = NULL, *less;
  memcpy(&block, pointer, sizeof block);
  less = block ? realloc(block, (size_t)larger(bytes, 1)) : NULL;
  if (less) memcpy(pointer, &less, sizeof less);
}

void csr_shorten(struct csr *m, int64_t rows) {
  m->rows = rows;
  m->nnz = m->start[rows];
  shorten(&m->start, (rows + 1) * (int64_t)sizeof *m->start);
  shorten(&m->col, m->nnz * (int64_t)sizeof *m->col);
  shorten(&m->weight, m->nnz * (int64_t)sizeof *m->weight);
  shorten(&m->row, rows * (int64_t)sizeof *m->row);
  shorten(&m->wide, m->nnz * (int64_t)sizeof *m->wide);
}

int64_t csr_bytes(const struct csr *m) {
  int64_t per_nnz = (int64_t)sizeof *m->col + (m->weight ? (int64_t)sizeof *m->weight : 0);
  return (m->rows + 1) * (int64_t)sizeof *m->start + m->nnz * per_nnz + (m->row ? m->rows * 4 : 0);
}

int64_t csr_row_of(const int64_t *start, int64_t first, int64_t rows, int64_t entry) {
  int64_t low = first, high = rows;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (start[middle] <= entry)
      low = middle;
    else
      high = middle;
  }
  return low;
}

int64_t csr_entry_from(const int32_t *col, int64_t first, int64_t end, int64_t column) {
  while (first < end) {
    const int64_t middle = first + (end - first) / 2;
    if (col[middle] < column)
      first = middle + 1;
    else
      end = middle;
  }
  return first;
}
