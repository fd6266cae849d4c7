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

/* The first part of rank r; that of rank size is behind the last. */
static int part_of(const struct comm *comm, int parts, int r) {
  return (int)graph_block(parts, comm->size, r);
}

/* The rank that has each part. rank_of[parts] */
static void list_ranks(const struct comm *comm, int parts, int32_t *rank_of) {
  for (int r = 0; r < comm->size; r++)
    for (int p = part_of(comm, parts, r); p < part_of(comm, parts, r + 1); p++) rank_of[p] = r;
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
  FREED int64_t *offset = NULL;
  *rows = (struct part_rows){.graph = *held, .borrowed = 1};
  if (is_whole(comm, held)) return OK;
  *rows = (struct part_rows){0};
  TRY(comm_agree(comm, memory_arrays("ranks", ROOM(&offset, comm->size + 1))));
  for (int r = 1; r <= comm->size; r++) offset[r] = held->nodes;
  const struct partition first = {
      .parts = comm->size, .grid = {comm->size, 1}, .nodes = held->nodes, .offset = offset};
  TRY(directory_init(comm, &first, &rows->directory));
  return bring(comm, held, &rows->directory, &rows->halo, &rows->graph);
}

/* Nodes by the ranks that are to order them, and by ids; and the directory of that. ranks: as many parts as
 * ranks. */
static int deal_nodes(struct comm *comm, const struct partition *partition, int parts,
                      struct partition *ranks, struct directory *directory) {
  FREED int64_t *next = NULL;
  FREED int32_t *rank_of = NULL;
  TRY(comm_agree(comm, memory_arrays("ranks of parts", ROOM(&next, comm->size), ROOM(&rank_of, parts))));
  for (int r = 0; r < comm->size; r++) next[r] = ranks->offset[r];
  list_ranks(comm, parts, rank_of);
  for (int64_t v = 0; comm->rank == 0 && v < ranks->nodes; v++)
    ranks->order[next[rank_of[partition->part[v]]]++] = v;
  return directory_init(comm, ranks, directory);
}

/* Parts of own nodes, from rank 0, as the directory has the nodes. */
static int deal_parts(struct comm *comm, const struct partition *partition, const struct partition *ranks,
                      int32_t *own) {
  FREED int32_t *part = NULL;
  FREED struct message *send = NULL;
  const int64_t bytes = sizeof *own, nodes = comm->rank ? 0 : ranks->nodes;
  const struct message recv = {0, own, (ranks->offset[comm->rank + 1] - ranks->offset[comm->rank]) * bytes};
  TRY(comm_agree(comm, memory_arrays("parts of nodes", ROOM(&part, nodes), ROOM(&send, comm->size))));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < nodes; i++) part[i] = partition->part[ranks->order[i]];
  for (int r = 0; comm->rank == 0 && r < comm->size; r++)
    send[r] = (struct message){r, part + ranks->offset[r], (ranks->offset[r + 1] - ranks->offset[r]) * bytes};
  return comm_swap(comm, send, comm->rank ? 0 : comm->size, &recv, 1);
}

static int deal(struct comm *comm, const struct partition *partition, int parts, struct partition *ranks,
                struct part_rows *rows) {
  rows->first = part_of(comm, parts, comm->rank);
  const int count = part_of(comm, parts, comm->rank + 1) - rows->first;
  TRY(deal_nodes(comm, partition, parts, ranks, &rows->directory));
  TRY(comm_agree(comm, partition_init(&rows->own, count, rows->directory.rows)));
  TRY(deal_parts(comm, partition, ranks, rows->own.part));
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < rows->own.nodes; v++) rows->own.part[v] -= rows->first;
  partition_count(&rows->own);
  return OK;
}

/* offset[ranks + 1]: where the nodes of each rank begin, as those of its first part do. */
static int find_offsets(struct comm *comm, const struct partition *partition, int parts, int64_t *offset) {
  for (int r = 0; comm->rank == 0 && r <= comm->size; r++)
    offset[r] = partition->offset[part_of(comm, parts, r)];
  return comm_broadcast(comm, offset, (comm->size + 1) * (int64_t)sizeof *offset, 0);
}

int part_rows_init(struct comm *comm, const struct graph *held, struct partition *partition, int parts,
                   struct part_rows *rows) {
  FREED int64_t *offset = NULL;
  *rows = (struct part_rows){.graph = *held, .own = *partition, .borrowed = 1};
  if (is_whole(comm, held)) return OK;
  *rows = (struct part_rows){0};
  TRY(comm_agree(comm, memory_arrays("ranks", ROOM(&offset, comm->size + 1))));
  TRY(find_offsets(comm, partition, parts, offset));
  struct partition ranks = {.parts = comm->size,
                            .grid = {comm->size, 1},
                            .nodes = held->nodes,
                            .order = partition->order,
                            .offset = offset};
  TRY(deal(comm, partition, parts, &ranks, rows));
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

/* The order of each rank's parts, by global ids. */
static int return_order(struct comm *comm, const struct part_rows *rows, struct partition *partition) {
  const struct directory *directory = &rows->directory;
  FREED int64_t *id = NULL;
  FREED struct message *recv = NULL;
  const int64_t bytes = sizeof *id;
  TRY(comm_agree(comm, memory_arrays("order of nodes", ROOM(&id, rows->own.nodes), ROOM(&recv, comm->size))));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < rows->own.nodes; i++) id[i] = directory->id[rows->own.order[i]];
  for (int r = 0; comm->rank == 0 && r < comm->size; r++)
    recv[r] = (struct message){r, partition->order + directory->offset[r],
                               (directory->offset[r + 1] - directory->offset[r]) * bytes};
  const struct message send = {0, id, rows->own.nodes * bytes};
  return comm_swap(comm, &send, 1, recv, comm->rank ? 0 : comm->size);
}

/* What was counted of all ranks' parts: halo and nnz of each, and the arcs cut. */
static int return_counts(struct comm *comm, const struct part_rows *rows, struct partition *partition) {
  const struct partition *own = &rows->own;
  FREED int64_t *sum = NULL;
  int64_t parts = own->parts;
  TRY(comm_sum_int64(comm, &parts));
  TRY(comm_agree(comm, memory_arrays("counts a part", ROOM(&sum, 2 * parts + 1))));
  memcpy(sum + rows->first, own->halo, (size_t)own->parts * sizeof *sum);
  memcpy(sum + parts + rows->first, own->nnz, (size_t)own->parts * sizeof *sum);
  sum[2 * parts] = own->edge_cut;
  TRY(comm_reduce(comm, sum, 2 * parts + 1, NUMBER_INT64, REDUCE_SUM));
  if (comm->rank > 0) return OK;
  memcpy(partition->halo, sum, (size_t)parts * sizeof *sum);
  memcpy(partition->nnz, sum + parts, (size_t)parts * sizeof *sum);
  partition->edge_cut = sum[2 * parts];
  return OK;
}

int part_rows_return(struct comm *comm, const struct part_rows *rows, struct partition *partition) {
  partition->chosen = rows->own.chosen;
  partition->tried = rows->own.tried;
  partition->density = rows->own.density;
  partition->edge_cut = rows->own.edge_cut;
  if (rows->borrowed) return OK;
  TRY(return_order(comm, rows, partition));
  return return_counts(comm, rows, partition);
}
