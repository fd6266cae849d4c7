/* Rows that wait for the halo, to be summed whole. */
#include "partition/shard/adjacency.h"
#include "runtime/base/base.h"

/* Rows of the halo part before `first`. */
static int64_t halo_rows_before(const struct csr *halo, int64_t first) {
  int64_t low = 0, high = halo->rows;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (halo->row[middle] < first)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Where the late rows' entries begin. */
static void place_rows(const struct adjacency *adj, int64_t first, int64_t halo_first, struct csr *late) {
  const struct csr *own = &adj->own_part, *halo = adj->halo_part;
  for (int64_t i = 0; i < late->rows; i++)
    late->start[i + 1] = own->start[first + i + 1] - own->start[first + i];
  for (int64_t h = halo_first; h < halo->rows; h++)
    late->start[halo->row[h] - first + 1] += halo->start[h + 1] - halo->start[h];
  for (int64_t i = 0; i < late->rows; i++) late->start[i + 1] += late->start[i];
}

/* A row's entries, their columns `behind` the others'. */
static void copy_row(const struct csr *from, int64_t row, int64_t behind, struct csr *late, int64_t at) {
  const int64_t begin = from->start[row], count = from->start[row + 1] - begin;
  for (int64_t e = 0; e < count; e++) late->col[at + e] = from->col[begin + e] + (int32_t)behind;
  if (late->weight) memcpy(late->weight + at, from->weight + begin, (size_t)count * sizeof *late->weight);
}

static void copy_rows(const struct adjacency *adj, int64_t first, int64_t halo_first, struct csr *late) {
  const struct csr *own = &adj->own_part, *halo = adj->halo_part;
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t i = 0; i < late->rows; i++) copy_row(own, first + i, 0, late, late->start[i]);
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t h = halo_first; h < halo->rows; h++) {
    const int64_t row = halo->row[h] - first, count = halo->start[h + 1] - halo->start[h];
    copy_row(halo, h, late->near, late, late->start[row + 1] - count);
  }
}

int adjacency_delay(struct adjacency *adj, int64_t first) {
  const struct csr *own = &adj->own_part, *halo = adj->halo_part;
  const int64_t halo_first = halo_rows_before(halo, first), rows = own->rows - first,
                entries = own->nnz - own->start[first] + halo->nnz - halo->start[halo_first];
  ENDED_BY(csr_free) struct csr late = {0};
  if (rows == 0) return OK;
  TRY(csr_init(&late, rows, own->cols + adj->halo.rows, entries, own->weight != NULL));
  if (first > 0) TRY(memory_arrays("late rows", ROOM(&late.row, rows)));
  late.near = own->cols;
  for (int64_t i = 0; first > 0 && i < rows; i++) late.row[i] = (int32_t)(first + i);
  place_rows(adj, first, halo_first, &late);
  copy_rows(adj, first, halo_first, &late);
  adj->late_part = late;
  late = (struct csr){0};
  csr_shorten(&adj->own_part, first);
  csr_shorten(adj->halo_part, halo_first);
  return OK;
}
