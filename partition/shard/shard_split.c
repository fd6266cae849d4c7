/* The split of own rows, and rows on their way back into the dataset's order. */
#include "partition/shard/shard.h"
#include "runtime/base/base.h"
#include "runtime/comm/row_shuffle.h"

/* A part of a split as it is read. */
struct reading {
  struct dataset *dataset;
  int64_t split;
  const int32_t *local; /* [nodes] local row of own nodes, else -1 */
  uint8_t *part;        /* [own] 1 + the part that the row is in, or 0 */
};

/* An own node that cannot be learnt from, or is in another part. */
static int refuse(const struct reading *r, const struct shard *shard, enum split part, int64_t node) {
  char name[DATASET_SPLIT_NAME];
  int32_t row = r->local[node];
  dataset_split_name(r->dataset, r->split, part, name);
  if (shard->graphs.all > 0 && !shard_graphs_begin(&shard->graphs, row))
    FAIL(BAD_INPUT, "%s: %s: node %lld is not the first one of its graph, which stands for it in a split",
         r->dataset->h5.path, name, (long long)node);
  if (shard->label && shard->label[row] < 0)
    FAIL(BAD_INPUT, "%s: %s: node %lld has no label (-1); nodes with a label are allowed in a split",
         r->dataset->h5.path, name, (long long)node);
  FAIL(BAD_INPUT, "%s: %s: node %lld is in %s of the same split, too; one part is allowed",
       r->dataset->h5.path, name, (long long)node, split_name[r->part[row] - 1]);
}

/* Whether a row may stand in a split at all. */
static int is_allowed(const struct shard *shard, int32_t row) {
  if (shard->graphs.all > 0 && !shard_graphs_begin(&shard->graphs, row)) return 0;
  return !shard->label || shard->label[row] >= 0;
}

/* Marks the listed nodes that are own; none is listed twice. */
static int mark_part(const struct reading *r, struct shard *shard, enum split part, const int64_t *node,
                     int64_t count) {
  int64_t wrong = count, selected = 0;
#pragma omp parallel for schedule(static) reduction(min : wrong) reduction(+ : selected)
  for (int64_t i = 0; i < count; i++) {
    const int32_t row = r->local[node[i]];
    if (row < 0) continue;
    selected++;
    if (r->part[row] || !is_allowed(shard, row))
      wrong = smaller(wrong, i);
    else
      r->part[row] = (uint8_t)(1 + part);
  }
  shard->split_count[part] = selected;
  return wrong < count ? refuse(r, shard, part, node[wrong]) : OK;
}

/* Local rows of the listed nodes that are own, ascending. */
static int read_part(const struct reading *r, enum split part, struct shard *shard) {
  FREED int64_t *node = NULL;
  TRY(dataset_read_split(r->dataset, r->split, part, &node, &shard->split_global[part]));
  TRY(mark_part(r, shard, part, node, shard->split_global[part]));
  TRY(memory_arrays("split",
                    ROOM(&shard->split[part], shard->split_count[part] + 1))); /* one is overwritten */
  int64_t at = 0;
  for (int64_t v = 0; v < shard->own; v++) {
    shard->split[part][at] = (int32_t)v;
    at += r->part[v] == 1 + part;
  }
  return OK;
}

static int read_parts(int rank, struct dataset *dataset, const struct partition *partition, int64_t split,
                      struct shard *shard) {
  FREED int32_t *local = NULL;
  FREED uint8_t *mark = NULL;
  TRY(dataset_check_splits(dataset));
  TRY(partition_local_ids(partition, rank, &local));
  TRY(memory_arrays("split", ROOM(&mark, shard->own)));
  struct reading r = {.dataset = dataset, .split = split, .local = local, .part = mark};
  for (int part = 0; part < SPLIT_COUNT; part++) {
    free(shard->split[part]);
    shard->split[part] = NULL;
    shard->split_count[part] = 0;
    TRY(read_part(&r, (enum split)part, shard));
  }
  return OK;
}

int shard_read_split(struct comm *comm, struct dataset *dataset, const struct partition *partition,
                     int64_t split, struct shard *shard) {
  return comm_agree(comm, read_parts(comm->rank, dataset, partition, split, shard));
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
  free_all(g->local, g->mine, g->all, g->sorted, g->offset, g->messages);
}

static int gathering_init(struct comm *comm, struct gathering *g) {
  g->step = smaller(larger(row_shuffle_block / 4 / g->row_bytes, 1), g->partition->nodes);
  int64_t bytes = g->step * g->row_bytes;
  TRY(partition_local_ids(g->partition, comm->rank, &g->local));
  TRY(memory_alloc(&g->mine, bytes, "a block of rows"));
  TRY(memory_arrays("row offsets", ROOM(&g->offset, comm->size + 1)));
  TRY(memory_arrays("messages", ROOM(&g->messages, comm->size)));
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

int shard_gather_rows(struct comm *comm, const struct partition *partition, const void *rows,
                      int64_t row_bytes,
                      int (*sink)(int64_t first, int64_t count, const void *rows, void *context),
                      void *context) {
  ENDED_BY(gathering_free)
  struct gathering gathering = {.partition = partition, .rows = rows, .row_bytes = row_bytes};
  TRY(comm_agree(comm, gathering_init(comm, &gathering)));
  int64_t nodes = partition->nodes, step = gathering.step;
  for (int64_t first = 0; first < nodes; first += step) {
    int64_t count = smaller(step, nodes - first);
    TRY(collect(comm, &gathering, first, count));
    TRY(comm_agree(comm, comm->rank == 0 ? sink(first, count, gathering.sorted, context) : OK));
  }
  return OK;
}
