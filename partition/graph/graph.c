#include "partition/graph/graph.h"

#include "runtime/base/base.h"
#include "runtime/base/edge_hash.h"

void graph_free(struct graph *graph) {
  free_all(graph->start, graph->col, graph->weight);
  *graph = (struct graph){0};
}

int graph_without_edges(int64_t nodes, struct graph *graph) {
  *graph = (struct graph){.nodes = nodes};
  TRY(memory_arrays("row offsets of the graph", ROOM(&graph->start, 1)));
  return memory_alloc(&graph->col, 0, "edges of the graph");
}

int64_t graph_block(int64_t nodes, int size, int r) {
  return nodes / size * r + smaller(r, nodes % size);
}

int graph_block_of(int64_t nodes, int size, int64_t v) {
  int64_t small = nodes / size, larger = nodes % size, edge = larger * (small + 1);
  return (int)(v < edge ? v / (small + 1) : larger + (v - edge) / small);
}

int graph_is_block(const struct comm *comm, const struct graph *graph) {
  return graph && graph->first == graph_block(graph->nodes, comm->size, comm->rank) &&
         graph->first + graph->rows == graph_block(graph->nodes, comm->size, comm->rank + 1);
}

/* Of offsets or entries that are read at a time, so that many threads find enough to do. */
static const int64_t READ_STEP = 1 << 26;

static int read_starts(struct dataset *dataset, struct graph *graph) {
  for (int64_t row = 0; row < graph->rows; row += READ_STEP) {
    int64_t count = smaller(READ_STEP, graph->rows - row);
    TRY(dataset_read_starts(dataset, GRAPH_ROWS, graph->first + row, count, graph->start + row));
  }
  return OK;
}

static int read_edges(struct dataset *dataset, int64_t base, struct graph *graph) {
  for (int64_t e = 0; e < graph->edges; e += READ_STEP) {
    float *weight = graph->weight ? graph->weight + e : NULL;
    TRY(dataset_read_entries(dataset, GRAPH_ROWS, base + e, smaller(READ_STEP, graph->edges - e),
                             graph->col + e, weight));
  }
  return OK;
}

/* The first edge of a row that is not above the one before it; its row's end: none. */
static int64_t find_fall(const struct graph *graph, int64_t row) {
  int64_t e = graph->start[row] + 1, end = graph->start[row + 1];
  while (e < end && graph->col[e] > graph->col[e - 1]) e++;
  return e < end ? e : end;
}

/* Several entries at once: whether the row ascends, and its self loops. */
static int ascends(const struct graph *graph, int64_t row, int64_t *loops) {
  const int32_t *col = graph->col + graph->start[row], self = (int32_t)(graph->first + row);
  const int64_t count = graph->start[row + 1] - graph->start[row];
  int falls = 0, found = 0;
  for (int64_t i = 1; i < count; i++) falls |= col[i] <= col[i - 1];
  for (int64_t i = 0; i < count; i++) found += col[i] == self;
  *loops += found;
  return !falls;
}

static int check_rows(struct graph *graph) {
  int64_t wrong = graph->rows, loops = 0;
#pragma omp parallel for schedule(static) reduction(min : wrong) reduction(+ : loops)
  for (int64_t row = 0; row < graph->rows; row++)
    if (!ascends(graph, row, &loops)) wrong = smaller(wrong, row);
  graph->loops = loops;
  if (wrong == graph->rows) return OK;
  int64_t e = find_fall(graph, wrong);
  FAIL(BAD_INPUT,
       "%s: row %lld of /graph is not strictly ascending (%d after %d); rows must be sorted and without "
       "duplicates",
       graph->path, (long long)(graph->first + wrong), graph->col[e], graph->col[e - 1]);
}

int graph_read(struct dataset *dataset, int64_t first, int64_t rows, struct graph *graph) {
  *graph = (struct graph){.nodes = dataset->nodes, .first = first, .rows = rows, .path = dataset->h5.path};
  if (dataset->nodes > INT32_MAX)
    FAIL(BAD_INPUT, "%s: %lld nodes; at most %d are supported", graph->path, (long long)dataset->nodes,
         INT32_MAX);
  TRY(memory_arrays("row offsets of the graph", ROOM(&graph->start, rows + 1)));
  if (dataset->has_graph) {
    TRY(dataset_hold_rows(dataset, GRAPH_ROWS, first, rows));
    TRY(read_starts(dataset, graph));
  }
  int64_t base = graph->start[0];
#pragma omp parallel for schedule(static)
  for (int64_t row = 0; row <= rows; row++) graph->start[row] -= base;
  graph->edges = graph->start[rows];
  TRY(memory_arrays("edges of the graph", ROOM(&graph->col, graph->edges)));
  if (dataset->weighted) TRY(memory_arrays("edge weights", ROOM(&graph->weight, graph->edges)));
  TRY(read_edges(dataset, base, graph));
  dataset_drop_rows(dataset);
  return check_rows(graph);
}

uint32_t graph_weight_bits(const struct graph *graph, int64_t e) {
  uint32_t bits = 0;
  if (graph->weight) memcpy(&bits, &graph->weight[e], sizeof bits);
  return bits;
}

/* Several edges at once where none has a weight. */
static uint64_t hash_row(const struct graph *graph, int64_t row) {
  const int64_t v = graph->first + row, first = graph->start[row], end = graph->start[row + 1];
  uint64_t sum = 0;
  for (int64_t e = first; graph->weight && e < end; e++)
    sum += edge_hash(v, graph->col[e], graph_weight_bits(graph, e));
  if (graph->weight) return sum;
  for (int64_t e = first; e < end; e++) sum += edge_hash(v, graph->col[e], 0);
  return sum;
}

uint64_t graph_hash(const struct graph *graph) {
  uint64_t sum = 0;
#pragma omp parallel for schedule(dynamic, 1024) reduction(+ : sum)
  for (int64_t row = 0; row < graph->rows; row++) sum += hash_row(graph, row);
  return sum;
}

/* Above the diagonal it counts, below it counts against. */
static uint64_t skew_of_edge(int64_t row, int64_t col, uint32_t weight) {
  const uint64_t hash = pair_hash(row, col, weight);
  return col > row ? hash : col < row ? -hash : 0;
}

static uint64_t skew_of_row(const struct graph *graph, int64_t row) {
  const int64_t v = graph->first + row, first = graph->start[row], end = graph->start[row + 1];
  uint64_t sum = 0;
  for (int64_t e = first; graph->weight && e < end; e++)
    sum += skew_of_edge(v, graph->col[e], graph_weight_bits(graph, e));
  if (graph->weight) return sum;
  for (int64_t e = first; e < end; e++) sum += skew_of_edge(v, graph->col[e], 0);
  return sum;
}

uint64_t graph_skew(const struct graph *graph) {
  uint64_t sum = 0;
#pragma omp parallel for schedule(dynamic, 1024) reduction(+ : sum)
  for (int64_t row = 0; row < graph->rows; row++) sum += skew_of_row(graph, row);
  return sum;
}

/* The symmetrised pattern of a whole graph, as partitioners want it. */

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
