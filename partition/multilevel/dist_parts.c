#include "partition/multilevel/dist_parts.h"

#include "runtime/base/base.h"

void dist_parts_free(struct dist_parts *p) {
  free_all(p->load, p->next, p->coming, p->before, p->all);
}

static int64_t loads_of(const struct dist_parts *p) {
  return (int64_t)p->parts * PART_LOADS;
}

/* A mean is never more than what one part of whole nodes can hold. */
static void set_limits(struct dist_parts *p, double balance) {
  for (int l = 0; l < PART_LOADS; l++) {
    int64_t sum = 0;
    for (int part = 0; part < p->parts; part++) sum += dist_parts_load(p, part, l);
    p->limit[l] = larger((int64_t)(balance * (double)sum / p->parts), (sum + p->parts - 1) / p->parts);
  }
}

int dist_parts_init(struct dist_parts *p, const struct dist_graph *graph, int parts, const int64_t *count,
                    const int64_t *nnz, double balance, int32_t *part) {
  const int64_t nodes = graph->rows.nodes;
  *p = (struct dist_parts){.graph = graph, .parts = parts, .count = count, .nnz = nnz, .part = part};
  TRY(memory_arrays("loads of parts", ROOM(&p->load, loads_of(p)), ROOM(&p->next, nodes),
                    ROOM(&p->coming, loads_of(p)), ROOM(&p->before, loads_of(p)),
                    ROOM(&p->all, graph->comm->size * loads_of(p))));
  for (int64_t v = 0; v < nodes; v++)
    for (int l = 0; l < PART_LOADS; l++)
      p->load[(int64_t)part[v] * PART_LOADS + l] += dist_parts_weight(p, l, v);
  TRY(comm_reduce(graph->comm, p->load, loads_of(p), NUMBER_INT64, REDUCE_SUM));
  set_limits(p, balance);
  return dist_graph_fetch(graph, DIST_ALL, part, sizeof *part);
}

int dist_parts_before(struct dist_parts *p) {
  const struct comm *comm = p->graph->comm;
  const int64_t count = loads_of(p);
  TRY(comm_gather_all(p->graph->comm, p->coming, count * (int64_t)sizeof *p->coming, p->all));
  memset(p->before, 0, (size_t)count * sizeof *p->before);
  memset(p->coming, 0, (size_t)count * sizeof *p->coming);
  for (int r = 0; r < comm->rank; r++)
    for (int64_t i = 0; i < count; i++) p->before[i] += p->all[r * count + i];
  return OK;
}

/* Adds what came and went on all ranks, p->coming, to the loads; it is zero again. */
static int update_loads(struct dist_parts *p) {
  TRY(comm_reduce(p->graph->comm, p->coming, loads_of(p), NUMBER_INT64, REDUCE_SUM));
  for (int64_t i = 0; i < loads_of(p); i++) {
    p->load[i] += p->coming[i];
    p->coming[i] = 0;
  }
  return OK;
}

int dist_parts_move(struct dist_parts *p, int share, dist_parts_may *may, int64_t *moved) {
  const int64_t nodes = p->graph->rows.nodes, step = share == DIST_ALL ? 1 : DIST_SHARES,
                first = share == DIST_ALL ? 0 : dist_graph_share(p->graph, share);
  for (int64_t v = first; v < nodes; v += step)
    if (p->next[v] != p->part[v]) dist_parts_add(p, p->coming, p->next[v], v, 1);
  TRY(dist_parts_before(p));
  for (int64_t v = first; v < nodes; v += step) {
    const int32_t from = p->part[v], to = p->next[v];
    if (from == to) continue;
    const int enters = may(p, v, to, p->before);
    dist_parts_add(p, p->before, to, v, 1);
    if (!enters) continue;
    dist_parts_add(p, p->coming, from, v, -1);
    dist_parts_add(p, p->coming, to, v, 1);
    p->part[v] = to;
    ++*moved;
  }
  TRY(update_loads(p));
  return dist_graph_fetch(p->graph, share, p->part, sizeof *p->part);
}
