/* How a partition comes about: owners, order, and the file that keeps both. */
#include <stdlib.h>
#include <string.h>

#include "partition/cut/balance.h"
#include "partition/cut/partition_cache.h"
#include "partition/cut/partition_steps.h"
#include "partition/graph/metis.h"
#include "partition/order/order_auto.h"
#include "partition/order/order_rate.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/memory.h"
#include "runtime/profile/profile.h"

static int partition_is_trivial(const struct partition_key *key) {
  return key->parts == 1 && key->config->partition.order == ORDER_GIVEN;
}

/* What rank 0 holds while it makes a partition. */
struct making {
  const struct partition_key *key;
  struct stakes stakes;
  struct progress progress;
  const struct graph *graph; /* all rows */
  struct graph read;         /* them, where nobody had them */
  struct csr rows;           /* the graph seen as a matrix: borrows from it */
  struct csr pattern;        /* symmetric, without loops; empty unless it is wanted */
  int64_t *nnz;              /* [nodes] non-zeros of each row, when METIS assigns */
};

static void making_free(struct making *making) {
  graph_free(&making->read);
  csr_free(&making->pattern);
  free(making->nnz);
}

struct reading {
  struct dataset *dataset;
  struct graph *graph;
};

static int read_rows(void *context) {
  struct reading *reading = context;
  return graph_read(reading->dataset, 0, reading->dataset->nodes, reading->graph);
}

static int making_init(struct dataset *dataset, const struct graph *block, struct making *making) {
  making->graph = block;
  if (!block || block->rows < dataset->nodes) {
    struct reading reading = {dataset, &making->read};
    TRY(progress_work(&making->progress, "reading the graph", read_rows, &reading));
    making->graph = &making->read;
  }
  const struct graph *graph = making->graph;
  making->rows = (struct csr){.rows = graph->rows,
                              .cols = graph->nodes,
                              .nnz = graph->edges,
                              .start = graph->start,
                              .col = graph->col};
  return OK;
}

/* The pattern, for METIS or for an order of a directed graph. */
static int want_pattern(struct making *making, int directed, int metis) {
  if (!making->pattern.start) TRY(graph_pattern(making->graph, directed, &making->pattern));
  return metis ? metis_fits(making->pattern.rows, making->pattern.nnz, making->graph->path) : OK;
}

static int assign_metis(const struct config *config, int directed, struct making *making,
                        struct partition *partition) {
  const struct graph *graph = making->graph;
  double balance = config->partition.balance;
  TRY(want_pattern(making, directed, 1));
  TRY(memory_alloc(&making->nnz, graph->nodes * (int64_t)sizeof *making->nnz, "row lengths"));
  for (int64_t v = 0; v < graph->nodes; v++) making->nnz[v] = graph->start[v + 1] - graph->start[v];
  TRY(metis_partition(&making->progress, &making->pattern, NULL, making->nnz, partition->parts,
                      config->partition.seed, balance, partition->part));
  return balance_parts(&making->pattern, NULL, making->nnz, partition->parts, balance, partition->part);
}

static int assign(const struct config *config, int directed, struct making *making,
                  struct partition *partition) {
  if (partition->parts == 1 || config->partition.method == PARTITION_BLOCK)
    partition_assign_blocks(partition);
  else if (config->partition.method == PARTITION_RANDOM)
    partition_assign_random(partition, config->partition.seed);
  else if (!partition_cache_read_owners(making->key, partition))
    TRY(assign_metis(config, directed, making, partition));
  partition_count(partition);
  return OK;
}

static int rate(const struct making *making, struct partition *partition) {
  struct order_view view = {partition->parts, partition->nodes, partition->order, partition->offset};
  return order_rate(making->graph, view, order_rate_step(partition->nodes, RATE_WINDOWS),
                    &partition->density);
}

static int order(const struct config *config, int directed, struct making *making,
                 struct partition *partition) {
  enum node_order wanted = config->partition.order;
  if (wanted == ORDER_METIS || (directed && order_needs_pattern(wanted)))
    TRY(want_pattern(making, directed, wanted == ORDER_METIS));
  struct order_input input = {&making->progress, making->graph,
                              making->pattern.start ? &making->pattern : &making->rows,
                              config->partition.seed, config->partition.loa_window};
  double began = profile_clock();
  partition->chosen = wanted;
  if (wanted == ORDER_AUTO)
    TRY(order_auto(&input, &making->stakes, partition));
  else
    TRY(order_nodes(&input, wanted, partition));
  partition->order_seconds = profile_clock() - began;
  return wanted == ORDER_AUTO ? OK : rate(making, partition);
}

static int make_steps(const struct config *config, int directed, struct making *making,
                      struct partition *partition) {
  TRY(assign(config, directed, making, partition));
  TRY(PROFILE_HOST("order", order(config, directed, making, partition)));
  TRY(partition_measure(partition, making->graph));
  partition->seconds = profile_clock() - making->progress.began;
  partition->memory = memory_peak();
  double reached = partition_node_balance(partition), edges = partition_edge_balance(partition);
  if (edges > reached) reached = edges;
  if (config->partition.method == PARTITION_METIS && reached > config->partition.balance + 5e-4)
    log_info("partition: a balance of %.3f was reached instead of %g", reached, config->partition.balance);
  return OK;
}

static int make(const struct partition_key *key, struct making *making, struct dataset *dataset,
                const struct graph *block, struct partition *partition) {
  TRY(partition_init(partition, key->parts, dataset->nodes));
  if (partition_is_trivial(key)) { /* nothing to decide: the graph stays unread */
    partition_count(partition);
    for (int64_t v = 0; v < dataset->nodes; v++) partition->order[v] = v;
    partition->nnz[0] = dataset->edges;
    return OK;
  }
  int code = making_init(dataset, block, making);
  if (code == OK) code = make_steps(key->config, dataset->directed, making, partition);
  making_free(making);
  return code;
}

/* All that rank 0 does while the others wait: on large graphs, and for many parts, minutes. */
struct turn {
  const struct partition_key *key;
  struct making making;
  struct dataset *dataset;
  const struct graph *block;
  struct partition *partition;
};

static int read_or_make(void *context) {
  struct turn *turn = context;
  const struct partition_key *key = turn->key;
  struct partition *partition = turn->partition;
  int trivial = partition_is_trivial(key), automatic = key->config->partition.order == ORDER_AUTO;
  if (!trivial && partition_cache_read(key, partition)) {
    if (!automatic || order_auto_stands(&turn->making.stakes, partition)) return OK;
    log_info("partition: %s is not used: this run is long enough for another order", partition->path);
    partition_free(partition);
  }
  TRY(make(key, &turn->making, turn->dataset, turn->block, partition));
  if (!trivial) partition_cache_write(key, partition);
  return OK;
}

static int take_turn(struct comm *comm, const struct partition_key *key, struct dataset *dataset,
                     const struct graph *block, struct partition *partition) {
  struct turn turn = {key, {.key = key}, dataset, block, partition};
  turn.making.stakes = stakes_of(comm, key->config, dataset, key->parts);
  turn.making.progress = progress_of(comm);
  return progress_work(&turn.making.progress, "making the partition", read_or_make, &turn);
}

/* What the other ranks need to lay out the arrays. */
struct summary {
  int64_t edge_cut;
  double seconds, order_seconds;
  enum node_order chosen;
  int cached;
  char path[sizeof((struct partition *)0)->path];
};

int partition_share(struct comm *comm, int parts, int64_t nodes, struct partition *partition) {
  struct summary summary = {partition->edge_cut, partition->seconds, partition->order_seconds,
                            partition->chosen,   partition->cached,  ""};
  memcpy(summary.path, partition->path, sizeof summary.path);
  TRY(comm_agree(comm, comm->rank == 0 ? OK : partition_init(partition, parts, nodes)));
  TRY(comm_broadcast(comm, &summary, sizeof summary, 0));
  partition->edge_cut = summary.edge_cut;
  partition->seconds = summary.seconds;
  partition->order_seconds = summary.order_seconds;
  partition->chosen = summary.chosen;
  partition->cached = summary.cached;
  memcpy(partition->path, summary.path, sizeof summary.path);
  int64_t words = parts * (int64_t)sizeof(int64_t);
  TRY(comm_broadcast(comm, partition->part, nodes * (int64_t)sizeof *partition->part, 0));
  TRY(comm_broadcast(comm, partition->order, nodes * (int64_t)sizeof *partition->order, 0));
  TRY(comm_broadcast(comm, partition->offset, words + (int64_t)sizeof(int64_t), 0));
  TRY(comm_broadcast(comm, partition->halo, words, 0));
  return comm_broadcast(comm, partition->nnz, words, 0);
}

static int check_parts(const struct dataset *dataset, int parts) {
  if (parts < 1 || parts > dataset->nodes)
    FAIL(BAD_INPUT, "%s has %lld nodes and cannot be cut into %d parts; allowed: 1 to the number of nodes",
         dataset->h5.path, (long long)dataset->nodes, parts);
  return OK;
}

int partition_make(struct comm *comm, const struct config *config, struct dataset *dataset, uint64_t hash,
                   const struct graph *block, int parts, const char *run_dir, struct partition *partition) {
  *partition = (struct partition){0};
  TRY(comm_agree(comm, check_parts(dataset, parts)));
  if (partition_is_divided(comm, config, block, parts)) return partition_divided(comm, block, partition);
  struct partition_key key = {config, dataset->h5.path, run_dir, hash, parts, dataset->nodes, dataset->edges};
  int code = comm->rank ? OK : take_turn(comm, &key, dataset, block, partition);
  TRY(comm_agree(comm, code));
  return partition_share(comm, parts, dataset->nodes, partition);
}
