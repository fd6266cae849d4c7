#include "partition/partition.h"

#include <stdlib.h>
#include <string.h>

#include "partition/balance.h"
#include "partition/metis.h"
#include "partition/order.h"
#include "partition/partition_cache.h"
#include "runtime/error.h"
#include "runtime/log.h"
#include "runtime/memory.h"
#include "runtime/profile.h"
#include "runtime/random.h"

const char *const partition_method_name[] = {"metis", "block", "random"};
const char *const node_order_name[] = {"given", "degree", "metis"};

int partition_init(struct partition *partition, int parts, int64_t nodes) {
  *partition = (struct partition){.parts = parts, .nodes = nodes};
  TRY(memory_alloc(&partition->part, nodes * (int64_t)sizeof *partition->part, "owners of nodes"));
  TRY(memory_alloc(&partition->order, nodes * (int64_t)sizeof *partition->order, "order of nodes"));
  TRY(memory_alloc(&partition->offset, (parts + 1) * (int64_t)sizeof(int64_t), "partition"));
  TRY(memory_alloc(&partition->halo, parts * (int64_t)sizeof(int64_t), "partition"));
  return memory_alloc(&partition->nnz, parts * (int64_t)sizeof(int64_t), "partition");
}

void partition_free(struct partition *partition) {
  free(partition->part);
  free(partition->order);
  free(partition->offset);
  free(partition->halo);
  free(partition->nnz);
  *partition = (struct partition){0};
}

void partition_count(struct partition *partition) {
  memset(partition->offset, 0, (size_t)(partition->parts + 1) * sizeof *partition->offset);
  for (int64_t v = 0; v < partition->nodes; v++) partition->offset[partition->part[v] + 1]++;
  for (int p = 0; p < partition->parts; p++) partition->offset[p + 1] += partition->offset[p];
}

int partition_measure(struct partition *partition, const struct graph *graph) {
  int32_t *seen = NULL; /* the last part that counted the node, plus 1 */
  TRY(memory_alloc(&seen, partition->nodes * (int64_t)sizeof *seen, "halo marks"));
  partition->edge_cut = 0;
  for (int p = 0; p < partition->parts; p++) {
    partition->halo[p] = partition->nnz[p] = 0;
    for (int64_t i = partition->offset[p]; i < partition->offset[p + 1]; i++) {
      int64_t v = partition->order[i];
      partition->nnz[p] += graph->start[v + 1] - graph->start[v];
      for (int64_t e = graph->start[v]; e < graph->start[v + 1]; e++) {
        int32_t u = graph->col[e];
        if (partition->part[u] == p) continue;
        partition->edge_cut++;
        partition->halo[p] += seen[u] != p + 1;
        seen[u] = p + 1;
      }
    }
  }
  free(seen);
  return OK;
}

int partition_local_ids(const struct partition *partition, int p, int32_t **local) {
  TRY(memory_alloc(local, partition->nodes * (int64_t)sizeof **local, "local ids"));
  for (int64_t v = 0; v < partition->nodes; v++) (*local)[v] = -1;
  for (int64_t i = partition->offset[p]; i < partition->offset[p + 1]; i++)
    (*local)[partition->order[i]] = (int32_t)(i - partition->offset[p]);
  return OK;
}

static double imbalance(const int64_t *value, int parts) {
  int64_t largest = 0, sum = 0;
  for (int p = 0; p < parts; p++) {
    sum += value[p];
    if (value[p] > largest) largest = value[p];
  }
  return sum ? (double)largest * parts / (double)sum : 1;
}

double partition_node_balance(const struct partition *partition) {
  int64_t largest = 0;
  for (int p = 0; p < partition->parts; p++) {
    int64_t nodes = partition->offset[p + 1] - partition->offset[p];
    if (nodes > largest) largest = nodes;
  }
  return partition->nodes ? (double)largest * partition->parts / (double)partition->nodes : 1;
}

double partition_edge_balance(const struct partition *partition) {
  return imbalance(partition->nnz, partition->parts);
}

void partition_print(const struct partition *partition, const struct config *config, int64_t edges) {
  const char *method = partition->parts > 1 ? partition_method_name[config->partition.method] : "whole graph";
  char source[sizeof partition->path + 32] = "";
  if (partition->cached) snprintf(source, sizeof source, ", read from %s", partition->path);
  log_info("partition: %s, %d %s, order %s, %.1f s%s", method, partition->parts,
           partition->parts == 1 ? "part" : "parts", node_order_name[config->partition.order],
           partition->seconds, source);
  if (partition->parts == 1) return;
  log_info("edge cut: %lld of %lld arcs (%.1f%%)", (long long)partition->edge_cut, (long long)edges,
           edges ? 100.0 * (double)partition->edge_cut / (double)edges : 0.0);
  log_info("%6s %12s %14s %12s %10s", "rank", "rows", "non-zeros", "halo rows", "halo/rows");
  for (int p = 0; p < partition->parts; p++) {
    int64_t rows = partition->offset[p + 1] - partition->offset[p];
    log_info("%6d %12lld %14lld %12lld %10.3f", p, (long long)rows, (long long)partition->nnz[p],
             (long long)partition->halo[p], rows ? (double)partition->halo[p] / (double)rows : 0.0);
  }
  log_info("balance (largest / mean): rows %.3f, non-zeros %.3f", partition_node_balance(partition),
           partition_edge_balance(partition));
}

static void assign_blocks(struct partition *partition) {
  for (int p = 0; p < partition->parts; p++) {
    int64_t last = graph_block(partition->nodes, partition->parts, p + 1);
    for (int64_t v = graph_block(partition->nodes, partition->parts, p); v < last; v++)
      partition->part[v] = p;
  }
}

/* Equal blocks of a random permutation (Fisher and Yates): the blocks' numbers are shuffled in place. */
static void assign_random(struct partition *partition, int64_t seed) {
  struct philox_key key = random_key((uint64_t)seed, 0, 0, RANDOM_PARTITION);
  assign_blocks(partition);
  for (int64_t v = partition->nodes - 1; v > 0; v--) {
    struct philox_block word = random_block(key, (uint64_t)v, 0);
    int64_t u = (int64_t)random_below(word.word[0], word.word[1], (uint64_t)v + 1);
    int32_t moved = partition->part[v];
    partition->part[v] = partition->part[u];
    partition->part[u] = moved;
  }
}

/* What rank 0 holds while it makes a partition. */
struct making {
  struct metis_watch watch;
  struct graph graph;
  struct csr pattern; /* empty unless METIS wants it */
  int64_t *nnz;       /* [nodes] non-zeros of each row */
};

static void making_free(struct making *making) {
  graph_free(&making->graph);
  csr_free(&making->pattern);
  free(making->nnz);
}

static int making_init(struct comm *comm, const struct config *config, struct dataset *dataset, int parts,
                       struct making *making) {
  making->watch = (struct metis_watch){comm, profile_clock(), profile_clock()};
  const struct graph *graph = &making->graph;
  TRY(graph_read(dataset, 0, dataset->nodes, &making->graph));
  TRY(memory_alloc(&making->nnz, dataset->nodes * (int64_t)sizeof *making->nnz, "row lengths"));
  for (int64_t v = 0; v < dataset->nodes; v++) making->nnz[v] = graph->start[v + 1] - graph->start[v];
  int metis = (config->partition.method == PARTITION_METIS && parts > 1) ||
              config->partition.order == ORDER_METIS;
  if (!metis) return OK;
  TRY(graph_pattern(graph, dataset->directed, &making->pattern));
  return metis_fits(&making->pattern, graph->path);
}

static int assign(const struct config *config, struct making *making, struct partition *partition) {
  double balance = config->partition.balance;
  if (partition->parts == 1 || config->partition.method == PARTITION_BLOCK) {
    assign_blocks(partition);
  } else if (config->partition.method == PARTITION_RANDOM) {
    assign_random(partition, config->partition.seed);
  } else {
    TRY(metis_partition(&making->watch, &making->pattern, making->nnz, partition->parts,
                        config->partition.seed, balance, partition->part));
    TRY(balance_parts(&making->pattern, making->nnz, partition->parts, balance, partition->part));
  }
  return OK;
}

static int make_steps(const struct config *config, struct making *making, struct partition *partition) {
  TRY(assign(config, making, partition));
  partition_count(partition);
  TRY(PROFILE_HOST("order", order_nodes(&making->watch, &making->pattern, making->nnz,
                                        config->partition.order, config->partition.seed, partition)));
  TRY(partition_measure(partition, &making->graph));
  partition->seconds = profile_clock() - making->watch.began;
  double reached = partition_node_balance(partition), edges = partition_edge_balance(partition);
  if (edges > reached) reached = edges;
  if (config->partition.method == PARTITION_METIS && reached > config->partition.balance + 5e-4)
    log_info("partition: a balance of %.3f was reached instead of %g", reached, config->partition.balance);
  return OK;
}

static int make(struct comm *comm, const struct config *config, struct dataset *dataset, int parts,
                struct partition *partition) {
  TRY(partition_init(partition, parts, dataset->nodes));
  if (parts == 1 && config->partition.order == ORDER_GIVEN) { /* nothing to decide: the graph stays unread */
    partition_count(partition);
    for (int64_t v = 0; v < dataset->nodes; v++) partition->order[v] = v;
    partition->nnz[0] = dataset->edges;
    return OK;
  }
  struct making making = {0};
  int code = making_init(comm, config, dataset, parts, &making);
  if (code == OK) code = make_steps(config, &making, partition);
  making_free(&making);
  return code;
}

static int read_or_make(struct comm *comm, const struct config *config, struct dataset *dataset,
                        uint64_t hash, int parts, const char *run_dir, struct partition *partition) {
  struct partition_key key = {config, dataset->h5.path, run_dir, hash, parts, dataset->nodes};
  int trivial = parts == 1 && config->partition.order == ORDER_GIVEN;
  if (!trivial && partition_cache_read(&key, partition)) return OK;
  TRY(make(comm, config, dataset, parts, partition));
  if (!trivial) partition_cache_write(&key, partition);
  return OK;
}

/* What the other ranks need to lay out the arrays. */
struct summary {
  int64_t edge_cut;
  double seconds;
  int cached;
  char path[sizeof((struct partition *)0)->path];
};

static int share(struct comm *comm, int parts, int64_t nodes, struct partition *partition) {
  struct summary summary = {partition->edge_cut, partition->seconds, partition->cached, ""};
  memcpy(summary.path, partition->path, sizeof summary.path);
  TRY(comm_agree(comm, comm->rank == 0 ? OK : partition_init(partition, parts, nodes)));
  TRY(comm_broadcast(comm, &summary, sizeof summary, 0));
  partition->edge_cut = summary.edge_cut;
  partition->seconds = summary.seconds;
  partition->cached = summary.cached;
  memcpy(partition->path, summary.path, sizeof summary.path);
  int64_t words = parts * (int64_t)sizeof(int64_t);
  TRY(comm_broadcast(comm, partition->part, nodes * (int64_t)sizeof *partition->part, 0));
  TRY(comm_broadcast(comm, partition->order, nodes * (int64_t)sizeof *partition->order, 0));
  TRY(comm_broadcast(comm, partition->offset, words + (int64_t)sizeof(int64_t), 0));
  TRY(comm_broadcast(comm, partition->halo, words, 0));
  return comm_broadcast(comm, partition->nnz, words, 0);
}

int partition_make(struct comm *comm, const struct config *config, struct dataset *dataset, uint64_t hash,
                   int parts, const char *run_dir, struct partition *partition) {
  *partition = (struct partition){0};
  if (parts < 1 || parts > dataset->nodes)
    FAIL(BAD_INPUT, "%s has %lld nodes and cannot be cut into %d parts; allowed: 1 to the number of nodes",
         dataset->h5.path, (long long)dataset->nodes, parts);
  int code = comm->rank ? OK : read_or_make(comm, config, dataset, hash, parts, run_dir, partition);
  TRY(comm_agree(comm, code));
  return share(comm, parts, dataset->nodes, partition);
}
