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
  struct watch watch;
  int64_t vertices;
  struct graph star;
  struct csr pattern; /* symmetric; where METIS or an order wants it */
  int64_t *count;     /* [nodes] 1 for vertices, 0 for hyperedges */
  int64_t *size;      /* [nodes] vertices of a hyperedge, 0 for vertices */
};

static void making_free(struct making *making) {
  graph_free(&making->star);
  csr_free(&making->pattern);
  free(making->count);
  free(making->size);
}

static int want_pattern(struct making *making) {
  if (making->pattern.start) return OK;
  return graph_pattern(&making->star, 1, &making->pattern);
}

static int assign_metis(struct making *making, struct partition *star) {
  const struct config *config = making->key->config;
  const struct graph *graph = &making->star;
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
  TRY(metis_partition(&making->watch, &making->pattern, making->count, making->size, star->parts,
                      config->partition.seed, balance, star->part));
  return balance_parts(&making->pattern, making->count, making->size, star->parts, balance, star->part);
}

/* What decides where a hyperedge goes: its vertices in each part, 0 between hyperedges; and the incidences
 * that a part has already. */
struct votes {
  int64_t *count, *load; /* [parts] */
};

/* The part with most of a hyperedge's vertices, of equals the one with the fewest incidences. */
static int32_t elect(const struct partition *star, const struct graph *graph, int64_t node,
                     struct votes *votes) {
  int64_t first = graph->start[node], last = graph->start[node + 1];
  int32_t best = (int32_t)(node % star->parts);
  for (int64_t e = first; e < last; e++) votes->count[star->part[graph->col[e]]]++;
  for (int64_t e = first; e < last; e++) {
    int32_t p = star->part[graph->col[e]];
    int64_t more = votes->count[p] - votes->count[best];
    if (more > 0 || (more == 0 && votes->load[p] < votes->load[best])) best = p;
  }
  for (int64_t e = first; e < last; e++) votes->count[star->part[graph->col[e]]] = 0;
  votes->load[best] += last - first;
  return best;
}

static int elect_all(struct making *making, struct partition *star) {
  struct votes votes = {0};
  TRY(memory_alloc(&votes.count, 2 * star->parts * (int64_t)sizeof *votes.count, "counts a part"));
  votes.load = votes.count + star->parts;
  for (int64_t v = making->vertices; v < star->nodes; v++)
    star->part[v] = elect(star, &making->star, v, &votes);
  free(votes.count);
  return OK;
}

static int assign_simple(struct making *making, struct partition *star) {
  const struct config *config = making->key->config;
  struct partition vertices = {0};
  int code = partition_init(&vertices, star->parts, making->vertices);
  if (code == OK) {
    if (star->parts > 1 && config->partition.method == PARTITION_RANDOM)
      partition_assign_random(&vertices, config->partition.seed);
    else
      partition_assign_blocks(&vertices);
    memcpy(star->part, vertices.part, (size_t)making->vertices * sizeof *star->part);
    code = elect_all(making, star);
  }
  partition_free(&vertices);
  return code;
}

/* Vertices first in each shard, otherwise as ordered. */
static int vertices_first(int64_t vertices, struct partition *star) {
  int64_t *edges = NULL;
  TRY(memory_alloc(&edges, star->nodes * (int64_t)sizeof *edges, "order of hyperedges"));
  for (int p = 0; p < star->parts; p++) {
    int64_t at = star->offset[p], count = 0;
    for (int64_t i = star->offset[p]; i < star->offset[p + 1]; i++) {
      int64_t v = star->order[i];
      if (v < vertices)
        star->order[at++] = v;
      else
        edges[count++] = v;
    }
    memcpy(star->order + at, edges, (size_t)count * sizeof *edges);
  }
  free(edges);
  return OK;
}

static int order(struct making *making, struct partition *star) {
  const struct config *config = making->key->config;
  enum node_order wanted = config->partition.order;
  if (wanted == ORDER_AUTO) wanted = ORDER_GIVEN;
  if (order_needs_pattern(wanted)) TRY(want_pattern(making));
  struct order_input input = {&making->watch, &making->star, &making->pattern, config->partition.seed,
                              config->partition.loa_window};
  double began = profile_clock();
  star->chosen = wanted;
  TRY(order_nodes(&input, wanted, star));
  TRY(vertices_first(making->vertices, star));
  star->order_seconds = profile_clock() - began;
  return OK;
}

static void say_balance(const struct making *making, const struct partition *star) {
  const struct config *config = making->key->config;
  struct star_balance balance = star_balance(star, making->vertices);
  double reached = balance.vertices > balance.incidences ? balance.vertices : balance.incidences;
  if (star->parts > 1 && config->partition.method == PARTITION_METIS &&
      reached > config->partition.balance + 5e-4)
    log_info("partition: a balance of %.3f was reached instead of %g", reached, config->partition.balance);
}

static int make(struct making *making, struct dataset *dataset, struct partition *star) {
  const struct partition_key *key = making->key;
  TRY(partition_init(star, key->parts, key->nodes));
  TRY(star_read(dataset, 0, key->nodes, &making->star));
  if (key->parts > 1 && key->config->partition.method == PARTITION_METIS)
    TRY(assign_metis(making, star));
  else
    TRY(assign_simple(making, star));
  partition_count(star);
  TRY(PROFILE_HOST("order", order(making, star)));
  TRY(partition_measure(star, &making->star));
  star->seconds = profile_clock() - making->watch.began;
  star->memory = memory_peak();
  say_balance(making, star);
  return OK;
}

/* Whether the vertices of each shard come first, as hypergraphs want it. */
static int is_star(const struct partition *star, int64_t vertices) {
  for (int p = 0; p < star->parts; p++) {
    for (int64_t i = star->offset[p] + 1; i < star->offset[p + 1]; i++) {
      if (star->order[i] < vertices && star->order[i - 1] >= vertices) return 0;
    }
  }
  return 1;
}

/* All that rank 0 does while the others wait. */
struct turn {
  struct making making;
  struct dataset *dataset;
  struct partition *star;
};

static int read_or_make(void *context) {
  struct turn *turn = context;
  struct making *making = &turn->making;
  const struct partition_key *key = making->key;
  if (key->parts > 1 && partition_cache_read(key, turn->star)) {
    if (is_star(turn->star, making->vertices)) return OK;
    partition_free(turn->star);
  }
  int code = make(making, turn->dataset, turn->star);
  making_free(making);
  if (code == OK && key->parts > 1) partition_cache_write(key, turn->star);
  return code;
}

static int take_turn(struct comm *comm, const struct partition_key *key, struct dataset *dataset,
                     struct partition *star) {
  struct turn turn = {{.key = key, .vertices = dataset->nodes}, dataset, star};
  turn.making.watch = watch_of(comm);
  return watch_work(&turn.making.watch, "making the partition", read_or_make, &turn);
}

static int check_parts(const struct dataset *dataset, int parts) {
  if (parts < 1 || parts > dataset->nodes)
    FAIL(BAD_INPUT,
         "%s has %lld vertices and cannot be cut into %d parts; allowed: 1 to the number of vertices",
         dataset->h5.path, (long long)dataset->nodes, parts);
  return OK;
}

int star_partition(struct comm *comm, const struct config *config, struct dataset *dataset, uint64_t hash,
                   int parts, const char *run_dir, struct partition *star) {
  *star = (struct partition){0};
  TRY(comm_agree(comm, check_parts(dataset, parts)));
  int64_t nodes = dataset->nodes + dataset->hyperedges;
  struct partition_key key = {config, dataset->h5.path, run_dir, hash, parts, nodes, dataset->incidences};
  TRY(comm_agree(comm, comm->rank ? OK : take_turn(comm, &key, dataset, star)));
  return partition_share(comm, parts, nodes, star);
}
