#include "kernels/format/pairs.h"

#include "runtime/base/base.h"

static int64_t size_of(const struct csr *edges, int64_t e) {
  return edges->start[e + 1] - edges->start[e];
}

static int64_t pairs_of(const struct csr *edges, const struct csr *vertices, int64_t v) {
  int64_t count = 0;
  for (int64_t i = vertices->start[v]; i < vertices->start[v + 1]; i++)
    count += size_of(edges, vertices->col[i]);
  return count;
}

void pairs_count(const struct csr *edges, const struct csr *vertices, int64_t *count, int64_t *longest) {
  *count = *longest = 0;
  for (int64_t v = 0; v < vertices->rows; v++) {
    int64_t mine = pairs_of(edges, vertices, v);
    *count += mine;
    *longest = larger(*longest, mine);
  }
}

static void fill_row(const struct csr *edges, const struct csr *vertices, int64_t v, struct pairs *pairs) {
  int64_t at = pairs->csr.start[v];
  for (int64_t i = vertices->start[v]; i < vertices->start[v + 1]; i++) {
    int32_t e = vertices->col[i];
    for (int64_t j = edges->start[e]; j < edges->start[e + 1]; j++, at++) {
      pairs->csr.col[at] = edges->col[j];
      pairs->edge[at] = e;
    }
  }
}

int pairs_init(const struct csr *edges, const struct csr *vertices, struct pairs *pairs) {
  int64_t count = 0, longest = 0, rows = vertices->rows;
  pairs_count(edges, vertices, &count, &longest);
  *pairs = (struct pairs){0};
  TRY(csr_init(&pairs->csr, rows, edges->cols, count, 0));
  TRY(memory_arrays("hyperedges of pairs", ROOM(&pairs->edge, count)));
  for (int64_t v = 0; v < rows; v++)
    pairs->csr.start[v + 1] = pairs->csr.start[v] + pairs_of(edges, vertices, v);
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t v = 0; v < rows; v++) fill_row(edges, vertices, v, pairs);
  return OK;
}

void pairs_free(struct pairs *pairs) {
  csr_free(&pairs->csr);
  free(pairs->edge);
  *pairs = (struct pairs){0};
}
