#include "partition/cut/cut_small.h"

#include "partition/graph/balance.h"
#include "partition/graph/metis.h"
#include "runtime/base/base.h"

/* Non-zeros of each row, or its work. */
static void weigh(const struct cut_input *input, int64_t *nnz) {
  const struct graph *graph = input->held;
  const struct row_work *work = input->work;
  for (int64_t v = 0; v < graph->nodes; v++) {
    nnz[v] = graph->start[v + 1] - graph->start[v];
    if (work) nnz[v] *= work->times[work->level[v]];
  }
}

static int divide(struct progress *progress, const struct cut_input *input, const struct csr *pattern,
                  int64_t *count, int64_t *nnz, int32_t *part) {
  int64_t saved = 0;
  TRY(metis_fits(pattern->rows, pattern->nnz, input->held->path));
  TRY(metis_partition(progress, pattern, count, nnz, input->parts, input->seed, input->balance, part));
  TRY(balance_parts(pattern, count, nnz, input->parts, input->balance, part));
  if (input->vertices) return OK; /* ranks of a hypergraph send sums as well */
  TRY(balance_lessen_rows(pattern, nnz, input->parts, input->balance, part, &saved));
  if (saved > 0) log_detail("parts: %lld fewer rows received, by moving nodes after METIS", (long long)saved);
  return OK;
}

int cut_small(struct progress *progress, const struct cut_input *input, int32_t *part) {
  ENDED_BY(csr_free) struct csr pattern = {0};
  FREED int64_t *count = NULL, *nnz = NULL; /* count: of a star 1 for vertices, 0 for hyperedges */
  TRY(memory_arrays("row lengths", ROOM(&nnz, input->held->nodes)));
  if (input->vertices) TRY(memory_arrays("weights of vertices", ROOM(&count, input->held->nodes)));
  for (int64_t v = 0; v < input->vertices; v++) count[v] = 1;
  weigh(input, nnz);
  TRY(graph_pattern(input->held, input->directed, &pattern));
  return divide(progress, input, &pattern, count, nnz, part);
}
