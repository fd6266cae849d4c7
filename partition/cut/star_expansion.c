#include "partition/cut/star_expansion.h"

#include "runtime/base/base.h"
#include "runtime/base/edge_hash.h"

static int check_rows(const struct graph *expansion, int64_t vertices) {
  for (int64_t row = 0; row < expansion->rows; row++) {
    for (int64_t e = expansion->start[row] + 1; e < expansion->start[row + 1]; e++) {
      if (expansion->col[e] <= expansion->col[e - 1])
        FAIL(
            BAD_INPUT,
            "%s: hyperedge %lld of /hypergraph is not strictly ascending (%d after %d); its vertices must be "
            "sorted and without duplicates",
            expansion->path, (long long)(expansion->first + row - vertices), expansion->col[e],
            expansion->col[e - 1]);
    }
  }
  return OK;
}

/* Hyperedges [first, first + count) into the last rows of the star. */
static int read_hyperedges(struct dataset *dataset, int64_t first, int64_t count, struct graph *expansion) {
  int64_t *start = expansion->start + expansion->rows - count;
  TRY(dataset_hold_rows(dataset, HYPER_ROWS, first, count));
  TRY(dataset_read_starts(dataset, HYPER_ROWS, first, count, start));
  int64_t base = start[0];
  for (int64_t e = 0; e <= count; e++) start[e] -= base;
  expansion->edges = start[count];
  TRY(memory_arrays("vertices of hyperedges", ROOM(&expansion->col, expansion->edges)));
  int64_t step = DATASET_BLOCK / (int64_t)sizeof *expansion->col;
  for (int64_t e = 0; e < expansion->edges; e += step)
    TRY(dataset_read_entries(dataset, HYPER_ROWS, base + e, smaller(step, expansion->edges - e),
                             expansion->col + e, NULL));
  dataset_drop_rows(dataset);
  return check_rows(expansion, dataset->nodes);
}

int star_expansion_read(struct dataset *dataset, int64_t first, int64_t rows, struct graph *expansion) {
  int64_t vertices = dataset->nodes, nodes = vertices + dataset->hyperedges, last = first + rows;
  *expansion = (struct graph){.nodes = nodes, .first = first, .rows = rows, .path = dataset->h5.path};
  if (nodes > INT32_MAX)
    FAIL(BAD_INPUT, "%s: %lld vertices and %lld hyperedges; at most %d together are supported",
         expansion->path, (long long)vertices, (long long)dataset->hyperedges, INT32_MAX);
  TRY(memory_arrays("offsets of hyperedges", ROOM(&expansion->start, rows + 1)));
  int64_t from = larger(first, vertices);
  if (last <= from) return memory_arrays("vertices of hyperedges", ROOM(&expansion->col, 0));
  return read_hyperedges(dataset, from - vertices, last - from, expansion);
}

int star_expansion_read_block(struct comm *comm, struct dataset *dataset, struct graph *block) {
  int64_t hyperedges = dataset->hyperedges, first = graph_block(hyperedges, comm->size, comm->rank);
  int64_t rows = graph_block(hyperedges, comm->size, comm->rank + 1) - first;
  TRY(comm_agree(comm, star_expansion_read(dataset, dataset->nodes + first, rows, block)));
  int64_t incidences = block->edges;
  TRY(comm_sum_int64(comm, &incidences));
  dataset_set_entries(dataset, HYPER_ROWS, incidences);
  return OK;
}

int star_expansion_hash(struct comm *comm, const struct dataset *dataset, const struct graph *block,
                        uint64_t *hash) {
  *hash = graph_hash(block);
  TRY(comm_reduce(comm, hash, 1, NUMBER_UINT64, REDUCE_SUM));
  *hash += edge_hash(dataset->nodes, dataset->hyperedges, 1);
  return OK;
}

/* What decides where a hyperedge goes: its vertices in each part, 0 between hyperedges; and the incidences
 * that a part has already. */
struct votes {
  int64_t *count, *load; /* [parts] */
};

/* The part with most of a hyperedge's vertices, of equals the one with the fewest incidences. */
static int32_t elect(const struct graph *graph, int64_t node, int parts, const int32_t *part,
                     struct votes *votes) {
  int64_t first = graph->start[node], last = graph->start[node + 1];
  int32_t best = (int32_t)(node % parts);
  for (int64_t e = first; e < last; e++) votes->count[part[graph->col[e]]]++;
  for (int64_t e = first; e < last; e++) {
    int32_t p = part[graph->col[e]];
    int64_t more = votes->count[p] - votes->count[best];
    if (more > 0 || (more == 0 && votes->load[p] < votes->load[best])) best = p;
  }
  for (int64_t e = first; e < last; e++) votes->count[part[graph->col[e]]] = 0;
  votes->load[best] += last - first;
  return best;
}

int star_expansion_elect(const struct graph *graph, int64_t vertices, int parts, int32_t *part) {
  FREED int64_t *count = NULL, *load = NULL;
  TRY(memory_arrays("counts a part", ROOM(&count, parts), ROOM(&load, parts)));
  struct votes votes = {count, load};
  for (int64_t v = vertices; v < graph->nodes; v++) part[v] = elect(graph, v, parts, part, &votes);
  return OK;
}

int star_expansion_vertices_first(int64_t vertices, struct partition *expansion) {
  FREED int64_t *edges = NULL;
  TRY(memory_arrays("order of hyperedges", ROOM(&edges, expansion->nodes)));
  for (int p = 0; p < expansion->parts; p++) {
    int64_t at = expansion->offset[p], count = 0;
    for (int64_t i = expansion->offset[p]; i < expansion->offset[p + 1]; i++) {
      int64_t v = expansion->order[i];
      if (v < vertices)
        expansion->order[at++] = v;
      else
        edges[count++] = v;
    }
    memcpy(expansion->order + at, edges, (size_t)count * sizeof *edges);
  }
  return OK;
}

/* Whether vertices come first in each part that this rank lists. */
static int is_own(const struct comm *comm, const struct partition *expansion, int64_t vertices) {
  const int64_t origin = partition_place(comm, expansion, comm->rank);
  const int behind = partition_part(comm, expansion, comm->rank + 1);
  for (int p = partition_part(comm, expansion, comm->rank); p < behind; p++) {
    const int64_t *order = expansion->order + expansion->offset[p] - origin;
    for (int64_t i = 1; i < expansion->offset[p + 1] - expansion->offset[p]; i++)
      if (order[i] < vertices && order[i - 1] >= vertices) return 0;
  }
  return 1;
}

int star_expansion_is(struct comm *comm, const struct partition *expansion, int64_t vertices, int *is) {
  int64_t otherwise = !is_own(comm, expansion, vertices);
  TRY(comm_max_int64(comm, &otherwise));
  *is = !otherwise;
  return OK;
}

int star_expansion_count(struct comm *comm, int64_t vertices, struct partition *expansion) {
  const int64_t first = graph_block(expansion->nodes, comm->size, comm->rank),
                behind = graph_block(expansion->nodes, comm->size, comm->rank + 1);
  memset(expansion->vertices, 0, (size_t)expansion->parts * sizeof *expansion->vertices);
  for (int64_t v = first; v < smaller(behind, vertices); v++)
    expansion->vertices[expansion->part[v - first]]++;
  return comm_reduce(comm, expansion->vertices, expansion->parts, NUMBER_INT64, REDUCE_SUM);
}

struct star_expansion_balance star_expansion_balance(const struct partition *expansion, int64_t vertices) {
  int64_t most = 0;
  for (int p = 0; p < expansion->parts; p++) most = larger(most, expansion->vertices[p]);
  return (struct star_expansion_balance){(double)most * expansion->parts / (double)vertices,
                                         partition_edge_balance(expansion)};
}

static double percent(int64_t part, int64_t whole) {
  return whole ? 100.0 * (double)part / (double)whole : 0.0;
}

void star_expansion_text(const struct partition *expansion, const struct config *config, int64_t vertices,
                         int64_t incidences, char *text, size_t size) {
  const char *order = node_order_name[expansion->chosen];
  const struct star_expansion_balance balance = star_expansion_balance(expansion, vertices);
  char how[64];
  partition_how(expansion, how, sizeof how);
  if (expansion->parts == 1)
    snprintf(text, size, "whole hypergraph, order %s%s", order, how);
  else
    snprintf(text, size, "%s, %d parts, order %s%s: %.1f%% of the incidences between parts, balance %.3f",
             partition_method_name[config->partition.method], expansion->parts, order, how,
             percent(expansion->edge_cut, incidences), balance.incidences);
}

void star_expansion_print(const struct partition *expansion, const struct config *config, int64_t vertices,
                          int64_t incidences) {
  const char *method = expansion->parts > 1 ? partition_method_name[config->partition.method]
                                            : "whole hypergraph";
  struct star_expansion_balance balance = star_expansion_balance(expansion, vertices);
  char origin[sizeof expansion->path + 64];
  partition_origin(expansion, origin, sizeof origin);
  log_detail("partition: %s, %d %s, order %s%s", method, expansion->parts,
             expansion->parts == 1 ? "part" : "parts", node_order_name[expansion->chosen], origin);
  if (expansion->parts == 1) return;
  log_detail("incidences between parts: %lld of %lld (%.1f%%)", (long long)expansion->edge_cut,
             (long long)incidences, percent(expansion->edge_cut, incidences));
  log_detail("%6s %12s %12s %14s %16s", "rank", "vertices", "hyperedges", "incidences", "foreign vertices");
  for (int p = 0; p < expansion->parts; p++) {
    int64_t own = expansion->vertices[p];
    log_detail("%6d %12lld %12lld %14lld %16lld", p, (long long)own,
               (long long)(expansion->offset[p + 1] - expansion->offset[p] - own),
               (long long)expansion->nnz[p], (long long)expansion->halo[p]);
  }
  log_detail("balance (largest / mean): vertices %.3f, incidences %.3f", balance.vertices,
             balance.incidences);
}
