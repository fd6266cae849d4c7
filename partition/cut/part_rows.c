#include "partition/cut/part_rows.h"

#include "partition/shard/arrival.h"
#include "runtime/base/base.h"

void part_rows_free(struct part_rows *rows) {
  directory_free(&rows->directory);
  halo_free(&rows->halo);
  if (!rows->borrowed) {
    graph_free(&rows->graph);
    partition_free(&rows->own);
  }
  *rows = (struct part_rows){0};
}

/* One that has them all. */
static int is_whole(const struct comm *comm, const struct graph *held) {
  return comm->size == 1 && held->rows == held->nodes;
}

/* Columns of rows that have come become local. */
static int number_columns(struct arrival *a, struct graph *local) {
  const int64_t own = a->own;
  if (!a->whole) {
    local->start = a->start;
    local->col = a->col;
    a->start = NULL;
    a->col = NULL;
  } else {
    TRY(memory_arrays("rows of parts", ROOM(&local->start, own + 1), ROOM(&local->col, a->block->edges)));
    for (int64_t v = 0; v < own; v++) local->start[v + 1] = local->start[v] + arrival_find(a, v).count;
#pragma omp parallel for schedule(dynamic, 256)
    for (int64_t v = 0; v < own; v++) {
      const struct arrival_row row = arrival_find(a, v);
      memcpy(local->col + local->start[v], row.col, (size_t)row.count * sizeof *row.col);
    }
  }
  local->edges = local->start[own];
#pragma omp parallel for schedule(dynamic, 256)
  for (int64_t v = 0; v < own; v++) {
    int32_t *col = local->col + local->start[v];
    id_map_list(&a->local, col, local->start[v + 1] - local->start[v], col);
  }
  return OK;
}

static int bring(struct comm *comm, const struct graph *held, const struct directory *directory,
                 struct halo *halo, struct graph *local) {
  struct graph block = *held; /* nobody asks for weights */
  ENDED_BY(arrival_free)
  struct arrival arrival = {
      .directory = directory, .block = &block, .keeps_block = 1, .own = directory->rows};
  block.weight = NULL;
  TRY(arrival_receive(comm, &arrival, halo));
  *local = (struct graph){.nodes = directory->rows + halo->rows, .rows = directory->rows, .path = held->path};
  return comm_agree(comm, number_columns(&arrival, local));
}

int part_rows_bring(struct comm *comm, const struct graph *held, const struct part_rows *rows,
                    struct graph *local) {
  ENDED_BY(halo_free) struct halo halo = {0};
  return bring(comm, held, &rows->directory, &halo, local);
}

int part_rows_gather(struct comm *comm, const struct graph *held, struct part_rows *rows) {
  const int64_t nodes = held->nodes, own = comm->rank == 0 ? nodes : 0;
  FREED int64_t *offset = NULL, *id = NULL;
  *rows = (struct part_rows){.graph = *held, .borrowed = 1};
  if (is_whole(comm, held)) return OK;
  *rows = (struct part_rows){0};
  TRY(comm_agree(comm, memory_arrays("ranks", ROOM(&offset, comm->size + 1), ROOM(&id, own))));
  for (int r = 1; r <= comm->size; r++) offset[r] = nodes;
  for (int64_t v = 0; v < own; v++) id[v] = v;
  TRY(directory_init_ids(comm, offset, id, &rows->directory));
  return bring(comm, held, &rows->directory, &rows->halo, &rows->graph);
}

/* A node on its way to the rank that orders it. */
struct owned {
  int32_t id, part;
};

struct dealing {
  struct owned *out, *in; /* by ranks; ids ascend */
  int32_t *rank_of;       /* [parts] */
  int64_t *next, *out_bytes, *in_bytes, *offset, *id;
};

static void dealing_free(struct dealing *d) {
  free_all(d->out, d->in, d->rank_of, d->next, d->out_bytes, d->in_bytes, d->offset, d->id);
}

/* Nodes of this rank's block by the ranks that have their parts. */
static int sort_nodes(const struct comm *comm, const struct partition *partition, struct dealing *d) {
  const int64_t first = graph_block(partition->nodes, comm->size, comm->rank),
                count = graph_block(partition->nodes, comm->size, comm->rank + 1) - first;
  TRY(memory_arrays("ranks of parts", ROOM(&d->out, count), ROOM(&d->rank_of, partition->parts),
                    ROOM(&d->next, comm->size + 1), ROOM(&d->out_bytes, comm->size),
                    ROOM(&d->in_bytes, comm->size), ROOM(&d->offset, comm->size + 1)));
  for (int r = 0; r < comm->size; r++) {
    d->offset[r + 1] = partition_place(comm, partition, r + 1);
    for (int p = partition_part(comm, partition, r); p < partition_part(comm, partition, r + 1); p++)
      d->rank_of[p] = r;
  }
  for (int64_t i = 0; i < count; i++) d->next[d->rank_of[partition->part[i]] + 1]++;
  for (int r = 0; r < comm->size; r++) {
    d->out_bytes[r] = d->next[r + 1] * (int64_t)sizeof *d->out;
    d->next[r + 1] += d->next[r];
  }
  for (int64_t i = 0; i < count; i++)
    d->out[d->next[d->rank_of[partition->part[i]]]++] = (struct owned){(int32_t)(first + i),
                                                                       partition->part[i]};
  return OK;
}

static int take_nodes(const struct comm *comm, struct dealing *d, struct part_rows *rows, int parts) {
  const int64_t own = d->offset[comm->rank + 1] - d->offset[comm->rank];
  TRY(partition_init(&rows->own, parts, own));
  TRY(memory_arrays("ids of nodes", ROOM(&d->id, own)));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < own; i++) {
    d->id[i] = d->in[i].id;
    rows->own.part[i] = d->in[i].part - rows->first;
  }
  partition_count(&rows->own);
  return OK;
}

static int deal(struct comm *comm, const struct partition *partition, struct part_rows *rows) {
  ENDED_BY(dealing_free) struct dealing d = {0};
  const int parts = partition_part(comm, partition, comm->rank + 1) - rows->first;
  TRY(comm_agree(comm, sort_nodes(comm, partition, &d)));
  TRY(comm_all_to_all(comm, d.out, d.out_bytes, (void **)&d.in, d.in_bytes));
  TRY(comm_agree(comm, take_nodes(comm, &d, rows, parts)));
  return directory_init_ids(comm, d.offset, d.id, &rows->directory);
}

int part_rows_init(struct comm *comm, const struct graph *held, struct partition *partition,
                   struct part_rows *rows) {
  const int64_t listed = partition_place(comm, partition, comm->rank + 1) -
                         partition_place(comm, partition, comm->rank);
  TRY(comm_agree(comm, memory_arrays("order of nodes", ROOM(&partition->order, listed))));
  *rows = (struct part_rows){.graph = *held, .own = *partition, .borrowed = 1};
  if (is_whole(comm, held)) return OK;
  *rows = (struct part_rows){.first = partition_part(comm, partition, comm->rank)};
  TRY(deal(comm, partition, rows));
  return bring(comm, held, &rows->directory, &rows->halo, &rows->graph);
}

int64_t part_rows_below(const struct part_rows *rows, int64_t node) {
  int64_t low = 0, behind = rows->own.nodes;
  if (!rows->directory.id) return node;
  while (low < behind) {
    const int64_t middle = low + (behind - low) / 2;
    if (rows->directory.id[middle] < node)
      low = middle + 1;
    else
      behind = middle;
  }
  return low;
}

/* What was counted of all ranks' parts: halo and nnz of each, and the arcs cut. */
static int share_counts(struct comm *comm, const struct part_rows *rows, struct partition *partition) {
  const struct partition *own = &rows->own;
  const int64_t parts = partition->parts;
  memcpy(partition->halo + rows->first, own->halo, (size_t)own->parts * sizeof *own->halo);
  memcpy(partition->nnz + rows->first, own->nnz, (size_t)own->parts * sizeof *own->nnz);
  TRY(comm_reduce(comm, partition->halo, parts, NUMBER_INT64, REDUCE_SUM));
  TRY(comm_reduce(comm, partition->nnz, parts, NUMBER_INT64, REDUCE_SUM));
  return comm_sum_int64(comm, &partition->edge_cut);
}

int part_rows_return(struct comm *comm, const struct part_rows *rows, struct partition *partition) {
  const struct partition *own = &rows->own;
  partition->chosen = own->chosen;
  partition->tried = own->tried;
  partition->density = own->density;
  partition->edge_cut = own->edge_cut;
  if (rows->borrowed) return OK;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < own->nodes; i++) partition->order[i] = rows->directory.id[own->order[i]];
  return share_counts(comm, rows, partition);
}
