#include "io/dataset/edges.h"

#include <math.h>

#include "io/dataset/ids.h"
#include "runtime/base/base.h"

enum { EDGES_FIRST = 1 << 14 };

void edges_free(struct edges *edges) {
  free_all(edges->arc, edges->weight);
  *edges = (struct edges){0};
}

int edges_reserve(struct edges *edges, int64_t capacity) {
  if (capacity <= edges->capacity) return OK;
  int64_t arc = (int64_t)sizeof *edges->arc, weight = (int64_t)sizeof *edges->weight;
  TRY(memory_grow(&edges->arc, edges->count * arc, capacity * arc, "the list of arcs"));
  if (edges->weighted)
    TRY(memory_grow(&edges->weight, edges->count * weight, capacity * weight, "edge weights"));
  edges->capacity = capacity;
  return OK;
}

int edges_add(struct edges *edges, int64_t source, int64_t target, float weight) {
  if (edges->count == edges->capacity)
    TRY(edges_reserve(edges, edges->capacity ? 2 * edges->capacity : EDGES_FIRST));
  edges->arc[edges->count] = (struct arc){source, target};
  if (edges->weighted) edges->weight[edges->count] = weight;
  edges->count++;
  return OK;
}

/* Loops go after the ids are ranked: a node that has nothing but a loop stays a node. */
static void drop_loops(struct edges *edges) {
  int64_t kept = 0;
  for (int64_t i = 0; i < edges->count; i++) {
    if (edges->arc[i].source == edges->arc[i].target) continue;
    edges->arc[kept] = edges->arc[i];
    if (edges->weighted) edges->weight[kept] = edges->weight[i];
    kept++;
  }
  edges->loops = edges->count - kept;
  edges->count = kept;
}

static int rank_declared(struct edges *edges, int64_t **id) {
  if (edges->nodes > INT32_MAX)
    FAIL(BAD_INPUT, "%lld nodes; at most %d can be read", (long long)edges->nodes, INT32_MAX);
  for (int64_t i = 0; i < edges->count; i++) {
    struct arc *arc = &edges->arc[i];
    arc->source -= edges->base;
    arc->target -= edges->base;
    int64_t out = arc->source < 0 || arc->source >= edges->nodes ? arc->source : arc->target;
    if (out < 0 || out >= edges->nodes)
      FAIL(BAD_INPUT, "arc %lld: node id %lld is outside %lld .. %lld", (long long)i,
           (long long)(out + edges->base), (long long)edges->base,
           (long long)(edges->base + edges->nodes - 1));
  }
  if (edges->base == 0) return OK;
  TRY(memory_arrays("node ids", ROOM(id, edges->nodes)));
  for (int64_t v = 0; v < edges->nodes; v++) (*id)[v] = edges->base + v;
  return OK;
}

/* Rows are sources here, in the order of the list; the transpose then has ascending sources in each row. */
static int scatter_by_source(struct edges *edges, struct csr *by_source) {
  TRY(csr_init(by_source, edges->nodes, edges->nodes, edges->count, edges->weighted));
  int64_t *start = by_source->start;
  for (int64_t i = 0; i < edges->count; i++) start[edges->arc[i].source + 1]++;
  for (int64_t v = 0; v < edges->nodes; v++) start[v + 1] += start[v];
  for (int64_t i = 0; i < edges->count; i++) {
    int64_t at = start[edges->arc[i].source]++;
    by_source->col[at] = (int32_t)edges->arc[i].target;
    if (edges->weighted) by_source->weight[at] = edges->weight[i];
  }
  memmove(start + 1, start, (size_t)edges->nodes * sizeof *start);
  start[0] = 0;
  return OK;
}

/* Equal neighbours stand side by side in a sorted row: keeps one with the sum of the weights. */
int edges_merge_duplicates(struct csr *m) {
  int64_t kept = 0, begin = 0;
  for (int64_t v = 0; v < m->rows; v++) {
    int64_t end = m->start[v + 1];
    for (int64_t e = begin; e < end;) {
      int64_t first = e;
      double sum = 0;
      for (; e < end && m->col[e] == m->col[first]; e++) sum += m->weight ? (double)m->weight[e] : 0;
      m->col[kept] = m->col[first];
      if (m->weight) m->weight[kept] = (float)sum;
      if (!isfinite((float)sum))
        FAIL(BAD_INPUT, "the values that stand at column %d of row %lld add up to more than a float holds",
             m->col[kept], (long long)v);
      kept++;
    }
    begin = end;
    m->start[v + 1] = kept;
  }
  m->nnz = kept;
  return OK;
}

static int is_equal(const struct csr *a, const struct csr *b) {
  size_t entries = (size_t)a->nnz;
  return memcmp(a->start, b->start, (size_t)(a->rows + 1) * sizeof *a->start) == 0 &&
         memcmp(a->col, b->col, entries * sizeof *a->col) == 0 &&
         (!a->weight || memcmp(a->weight, b->weight, entries * sizeof *a->weight) == 0);
}

/* Union of two sorted rows into `out` (NULL: only counts); returns its length. *unequal grows by the entries
 * that both have, with different weights. */
static int64_t unite_rows(const struct csr *a, const struct csr *b, int64_t v, struct csr *out,
                          int64_t *unequal) {
  int64_t i = a->start[v], j = b->start[v], length = 0;
  while (i < a->start[v + 1] || j < b->start[v + 1]) {
    int32_t x = i < a->start[v + 1] ? a->col[i] : INT32_MAX, y = j < b->start[v + 1] ? b->col[j] : INT32_MAX;
    if (out) {
      int64_t at = out->start[v] + length;
      out->col[at] = x < y ? x : y;
      if (out->weight)
        out->weight[at] = x < y ? a->weight[i] : y < x ? b->weight[j] : fmaxf(a->weight[i], b->weight[j]);
      *unequal += out->weight && x == y && fabsf(a->weight[i] - b->weight[j]) > 0;
    }
    i += x <= y;
    j += y <= x;
    length++;
  }
  return length;
}

static int unite(const struct csr *a, const struct csr *b, struct csr *both, int64_t *unequal) {
  int64_t nnz = 0;
  for (int64_t v = 0; v < a->rows; v++) nnz += unite_rows(a, b, v, NULL, unequal);
  TRY(csr_init(both, a->rows, a->cols, nnz, a->weight != NULL));
  for (int64_t v = 0; v < a->rows; v++)
    both->start[v + 1] = both->start[v] + unite_rows(a, b, v, both, unequal);
  *unequal /= 2; /* each pair was seen from both ends */
  return OK;
}

static int sort_arcs(struct edges *edges, struct csr *graph) {
  ENDED_BY(csr_free) struct csr by_source = {0};
  TRY(scatter_by_source(edges, &by_source));
  free_all(edges->arc, edges->weight);
  edges->arc = NULL;
  edges->weight = NULL;
  edges->capacity = 0;
  TRY(csr_transpose(&by_source, graph, NULL));
  TRY(edges_merge_duplicates(graph));
  edges->duplicates = edges->count - graph->nnz;
  return OK;
}

static int settle_direction(struct edges *edges, struct csr *graph) {
  ENDED_BY(csr_free) struct csr transposed = {0}, both = {0};
  TRY(csr_transpose(graph, &transposed, NULL));
  edges->directed = !is_equal(graph, &transposed);
  if (!edges->directed || !edges->undirected) return OK;
  TRY(unite(graph, &transposed, &both, &edges->unequal));
  edges->mirrored = both.nnz - graph->nnz;
  edges->directed = 0;
  struct csr old = *graph;
  *graph = both;
  both = old;
  return OK;
}

int edges_build(struct edges *edges, struct csr *graph, int64_t **id) {
  *id = NULL;
  if (edges->nodes) {
    TRY(rank_declared(edges, id));
  } else {
    TRY(ids_rank((int64_t *)edges->arc, 2 * edges->count, id, &edges->nodes));
  }
  if (edges->drop_loops) drop_loops(edges);
  TRY(sort_arcs(edges, graph));
  return settle_direction(edges, graph);
}
