#include "partition/shard/shard_graphs.h"

#include <assert.h>

#include "runtime/base/base.h"

/* The graph that begins at a node, or row; -1: none does. Behind the last graph begins one more. */
static int64_t graph_at(const int64_t *start, int64_t starts, int64_t node) {
  const int64_t *found = bsearch(&node, start, (size_t)starts, sizeof *start, compare_int64);
  return found ? found - start : -1;
}

static int take_own(struct dataset *dataset, const struct directory *directory, int rank,
                    struct shard_graphs *graphs) {
  const int64_t begin = directory->offset[rank], end = directory->offset[rank + 1];
  FREED int64_t *start = NULL;
  TRY(dataset_read_graphs(dataset, &start));
  const int64_t first = graph_at(start, dataset->graphs + 1, begin),
                behind = graph_at(start, dataset->graphs + 1, end);
  assert(first >= 0 && behind >= 0); /* parts leave graphs whole */
  graphs->all = dataset->graphs;
  graphs->count = behind - first;
  TRY(memory_arrays("the first rows of graphs", ROOM(&graphs->start, graphs->count + 1)));
  for (int64_t g = 0; g <= graphs->count; g++) graphs->start[g] = start[first + g] - begin;
  return OK;
}

static int refuse(const struct dataset *dataset, int64_t from, int64_t to) {
  FAIL(BAD_INPUT, "%s: an arc leads from node %lld to node %lld of another graph; graphs stand apart",
       dataset->h5.path, (long long)from, (long long)to);
}

/* All own arcs stay inside of their graphs, and none comes from another rank's. */
static int check_arcs(const struct dataset *dataset, const struct adjacency *in, int64_t first,
                      const struct shard_graphs *graphs) {
  const struct csr *own = &in->own_part, *away = in->halo_part;
  if (away->nnz > 0)
    return refuse(dataset, in->halo.id[away->col[0]], first + (away->row ? away->row[0] : 0));
  for (int64_t g = 0; g < graphs->count; g++) {
    const int64_t begin = graphs->start[g], end = graphs->start[g + 1];
    for (int64_t v = begin; v < end; v++)
      for (int64_t e = own->start[v]; e < own->start[v + 1]; e++)
        if (own->col[e] < begin || own->col[e] >= end) return refuse(dataset, first + own->col[e], first + v);
  }
  return OK;
}

int shard_graphs_init(struct comm *comm, struct dataset *dataset, const struct directory *directory,
                      const struct adjacency *in, struct shard_graphs *graphs) {
  *graphs = (struct shard_graphs){0};
  if (dataset->graphs == 0) return OK;
  TRY(comm_agree(comm, take_own(dataset, directory, comm->rank, graphs)));
  return comm_agree(comm, check_arcs(dataset, in, directory->offset[comm->rank], graphs));
}

void shard_graphs_free(struct shard_graphs *graphs) {
  free(graphs->start);
  *graphs = (struct shard_graphs){0};
}

int64_t shard_graphs_bytes(const struct shard_graphs *graphs) {
  return graphs->all > 0 ? (graphs->count + 1) * (int64_t)sizeof *graphs->start : 0;
}

int shard_graphs_begin(const struct shard_graphs *graphs, int64_t row) {
  return graph_at(graphs->start, graphs->count, row) >= 0;
}
