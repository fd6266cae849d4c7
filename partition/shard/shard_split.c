/* The split of own rows, and rows on their way back into the dataset's order. */
#include "partition/graph/id_map.h"
#include "partition/shard/shard.h"
#include "runtime/base/base.h"
#include "runtime/comm/row_shuffle.h"

/* A part of a split as it is read. */
struct reading {
  struct dataset *dataset;
  int64_t split;
  struct id_map local; /* rows of own nodes */
  uint8_t *part;       /* [own] 1 + the part that the row is in, or 0 */
};

static void reading_free(struct reading *r) {
  id_map_free(&r->local);
  free(r->part);
}

/* An own node that cannot be learnt from, or is in another part. */
static int refuse(const struct reading *r, const struct shard *shard, enum split part, int64_t node) {
  char name[DATASET_SPLIT_NAME];
  int32_t row = id_map_at(&r->local, node);
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
    const int32_t row = id_map_at(&r->local, node[i]);
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

static int read_parts(struct dataset *dataset, const struct directory *directory, int64_t split,
                      struct shard *shard) {
  ENDED_BY(reading_free) struct reading r = {.dataset = dataset, .split = split};
  TRY(dataset_check_splits(dataset));
  TRY(id_map_init(&r.local, directory->nodes, (struct id_list){shard->global_id, shard->own},
                  (struct id_list){0}));
  TRY(memory_arrays("split", ROOM(&r.part, shard->own)));
  for (int part = 0; part < SPLIT_COUNT; part++) {
    free(shard->split[part]);
    shard->split[part] = NULL;
    shard->split_count[part] = 0;
    TRY(read_part(&r, (enum split)part, shard));
  }
  return OK;
}

int shard_read_split(struct comm *comm, struct dataset *dataset, const struct directory *directory,
                     int64_t split, struct shard *shard) {
  return comm_agree(comm, read_parts(dataset, directory, split, shard));
}

/* Rows of own nodes by ascending ids, a piece of all nodes at a time. */
struct gathering {
  int64_t nodes, row_bytes, step;
  const int64_t *id; /* [own] */
  const char *rows;
  struct id_set own;
  int32_t *row;             /* [own] row of each own node, by ascending ids */
  char *mine;               /* [step] records of own nodes: the id, then the row */
  char *all;                /* [step] rank 0: the records of all, by rank */
  char *sorted;             /* [step] rank 0: rows in the dataset's order */
  int64_t *count;           /* [size] records of each rank */
  struct message *messages; /* [size] */
};

static void gathering_free(struct gathering *g) {
  id_set_free(&g->own);
  free_all(g->row, g->mine, g->all, g->sorted, g->count, g->messages);
}

static int64_t record_bytes(const struct gathering *g) {
  return (int64_t)sizeof *g->id + g->row_bytes;
}

static int gathering_init(struct comm *comm, const struct directory *directory, struct gathering *g) {
  const int64_t own = directory_own(directory);
  g->nodes = directory->nodes;
  g->id = directory_own_ids(directory);
  g->step = smaller(larger(row_shuffle_block / 4 / record_bytes(g), 1), g->nodes);
  TRY(id_set_init(&g->own, g->nodes));
  TRY(memory_arrays("rows by ids", ROOM(&g->row, own), ROOM(&g->count, comm->size),
                    ROOM(&g->messages, comm->size)));
  for (int64_t i = 0; i < own; i++) id_set_add(&g->own, g->id[i]);
  id_set_seal(&g->own);
  for (int64_t i = 0; i < own; i++) g->row[id_set_place(&g->own, g->id[i])] = (int32_t)i;
  TRY(memory_alloc(&g->mine, smaller(g->step, own) * record_bytes(g), "a block of rows"));
  if (comm->rank != 0) return OK;
  TRY(memory_alloc(&g->all, g->step * record_bytes(g), "a block of rows"));
  return memory_alloc(&g->sorted, g->step * g->row_bytes, "a block of rows");
}

/* Own rows of the piece; how many. */
static int64_t pack(struct gathering *g, int64_t first, int64_t count) {
  const int64_t begin = id_set_place(&g->own, first), end = id_set_place(&g->own, first + count);
  char *record = g->mine;
  for (int64_t i = begin; i < end; i++, record += record_bytes(g)) {
    memcpy(record, &g->id[g->row[i]], sizeof *g->id);
    memcpy(record + sizeof *g->id, g->rows + g->row[i] * g->row_bytes, (size_t)g->row_bytes);
  }
  return end - begin;
}

static int collect(struct comm *comm, struct gathering *g, int64_t first, int64_t count) {
  const int64_t mine = pack(g, first, count), bytes = record_bytes(g);
  TRY(comm_gather_all(comm, &mine, sizeof mine, g->count));
  if (comm->rank != 0) {
    const struct message send = {0, g->mine, mine * bytes};
    return comm_swap(comm, &send, mine > 0, NULL, 0);
  }
  char *at = g->all + mine * bytes;
  int recvs = 0;
  memcpy(g->all, g->mine, (size_t)(mine * bytes));
  for (int r = 1; r < comm->size; at += g->count[r++] * bytes)
    if (g->count[r]) g->messages[recvs++] = (struct message){r, at, g->count[r] * bytes};
  TRY(comm_swap(comm, NULL, 0, g->messages, recvs));
  for (const char *record = g->all; record < at; record += bytes) {
    int64_t id;
    memcpy(&id, record, sizeof id);
    memcpy(g->sorted + (id - first) * g->row_bytes, record + sizeof id, (size_t)g->row_bytes);
  }
  return OK;
}

int shard_gather_rows(struct comm *comm, const struct directory *directory, const void *rows,
                      int64_t row_bytes,
                      int (*sink)(int64_t first, int64_t count, const void *rows, void *context),
                      void *context) {
  ENDED_BY(gathering_free) struct gathering gathering = {.rows = rows, .row_bytes = row_bytes};
  TRY(comm_agree(comm, gathering_init(comm, directory, &gathering)));
  int64_t nodes = directory->nodes, step = gathering.step;
  for (int64_t first = 0; first < nodes; first += step) {
    int64_t count = smaller(step, nodes - first);
    TRY(collect(comm, &gathering, first, count));
    TRY(comm_agree(comm, comm->rank == 0 ? sink(first, count, gathering.sorted, context) : OK));
  }
  return OK;
}
