/* The symmetrised pattern of a whole graph, as partitioners want it. */
#include "partition/graph/graph.h"
#include "runtime/base/base.h"

/* Union of rows v of a and b (b NULL: none) without v itself; col NULL: only counts. */
static int64_t merge_row(const struct csr *a, const struct csr *b, int64_t v, int32_t *col) {
  int64_t i = a->start[v], j = b ? b->start[v] : 0, count = 0;
  int64_t i_end = a->start[v + 1], j_end = b ? b->start[v + 1] : 0;
  while (i < i_end || j < j_end) {
    int32_t next;
    if (j == j_end || (i < i_end && a->col[i] <= b->col[j])) {
      next = a->col[i];
      if (j < j_end && b->col[j] == next) j++;
      i++;
    } else {
      next = b->col[j++];
    }
    if (next == v) continue;
    if (col) col[count] = next;
    count++;
  }
  return count;
}

static int merge(const struct csr *a, const struct csr *b, struct csr *pattern) {
  *pattern = (struct csr){.rows = a->rows, .cols = a->cols};
  TRY(memory_arrays("pattern of the graph", ROOM(&pattern->start, a->rows + 1)));
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t v = 0; v < a->rows; v++) pattern->start[v + 1] = merge_row(a, b, v, NULL);
  for (int64_t v = 0; v < a->rows; v++) pattern->start[v + 1] += pattern->start[v];
  pattern->nnz = pattern->start[a->rows];
  TRY(memory_arrays("pattern of the graph", ROOM(&pattern->col, pattern->nnz)));
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t v = 0; v < a->rows; v++) merge_row(a, b, v, pattern->col + pattern->start[v]);
  return OK;
}

struct csr graph_rows(const struct graph *graph) {
  return (struct csr){.rows = graph->rows,
                      .cols = graph->nodes,
                      .nnz = graph->edges,
                      .start = graph->start,
                      .col = graph->col};
}

int graph_pattern(const struct graph *graph, int directed, struct csr *pattern) {
  ENDED_BY(csr_free) struct csr transposed = {0};
  struct csr rows = graph_rows(graph);
  if (directed) TRY(csr_transpose(&rows, &transposed, NULL));
  return merge(&rows, directed ? &transposed : NULL, pattern);
}
