#include "partition/cut/cut_large.h"

#include "partition/multilevel/multilevel.h"
#include "partition/multilevel/pattern_block.h"
#include "partition/multilevel/scotch.h"
#include "runtime/base/base.h"

/* What an own node counts for. */
struct weights {
  int64_t *count, *nnz; /* [own]; count NULL: 1 */
};

static void weights_free(struct weights *w) {
  free_all(w->count, w->nnz);
}

/* Of a star: vertices for themselves, hyperedges for their incidences. */
static int weigh_star(const struct cut_input *input, const struct csr *pattern, int64_t first,
                      struct weights *w) {
  TRY(memory_arrays("weights of vertices", ROOM(&w->count, pattern->rows)));
  for (int64_t v = 0; v < pattern->rows; v++) {
    w->count[v] = first + v < input->vertices;
    w->nnz[v] = w->count[v] ? 0 : pattern->start[v + 1] - pattern->start[v];
  }
  return OK;
}

static int weigh(const struct cut_input *input, const struct csr *pattern, int64_t first, struct weights *w) {
  const struct graph *held = input->held;
  const struct row_work *work = input->work;
  TRY(memory_arrays("row lengths", ROOM(&w->nnz, pattern->rows)));
  if (input->vertices) return weigh_star(input, pattern, first, w);
  for (int64_t v = 0; v < pattern->rows; v++) {
    w->nnz[v] = held->start[v + 1] - held->start[v];
    if (work) w->nnz[v] *= work->times[work->level[first + v]];
  }
  return OK;
}

static int cut(struct progress *progress, const struct cut_input *input, const struct csr *pattern,
               int32_t *part) {
  struct comm *comm = progress->comm;
  ENDED_BY(weights_free) struct weights weights = {0};
  TRY(comm_agree(comm, weigh(input, pattern, graph_block(pattern->cols, comm->size, comm->rank), &weights)));
  const struct multilevel_input multilevel = {pattern,      weights.count, weights.nnz,
                                              input->parts, input->seed,   input->balance};
  return (input->by_scotch ? scotch_partition : multilevel_partition)(progress, &multilevel, part);
}

int cut_large(struct progress *progress, const struct cut_input *input, int32_t *part) {
  ENDED_BY(csr_free) struct csr both = {0};
  const struct csr held = graph_rows(input->held); /* of an undirected graph these are the pattern's */
  if (!input->directed) return cut(progress, input, &held, part);
  TRY(pattern_block(progress->comm, input->held, &both));
  return cut(progress, input, &both, part);
}

/* Both directions are sorted: records of the arcs and rows of them, then rows alone. */
int64_t cut_large_bytes(int64_t nodes, int64_t arcs, int directed, int ranks) {
  enum { NODE = 20, RECORD = 12 };
  int64_t rows = directed ? arcs * (int64_t)sizeof(int32_t) / ranks : 0;
  int64_t cutting = rows + nodes * NODE / ranks + multilevel_bytes(nodes, arcs, ranks);
  return larger(cutting, directed ? arcs * RECORD / ranks : 0);
}
