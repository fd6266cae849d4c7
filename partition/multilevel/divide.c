#include "partition/multilevel/divide.h"

#include "partition/graph/balance.h"
#include "partition/graph/graph.h"
#include "partition/graph/metis.h"
#include "runtime/base/base.h"

/* Arcs that rank 0 gets, about, and a row at least. */
enum { ARCS = 1 << 22, ROW = 64 };

struct heavy {
  float weight;
  int32_t col;
};

/* What this rank sends, and what rank 0 has of all. */
struct gathered {
  int32_t *length, *col; /* [own], [arcs] global ids */
  float *weight;
  int32_t *all_length;
  int64_t *all_count, *all_nnz;
  struct coarse_graph all;
};

static void gathered_free(struct gathered *g) {
  free_all(g->length, g->col, g->weight, g->all_length, g->all_count, g->all_nnz);
  coarse_graph_free(&g->all);
}

/* Whether a goes before b: of equals the lower id. */
static int is_heavier(struct heavy a, struct heavy b) {
  return a.weight > b.weight || (a.weight >= b.weight && a.col < b.col);
}

/* Brings the `most` heaviest to the front, in whatever order (Hoare, Commun. ACM 4, 1961: FIND). */
static void select_heaviest(struct heavy *row, int64_t length, int64_t most) {
  int64_t first = 0, last = length - 1;
  while (first < last) {
    const struct heavy pivot = row[first + (last - first) / 2];
    int64_t i = first, j = last;
    while (i <= j) {
      while (is_heavier(row[i], pivot)) i++;
      while (is_heavier(pivot, row[j])) j--;
      if (i > j) break;
      const struct heavy kept = row[i];
      row[i++] = row[j];
      row[j--] = kept;
    }
    if (most - 1 <= j)
      last = j;
    else if (most >= i + 1)
      first = i;
    else
      return;
  }
}

static void pick_row(const struct coarse_graph *rows, const int32_t *id, int64_t v, int64_t most, int64_t at,
                     struct heavy *row, struct gathered *g) {
  const int64_t first = rows->start[v], length = rows->start[v + 1] - first;
  for (int64_t i = 0; i < length; i++)
    row[i] = (struct heavy){rows->weight[first + i], id[rows->col[first + i]]};
  if (length > most) select_heaviest(row, length, most);
  for (int64_t i = 0; i < g->length[v]; i++) {
    g->col[at + i] = row[i].col;
    g->weight[at + i] = row[i].weight;
  }
}

/* The heaviest arcs of each own row, with global ids; how many. */
static int pick_arcs(const struct coarse_graph *rows, const int32_t *id, int64_t most, struct gathered *g,
                     int64_t *picked) {
  FREED int64_t *at = NULL;
  int code = OK;
  TRY(memory_arrays("the heaviest arcs", ROOM(&at, rows->nodes + 1)));
  for (int64_t v = 0; v < rows->nodes; v++) {
    g->length[v] = (int32_t)smaller(rows->start[v + 1] - rows->start[v], most);
    at[v + 1] = at[v] + g->length[v];
  }
  *picked = at[rows->nodes];
  TRY(memory_arrays("the heaviest arcs", ROOM(&g->col, *picked), ROOM(&g->weight, *picked)));
#pragma omp parallel reduction(max : code)
  {
    struct heavy *row = NULL;
    code = memory_alloc(&row, coarse_graph_longest_row(rows) * (int64_t)sizeof *row, "a row");
#pragma omp for schedule(dynamic, 64)
    for (int64_t v = 0; v < rows->nodes; v++)
      if (code == OK) pick_row(rows, id, v, most, at[v], row, g);
    free(row);
  }
  if (code != OK) FAIL(code, "out of memory: no room for the rows of %lld clusters", (long long)rows->nodes);
  return OK;
}

/* Bytes of all ranks, in their order, at rank 0. */
static int to_first(struct comm *comm, const void *data, int64_t bytes, void **all) {
  FREED int64_t *out = NULL, *in = NULL;
  TRY(memory_arrays("message sizes", ROOM(&out, comm->size), ROOM(&in, comm->size)));
  out[0] = bytes;
  return comm_all_to_all(comm, data, out, all, in);
}

static int64_t most_of_row(int64_t nodes) {
  return larger(ROW, ARCS / larger(nodes, 1));
}

/* METIS took 29 bytes an arc of dense graphs of clusters, both directions of each. */
int64_t divide_bytes(int64_t nodes, int64_t arcs) {
  enum { METIS_ARC = 29 };
  return 2 * smaller(arcs, nodes * most_of_row(nodes)) *
         (METIS_ARC + (int64_t)(sizeof(int32_t) + sizeof(float)));
}

static int gather(const struct divide_input *input, struct gathered *g) {
  const struct dist_graph *graph = input->graph;
  const int64_t own = graph->rows.nodes, most = most_of_row(graph->nodes);
  FREED int32_t *id = NULL;
  int64_t arcs = 0, word = sizeof *id;
  TRY(memory_arrays("a graph of clusters", ROOM(&id, own + graph->ghosts), ROOM(&g->length, own)));
  for (int64_t v = 0; v < own; v++) id[v] = (int32_t)(graph->first + v);
  TRY(dist_graph_fetch(graph, DIST_ALL, id, sizeof *id));
  TRY(pick_arcs(&graph->rows, id, most, g, &arcs));
  TRY(to_first(graph->comm, g->length, own * word, (void **)&g->all_length));
  TRY(to_first(graph->comm, g->col, arcs * word, (void **)&g->all.col));
  TRY(to_first(graph->comm, g->weight, arcs * (int64_t)sizeof *g->weight, (void **)&g->all.weight));
  if (input->count)
    TRY(to_first(graph->comm, input->count, own * (int64_t)sizeof *input->count, (void **)&g->all_count));
  return to_first(graph->comm, input->nnz, own * (int64_t)sizeof *input->nnz, (void **)&g->all_nnz);
}

struct division {
  const struct divide_input *input;
  struct progress *progress;
  struct gathered *gathered;
  int32_t *part; /* [nodes] */
};

static int divide_all(void *context) {
  struct division *d = context;
  const struct divide_input *input = d->input;
  struct gathered *g = d->gathered;
  ENDED_BY(csr_free) struct csr graph = {0};
  g->all.nodes = input->graph->nodes;
  TRY(memory_arrays("a graph of clusters", ROOM(&g->all.start, g->all.nodes + 1)));
  for (int64_t v = 0; v < g->all.nodes; v++) g->all.start[v + 1] = g->all.start[v] + g->all_length[v];
  TRY(coarse_graph_symmetrise(&g->all, &graph));
  TRY(metis_fits(graph.rows, graph.nnz, "a graph of clusters"));
  TRY(metis_partition(d->progress, &graph, g->all_count, g->all_nnz, input->parts, input->seed,
                      input->balance, d->part));
  return balance_parts(&graph, g->all_count, g->all_nnz, input->parts, input->balance, d->part);
}

int divide(struct progress *progress, const struct divide_input *input, int32_t *part) {
  const struct dist_graph *graph = input->graph;
  struct comm *comm = graph->comm;
  ENDED_BY(gathered_free) struct gathered gathered = {0};
  FREED int32_t *all = NULL;
  TRY(memory_arrays("parts of clusters", ROOM(&all, graph->nodes)));
  struct division division = {input, progress, &gathered, all};
  TRY(gather(input, &gathered));
  TRY(comm_agree(comm,
                 comm->rank ? OK : progress_work(progress, "dividing the clusters", divide_all, &division)));
  TRY(comm_broadcast(comm, all, graph->nodes * (int64_t)sizeof *all, 0));
  memcpy(part, all + graph->first, (size_t)graph->rows.nodes * sizeof *part);
  return OK;
}
