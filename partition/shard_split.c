/* The split of own rows, and rows on their way back into the dataset's order. */
#include <stdlib.h>
#include <string.h>

#include "partition/rows.h"
#include "partition/shard.h"
#include "runtime/error.h"
#include "runtime/memory.h"

/* Local rows of the listed nodes that are own, ascending. */
static int select_own(const struct shard *shard, const int32_t *local, const int64_t *node, int64_t count,
                      uint8_t *chosen, int32_t **rows, int64_t *rows_count) {
  *rows_count = 0;
  for (int64_t i = 0; i < count; i++) {
    if (local[node[i]] < 0) continue;
    chosen[local[node[i]]] = 1;
    ++*rows_count;
  }
  TRY(memory_alloc(rows, *rows_count * (int64_t)sizeof **rows, "split"));
  int64_t at = 0;
  for (int64_t v = 0; v < shard->own; v++) {
    if (chosen[v]) (*rows)[at++] = (int32_t)v;
    chosen[v] = 0;
  }
  return OK;
}

static int read_part(struct dataset *dataset, int64_t split, enum split part, const int32_t *local,
                     uint8_t *chosen, struct shard *shard) {
  int64_t *node = NULL;
  int code = dataset_read_split(dataset, split, part, &node, &shard->split_global[part]);
  if (code == OK)
    code = select_own(shard, local, node, shard->split_global[part], chosen, &shard->split[part],
                      &shard->split_count[part]);
  free(node);
  return code;
}

static int read_parts(struct dataset *dataset, int64_t split, const int32_t *local, struct shard *shard) {
  uint8_t *chosen = NULL;
  int code = memory_alloc(&chosen, shard->own, "split");
  for (int part = 0; part < SPLIT_COUNT && code == OK; part++) {
    free(shard->split[part]);
    shard->split[part] = NULL;
    code = read_part(dataset, split, (enum split)part, local, chosen, shard);
  }
  free(chosen);
  return code;
}

int shard_read_split(struct comm *comm, struct dataset *dataset, const struct partition *partition,
                     int64_t split, struct shard *shard) {
  int32_t *local = NULL;
  int code = partition_local_ids(partition, comm->rank, &local);
  if (code == OK) code = read_parts(dataset, split, local, shard);
  free(local);
  return comm_agree(comm, code);
}

struct gathering {
  const struct partition *partition;
  const char *rows;
  int64_t row_bytes, step;
  int32_t *local;
  char *mine;               /* [step] rows of a block that are own */
  char *all;                /* [step] rank 0: rows of a block, by rank */
  char *sorted;             /* [step] rank 0: in the dataset's order */
  int64_t *offset;          /* [size + 1] rank 0: of each rank's rows in `all` */
  struct message *messages; /* [size] */
};

static void gathering_free(struct gathering *g) {
  free(g->local);
  free(g->mine);
  free(g->all);
  free(g->sorted);
  free(g->offset);
  free(g->messages);
}

static int gathering_init(struct comm *comm, struct gathering *g) {
  int64_t step = rows_block / 4 / g->row_bytes;
  if (step < 1) step = 1;
  g->step = step < g->partition->nodes ? step : g->partition->nodes;
  int64_t bytes = g->step * g->row_bytes;
  TRY(partition_local_ids(g->partition, comm->rank, &g->local));
  TRY(memory_alloc(&g->mine, bytes, "a block of rows"));
  TRY(memory_alloc(&g->offset, (comm->size + 1) * (int64_t)sizeof *g->offset, "row offsets"));
  TRY(memory_alloc(&g->messages, comm->size * (int64_t)sizeof *g->messages, "messages"));
  if (comm->rank != 0) return OK;
  TRY(memory_alloc(&g->all, bytes, "a block of rows"));
  return memory_alloc(&g->sorted, bytes, "a block of rows");
}

/* Own rows of the block, in the order of their global ids. */
static int64_t pack(struct gathering *g, int64_t first, int64_t count) {
  int64_t packed = 0;
  for (int64_t v = first; v < first + count; v++) {
    if (g->local[v] < 0) continue;
    memcpy(g->mine + packed++ * g->row_bytes, g->rows + g->local[v] * g->row_bytes, (size_t)g->row_bytes);
  }
  return packed;
}

static int collect(struct comm *comm, struct gathering *g, int64_t first, int64_t count) {
  int64_t mine = pack(g, first, count);
  if (comm->rank != 0) {
    struct message send = {0, g->mine, mine * g->row_bytes};
    return comm_swap(comm, &send, mine > 0, NULL, 0);
  }
  const int32_t *part = g->partition->part;
  memset(g->offset, 0, (size_t)(comm->size + 1) * sizeof *g->offset);
  for (int64_t v = first; v < first + count; v++) g->offset[part[v] + 1]++;
  int recvs = 0;
  for (int r = 0; r < comm->size; r++) {
    int64_t rows = g->offset[r + 1];
    g->offset[r + 1] += g->offset[r];
    if (r > 0 && rows)
      g->messages[recvs++] = (struct message){r, g->all + g->offset[r] * g->row_bytes, rows * g->row_bytes};
  }
  memcpy(g->all, g->mine, (size_t)(mine * g->row_bytes));
  TRY(comm_swap(comm, NULL, 0, g->messages, recvs));
  for (int64_t v = first; v < first + count; v++)
    memcpy(g->sorted + (v - first) * g->row_bytes, g->all + g->offset[part[v]]++ * g->row_bytes,
           (size_t)g->row_bytes);
  return OK;
}

static int gather_blocks(struct comm *comm, struct gathering *g,
                         int (*sink)(int64_t first, int64_t count, const void *rows, void *context),
                         void *context) {
  TRY(comm_agree(comm, gathering_init(comm, g)));
  int64_t nodes = g->partition->nodes;
  for (int64_t first = 0; first < nodes; first += g->step) {
    int64_t count = first + g->step < nodes ? g->step : nodes - first;
    TRY(collect(comm, g, first, count));
    TRY(comm_agree(comm, comm->rank == 0 ? sink(first, count, g->sorted, context) : OK));
  }
  return OK;
}

int shard_gather_rows(struct comm *comm, const struct partition *partition, const void *rows,
                      int64_t row_bytes,
                      int (*sink)(int64_t first, int64_t count, const void *rows, void *context),
                      void *context) {
  struct gathering gathering = {.partition = partition, .rows = rows, .row_bytes = row_bytes};
  int code = gather_blocks(comm, &gathering, sink, context);
  gathering_free(&gathering);
  return code;
}
