/* Symmetry of a graph whose rows lie on several ranks. */
#include "partition/graph/graph.h"
#include "runtime/base/base.h"
#include "runtime/comm/row_shuffle.h"

struct arc {
  int32_t row, col;
  float weight;
};

struct search {
  const struct graph *block;
  int64_t row, edge;   /* the next arc to send */
  int64_t found;       /* smallest (row, col) of an arc without an equal reverse, packed */
  float weight, other; /* its weight, and that of its reverse */
  int reversed;        /* it has a reverse, of another weight */
};

static int64_t packed(int64_t row, int64_t col) {
  return row * ((int64_t)INT32_MAX + 1) + col;
}

static int send_arcs(struct row_shuffle *shuffle, void *context) {
  struct search *s = context;
  const struct graph *g = s->block;
  for (; s->row < g->rows; s->row++) {
    for (; s->edge < g->start[s->row + 1]; s->edge++) {
      int32_t col = g->col[s->edge];
      struct arc *arc = row_shuffle_put(shuffle, graph_block_of(g->nodes, shuffle->comm->size, col));
      if (!arc) return OK;
      *arc = (struct arc){(int32_t)(g->first + s->row), col, g->weight ? g->weight[s->edge] : 1};
    }
  }
  shuffle->ended = 1;
  return OK;
}

/* The place of `col` in a held row, -1 when it is not there. */
static int64_t find_edge(const struct graph *g, int64_t row, int32_t col) {
  return find_sorted(g->col, g->start[row - g->first], g->start[row - g->first + 1], col);
}

static int look_up(const void *records, int64_t count, void *context) {
  struct search *s = context;
  const struct arc *arc = records;
  for (int64_t i = 0; i < count; i++, arc++) {
    int64_t e = find_edge(s->block, arc->col, arc->row), key = packed(arc->row, arc->col);
    float other = e < 0 ? 0 : s->block->weight ? s->block->weight[e] : 1;
    if ((e >= 0 && other == arc->weight) || key >= s->found) continue;
    s->found = key;
    s->reversed = e >= 0;
    s->weight = arc->weight;
    s->other = other;
  }
  return OK;
}

/* Row v lists u: the arc u -> v. */
static int refuse(const struct search *s) {
  long long row = s->found / ((int64_t)INT32_MAX + 1), col = s->found % ((int64_t)INT32_MAX + 1);
  if (s->reversed)
    FAIL(BAD_INPUT,
         "%s: arc %lld -> %lld has weight %g, its reverse %g although directed = 0; import it with "
         "--undirected",
         s->block->path, col, row, (double)s->weight, (double)s->other);
  FAIL(BAD_INPUT, "%s: arc %lld -> %lld has no reverse although directed = 0; import it with --undirected",
       s->block->path, col, row);
}

int graph_check_symmetric(struct comm *comm, const struct graph *block) {
  uint64_t sum = graph_skew(block);
  TRY(comm_reduce(comm, &sum, 1, NUMBER_UINT64, REDUCE_SUM));
  if (sum == 0) return OK;
  /* Only a graph that is refused (or one with weights -0 and 0) pays for the search. */
  struct search search = {.block = block, .found = INT64_MAX};
  TRY(row_shuffle_exchange(comm, sizeof(struct arc), send_arcs, look_up, &search));
  int64_t first = search.found;
  TRY(comm_reduce(comm, &first, 1, NUMBER_INT64, REDUCE_MIN));
  if (first == INT64_MAX) return OK;
  return comm_agree(comm, first == search.found ? refuse(&search) : OK);
}

int graph_read_block(struct comm *comm, struct dataset *dataset, struct graph *block, uint64_t *hash) {
  int64_t first = graph_block(dataset->nodes, comm->size, comm->rank);
  int64_t end = graph_block(dataset->nodes, comm->size, comm->rank + 1);
  if (dataset->has_graph)
    TRY(comm_agree(comm, dataset_hold_block(comm, dataset, GRAPH_ROWS, first, end - first)));
  TRY(comm_agree(comm, graph_read(dataset, first, end - first, block)));
  int64_t edges = block->edges;
  TRY(comm_sum_int64(comm, &edges));
  dataset_set_entries(dataset, GRAPH_ROWS, edges);
  *hash = graph_hash(block);
  if (!dataset->directed) TRY(graph_check_symmetric(comm, block));
  return comm_reduce(comm, hash, 1, NUMBER_UINT64, REDUCE_SUM);
}
