/* How the partition of a star comes about. */
#include <stdlib.h>
#include <string.h>

#include "partition/cut/balance.h"
#include "partition/cut/partition_cache.h"
#include "partition/cut/partition_steps.h"
#include "partition/cut/star_expansion.h"
#include "partition/graph/metis.h"
#include "partition/order/order.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/memory.h"
#include "runtime/profile/profile.h"

struct making {
  const struct partition_key *key;
  struct progress progress;
  int64_t vertices;
  struct graph expansion;
  struct csr pattern; /* symmetric; where METIS or an order wants it */
  int64_t *count;     /* [nodes] 1 for vertices, 0 for hyperedges */
  int64_t *size;      /* [nodes] vertices of a hyperedge, 0 for vertices */
};

static void making_free(struct making *making) {
  graph_free(&making->expansion);
  csr_free(&making->pattern);
  free(making->count);
  free(making->size);
}

static int want_pattern(struct making *making) {
  if (making->pattern.start) return OK;
  return graph_pattern(&making->expansion, 1, &making->pattern);
}

static int assign_metis(struct making *making, struct partition *expansion) {
  const struct config *config = making->key->config;
  const struct graph *graph = &making->expansion;
  int64_t bytes = graph->nodes * (int64_t)sizeof(int64_t);
  TRY(want_pattern(making));
  TRY(metis_fits(making->pattern.rows, making->pattern.nnz, graph->path));
  TRY(memory_alloc(&making->count, bytes, "weights of vertices"));
  TRY(memory_alloc(&making->size, bytes, "sizes of hyperedges"));
  for (int64_t v = 0; v < graph->nodes; v++) {
    making->count[v] = v < making->vertices;
    making->size[v] = graph->start[v + 1] - graph->start[v];
  }
  double balance = config->partition.balance;
  TRY(metis_partition(&making->progress, &making->pattern, making->count, making->size, expansion->parts,
                      config->partition.seed, balance, expansion->part));
  return balance_parts(&making->pattern, making->count, making->size, expansion->parts, balance,
                       expansion->part);
}

/* What decides where a hyperedge goes: its vertices in each part, 0 between hyperedges; and the incidences
 * that a part has already. */
struct votes {
  int64_t *count, *load; /* [parts] */
};

/* The part with most of a hyperedge's vertices, of equals the one with the fewest incidences. */
static int32_t elect(const struct partition *expansion, const struct graph *graph, int64_t node,
                     struct votes *votes) {
  int64_t first = graph->start[node], last = graph->start[node + 1];
  int32_t best = (int32_t)(node % expansion->parts);
  for (int64_t e = first; e < last; e++) votes->count[expansion->part[graph->col[e]]]++;
  for (int64_t e = first; e < last; e++) {
    int32_t p = expansion->part[graph->col[e]];
    int64_t more = votes->count[p] - votes->count[best];
    if (more > 0 || (more == 0 && votes->load[p] < votes->load[best])) best = p;
  }
  for (int64_t e = first; e < last; e++) votes->count[expansion->part[graph->col[e]]] = 0;
  votes->load[best] += last - first;
  return best;
}

static int elect_all(struct making *making, struct partition *expansion) {
  struct votes votes = {0};
  TRY(memory_alloc(&votes.count, 2 * expansion->parts * (int64_t)sizeof *votes.count, "counts a part"));
  votes.load = votes.count + expansion->parts;
  for (int64_t v = making->vertices; v < expansion->nodes; v++)
    expansion->part[v] = elect(expansion, &making->expansion, v, &votes);
  free(votes.count);
  return OK;
}

static int assign_simple(struct making *making, struct partition *expansion) {
  const struct config *config = making->key->config;
  struct partition vertices = {0};
  int code = partition_init(&vertices, expansion->parts, making->vertices);
  if (code == OK) {
    if (expansion->parts > 1 && config->partition.method == PARTITION_RANDOM)
      partition_assign_random(&vertices, config->partition.seed);
    else
      partition_assign_blocks(&vertices);
    memcpy(expansion->part, vertices.part, (size_t)making->vertices * sizeof *expansion->part);
    code = elect_all(making, expansion);
  }
  partition_free(&vertices);
  return code;
}

/* Vertices first in each shard, otherwise as ordered. */
static int vertices_first(int64_t vertices, struct partition *expansion) {
  int64_t *edges = NULL;
  TRY(memory_alloc(&edges, expansion->nodes * (int64_t)sizeof *edges, "order of hyperedges"));
  for (int p = 0; p < expansion->parts; p++) {
    int64_t at = expansion->offset[p], count = 0;
    for (int64_t i = expansion->offset[p]; i < expansion->offset[p + 1]; i++) {
      int64_t v = expansion->order[i];
      if (v < vertices)
        expansion->order[at++] = v;
      else
        edges[count++] = v;
    }
    memcpy(expansion->order + at, edges, (size_t)count * sizeof *edges);
  }
  free(edges);
  return OK;
}

static int order(struct making *making, struct partition *expansion) {
  const struct config *config = making->key->config;
  enum node_order wanted = config->partition.order;
  if (wanted == ORDER_AUTO) wanted = ORDER_GIVEN;
  if (order_needs_pattern(wanted)) TRY(want_pattern(making));
  struct order_input input = {&making->progress, &making->expansion, &making->pattern, config->partition.seed,
                              config->partition.loa_window};
  double began = profile_clock();
  expansion->chosen = wanted;
  TRY(order_nodes(&input, wanted, expansion));
  TRY(vertices_first(making->vertices, expansion));
  expansion->order_seconds = profile_clock() - began;
  return OK;
}

static void say_balance(const struct making *making, const struct partition *expansion) {
  const struct config *config = making->key->config;
  struct star_expansion_balance balance = star_expansion_balance(expansion, making->vertices);
  double reached = balance.vertices > balance.incidences ? balance.vertices : balance.incidences;
  if (expansion->parts > 1 && config->partition.method == PARTITION_METIS &&
      reached > config->partition.balance + 5e-4)
    log_info("partition: a balance of %.3f was reached instead of %g", reached, config->partition.balance);
}

static int make(struct making *making, struct dataset *dataset, struct partition *expansion) {
  const struct partition_key *key = making->key;
  TRY(partition_init(expansion, key->parts, key->nodes));
  TRY(star_expansion_read(dataset, 0, key->nodes, &making->expansion));
  if (key->parts > 1 && key->config->partition.method == PARTITION_METIS)
    TRY(assign_metis(making, expansion));
  else
    TRY(assign_simple(making, expansion));
  partition_count(expansion);
  TRY(PROFILE_HOST("order", order(making, expansion)));
  TRY(partition_measure(expansion, &making->expansion));
  expansion->seconds = profile_clock() - making->progress.began;
  expansion->memory = memory_peak();
  say_balance(making, expansion);
  return OK;
}

/* Whether the vertices of each shard come first, as hypergraphs want it. */
static int is_star_expansion(const struct partition *expansion, int64_t vertices) {
  for (int p = 0; p < expansion->parts; p++) {
    for (int64_t i = expansion->offset[p] + 1; i < expansion->offset[p + 1]; i++) {
      if (expansion->order[i] < vertices && expansion->order[i - 1] >= vertices) return 0;
    }
  }
  return 1;
}

/* All that rank 0 does while the others wait. */
struct turn {
  struct making making;
  struct dataset *dataset;
  struct partition *expansion;
};

static int read_or_make(void *context) {
  struct turn *turn = context;
  struct making *making = &turn->making;
  const struct partition_key *key = making->key;
  if (key->parts > 1 && partition_cache_read(key, turn->expansion)) {
    if (is_star_expansion(turn->expansion, making->vertices)) return OK;
    partition_free(turn->expansion);
  }
  int code = make(making, turn->dataset, turn->expansion);
  making_free(making);
  if (code == OK && key->parts > 1) partition_cache_write(key, turn->expansion);
  return code;
}

static int take_turn(struct comm *comm, const struct partition_key *key, struct dataset *dataset,
                     struct partition *expansion) {
  struct turn turn = {{.key = key, .vertices = dataset->nodes}, dataset, expansion};
  turn.making.progress = progress_of(comm);
  return progress_work(&turn.making.progress, "making the partition", read_or_make, &turn);
}

static int check_parts(const struct dataset *dataset, int parts) {
  if (parts < 1 || parts > dataset->nodes)
    FAIL(BAD_INPUT,
         "%s has %lld vertices and cannot be cut into %d parts; allowed: 1 to the number of vertices",
         dataset->h5.path, (long long)dataset->nodes, parts);
  return OK;
}

int star_expansion_partition(struct comm *comm, const struct config *config, struct dataset *dataset,
                             uint64_t hash, int parts, const char *run_dir, struct partition *expansion) {
  *expansion = (struct partition){0};
  TRY(comm_agree(comm, check_parts(dataset, parts)));
  int64_t nodes = dataset->nodes + dataset->hyperedges;
  struct partition_key key = {config, dataset->h5.path, run_dir, hash, parts, nodes, dataset->incidences};
  TRY(comm_agree(comm, comm->rank ? OK : take_turn(comm, &key, dataset, expansion)));
  return partition_share(comm, parts, nodes, expansion);
}
