/* How a partition comes about: owners, order, and the file that keeps both; of a graph, or of a hypergraph's
 * star. */
#include "partition/cut/cut_large.h"
#include "partition/cut/owners_file.h"
#include "partition/cut/partition_ahead.h"
#include "partition/cut/partition_blocks.h"
#include "partition/cut/partition_cache.h"
#include "partition/cut/partition_graphs.h"
#include "partition/cut/partition_work.h"
#include "partition/cut/star_expansion.h"
#include "partition/graph/balance.h"
#include "partition/graph/metis.h"
#include "partition/multilevel/multilevel.h"
#include "partition/order/order_auto.h"
#include "partition/order/order_rate.h"
#include "runtime/base/base.h"
#include "runtime/base/fnv.h"
#include "runtime/profile/profile.h"

/* Work of the fullest rank over the wanted balance that is worth another partition, and more halo rows. */
static const double WORK_SLACK = 1.3;

/* What is decided already. */
enum decided { DECIDED_NOTHING, DECIDED_OWNERS, DECIDED_ALL };

/* How a partition is made: owners of a large graph by all ranks, all else by rank 0 while the others wait,
 * and what it holds. */
struct making {
  const struct partition_key *key;
  struct dataset *dataset;
  const struct graph *block; /* rows at hand, or NULL */
  int64_t vertices;          /* of a star, which come first; 0: a graph */
  int directed;
  struct partition *partition;
  enum decided decided;
  struct stakes stakes; /* of a graph */
  struct progress progress;
  const struct graph *graph;   /* all rows */
  struct graph read;           /* them, where nobody had them */
  struct csr rows;             /* the graph seen as a matrix: borrows from it */
  struct csr pattern;          /* symmetric, without loops; empty unless it is wanted */
  const struct row_work *work; /* NULL: rows are alike */
  int32_t *named;              /* [nodes] parts that a file says; of a star, of its vertices. Borrowed */
  int64_t *nnz;                /* [nodes] non-zeros of each row, or its work, when METIS assigns; ... */
  int64_t *count;              /* ... of a star 1 for vertices, 0 for hyperedges */
};

static void making_free(struct making *making) {
  graph_free(&making->read);
  csr_free(&making->pattern);
  free_all(making->nnz, making->count);
}

static int read_rows(void *context) {
  struct making *making = context;
  if (making->vertices)
    return star_expansion_read(making->dataset, 0, making->partition->nodes, &making->read);
  return graph_read(making->dataset, 0, making->dataset->nodes, &making->read);
}

static int read_graph(struct making *making) {
  making->graph = making->block;
  if (!making->block || making->block->rows < making->partition->nodes) {
    TRY(progress_work(&making->progress, "reading the graph", read_rows, making));
    making->graph = &making->read;
  }
  making->rows = graph_rows(making->graph);
  return OK;
}

/* The pattern, for METIS or for an order of a directed graph. */
static int want_pattern(struct making *making, int metis) {
  if (!making->pattern.start) TRY(graph_pattern(making->graph, making->directed, &making->pattern));
  return metis ? metis_fits(making->pattern.rows, making->pattern.nnz, making->graph->path) : OK;
}

static int64_t row_weight(const struct making *making, int64_t v) {
  const struct row_work *work = making->work;
  int64_t length = making->graph->start[v + 1] - making->graph->start[v];
  return work ? length * work->times[work->level[v]] : length;
}

static int assign_metis(struct making *making) {
  const struct graph *graph = making->graph;
  struct partition *partition = making->partition;
  double balance = making->key->config->partition.balance;
  int64_t saved = 0;
  TRY(memory_arrays("row lengths", ROOM(&making->nnz, graph->nodes)));
  if (making->vertices) TRY(memory_arrays("weights of vertices", ROOM(&making->count, graph->nodes)));
  for (int64_t v = 0; v < graph->nodes; v++) making->nnz[v] = row_weight(making, v);
  for (int64_t v = 0; v < making->vertices; v++) making->count[v] = 1;
  TRY(want_pattern(making, 1));
  TRY(metis_partition(&making->progress, &making->pattern, making->count, making->nnz, partition->parts,
                      making->key->config->partition.seed, balance, partition->part));
  TRY(balance_parts(&making->pattern, making->count, making->nnz, partition->parts, balance,
                    partition->part));
  if (making->vertices) return OK; /* ranks of a hypergraph send sums as well */
  TRY(balance_lessen_rows(&making->pattern, making->nnz, partition->parts, balance, partition->part, &saved));
  if (saved > 0) log_detail("parts: %lld fewer rows received, by moving nodes after METIS", (long long)saved);
  return OK;
}

/* Owners without a look at the graph; a hyperedge goes where most of its vertices are. */
static int assign_simple(struct making *making, int at_random) {
  struct partition *partition = making->partition;
  int64_t nodes = making->vertices ? making->vertices : partition->nodes;
  if (making->named)
    memcpy(partition->part, making->named, (size_t)nodes * sizeof *partition->part);
  else
    partition_assign_blocks(partition, nodes);
  if (at_random) partition_shuffle(partition, nodes, making->key->config->partition.seed);
  return making->vertices ? star_expansion_elect(making->graph, making->vertices, partition) : OK;
}

static int assigns_by(const struct making *making, enum partition_method method) {
  return making->key->parts > 1 && making->key->config->partition.method == method;
}

/* By what looks at the arcs. */
static int is_cut(const struct making *making) {
  return assigns_by(making, PARTITION_METIS) || assigns_by(making, PARTITION_SCOTCH);
}

static int assign(struct making *making) {
  if (!is_cut(making))
    TRY(assign_simple(making, assigns_by(making, PARTITION_RANDOM)));
  else if (making->decided == DECIDED_NOTHING)
    TRY(assign_metis(making));
  partition_count(making->partition);
  if (making->vertices) star_expansion_count(making->vertices, making->partition);
  return OK;
}

static int order(struct making *making) {
  const struct config *config = making->key->config;
  struct partition *partition = making->partition;
  enum node_order wanted = config->partition.order;
  if (wanted == ORDER_AUTO && making->vertices) wanted = ORDER_GIVEN;
  if (wanted == ORDER_METIS || (making->directed && order_needs_pattern(wanted)))
    TRY(want_pattern(making, wanted == ORDER_METIS));
  struct order_input input = {&making->progress, making->graph,
                              making->pattern.start ? &making->pattern : &making->rows,
                              config->partition.seed, config->partition.loa_window};
  double began = profile_clock();
  partition->chosen = wanted;
  if (wanted == ORDER_AUTO)
    TRY(order_auto(&input, &making->stakes, partition));
  else
    TRY(order_nodes(&input, wanted, partition));
  if (making->vertices) TRY(star_expansion_vertices_first(making->vertices, partition));
  partition->order_seconds = profile_clock() - began;
  if (wanted == ORDER_AUTO || making->vertices) return OK;
  return order_rate(making->graph, order_view_of(partition), order_rate_step(partition->nodes, RATE_WINDOWS),
                    &partition->density);
}

static void say_balance(const struct making *making) {
  const struct config *config = making->key->config;
  const struct partition *partition = making->partition;
  double nodes = making->vertices ? star_expansion_balance(partition, making->vertices).vertices
                                  : partition_node_balance(partition);
  double edges = making->work ? 1 : partition_edge_balance(partition),
         reached = nodes > edges ? nodes : edges;
  if (is_cut(making) && reached > config->partition.balance + 5e-4)
    log_detail("partition: a balance of %.3f was reached instead of %g", reached, config->partition.balance);
}

/* Whether there is nothing to decide: then the graph stays unread, and no file keeps it. */
static int is_trivial(const struct making *making) {
  return making->key->parts == 1 && !making->vertices && making->key->config->partition.order == ORDER_GIVEN;
}

static int make(struct making *making) {
  struct partition *partition = making->partition;
  if (is_trivial(making)) {
    partition->offset[1] = partition->nodes;
    partition->nnz[0] = making->key->edges;
    return OK;
  }
  TRY(read_graph(making));
  TRY(assign(making));
  TRY(PROFILE_HOST("order", order(making)));
  TRY(partition_measure(partition, making->graph, !making->directed));
  partition->seconds = profile_clock() - making->progress.began;
  partition->memory = memory_peak();
  say_balance(making);
  return OK;
}

/* Whether a partition that was read is what this run wants. */
static int stands(const struct making *making) {
  struct partition *partition = making->partition;
  if (making->vertices) {
    star_expansion_count(making->vertices, partition);
    return star_expansion_is(partition, making->vertices);
  }
  if (making->key->config->partition.order != ORDER_AUTO || order_auto_stands(&making->stakes, partition))
    return 1;
  log_detail("partition: %s is not used: this run is long enough for another order", partition->path);
  return 0;
}

static int is_kept(const struct making *making) {
  return making->vertices ? making->key->parts > 1 : !is_trivial(making);
}

static int look_for_kept(void *context) {
  struct making *making = context;
  const struct partition_key *key = making->key;
  making->decided = DECIDED_NOTHING;
  if (is_kept(making) && partition_cache_read(key, making->partition)) {
    making->decided = DECIDED_ALL;
    if (stands(making)) return OK;
    making->decided = DECIDED_NOTHING;
    partition_free(making->partition);
  }
  if (is_trivial(making)) return partition_init_parts(making->partition, key->parts, key->nodes);
  TRY(partition_init(making->partition, key->parts, key->nodes));
  if (is_cut(making) && !making->vertices && partition_cache_read_owners(key, making->partition))
    making->decided = DECIDED_OWNERS;
  return OK;
}

static int make_rest(void *context) {
  struct making *making = context;
  int code = make(making);
  making_free(making);
  if (code == OK && is_kept(making)) partition_cache_write(making->key, making->partition);
  return code;
}

/* Of a large graph. Each rank gives what it has of the rows, or reads them. */
static int cut(struct comm *comm, struct making *making) {
  const struct config *config = making->key->config;
  ENDED_BY(graph_free) struct graph read = {0};
  const struct graph *held = making->block;
  if (making->vertices ? !held : !graph_is_block(comm, held)) {
    const int64_t nodes = making->key->nodes, first = graph_block(nodes, comm->size, comm->rank);
    held = &read;
    TRY(comm_agree(comm, making->vertices
                             ? star_expansion_read_block(comm, making->dataset, &read)
                             : graph_read(making->dataset, first,
                                          graph_block(nodes, comm->size, comm->rank + 1) - first, &read)));
  }
  const struct cut_input input = {held,
                                  making->directed,
                                  making->vertices,
                                  making->work,
                                  config->partition.method == PARTITION_SCOTCH,
                                  making->key->parts,
                                  config->partition.seed,
                                  config->partition.balance};
  making->decided = DECIDED_OWNERS;
  return cut_large(&making->progress, &input, making->partition->part);
}

/* Rank 0's work, while the others wait: on large graphs, and for many parts, minutes. */
static int by_first(struct comm *comm, struct making *making, int (*work)(void *context)) {
  return comm_agree(comm,
                    comm->rank ? OK : progress_work(&making->progress, "making the partition", work, making));
}

static int read_named(void *context) {
  const struct making *making = context;
  const struct partition_key *key = making->key;
  return owners_file_read(key->config->partition.file, making->vertices ? making->vertices : key->nodes,
                          key->parts, making->named);
}

/* What is kept of parts that a file says depends on these. */
static int name_owners(struct comm *comm, struct making *making, struct partition_key *key, int32_t **named) {
  const int64_t nodes = making->vertices ? making->vertices : key->nodes;
  if (key->parts == 1 || key->config->partition.method != PARTITION_FILE) return OK;
  TRY(comm_agree(comm, comm->rank ? OK : memory_arrays("parts of nodes", ROOM(named, nodes))));
  making->named = *named;
  TRY(by_first(comm, making, read_named));
  if (comm->rank == 0) key->hash = fnv_add(key->hash, *named, nodes * (int64_t)sizeof **named);
  return OK;
}

/* METIS divides small graphs by itself. */
static int is_cut_by_all(const struct making *making) {
  return assigns_by(making, PARTITION_SCOTCH) ||
         (assigns_by(making, PARTITION_METIS) && multilevel_takes(making->key->edges, making->directed));
}

static int make_keyed(struct comm *comm, struct making *making) {
  if (!making->vertices)
    making->stakes = stakes_of(comm, making->key->config, making->dataset, making->key->parts);
  TRY(by_first(comm, making, look_for_kept));
  TRY(comm_broadcast(comm, &making->decided, sizeof making->decided, 0));
  if (making->decided == DECIDED_NOTHING && is_cut_by_all(making)) TRY(cut(comm, making));
  if (making->decided != DECIDED_ALL) TRY(by_first(comm, making, make_rest));
  return partition_share(comm, making->partition);
}

static int make_shared(struct comm *comm, struct making *making) {
  struct partition_key key = *making->key;
  FREED int32_t *named = NULL;
  making->key = &key;
  making->progress = progress_of(comm);
  TRY(name_owners(comm, making, &key, &named));
  return make_keyed(comm, making);
}

/* The same with the work of rows in place of their non-zeros, kept under a name of its own. */
static int make_by_work(struct comm *comm, struct making *plain, const struct row_work *work) {
  const struct partition_key *key = plain->key;
  struct partition_key by_work = *key;
  struct making making = {.key = &by_work,
                          .dataset = plain->dataset,
                          .block = plain->block,
                          .vertices = plain->vertices,
                          .directed = plain->directed,
                          .partition = plain->partition,
                          .work = work};
  by_work.hash = fnv_add(key->hash, work->level, key->nodes);
  by_work.hash = fnv_add(by_work.hash, work->times, (int64_t)sizeof work->times);
  log_detail(
      "partition: one rank would have %.2f times the mean of the arcs that an epoch sums; divided anew "
      "by these",
      plain->partition->work_balance);
  partition_free(plain->partition);
  *plain->partition = (struct partition){0};
  TRY(make_shared(comm, &making));
  return partition_measure_work(comm, making.block, making.vertices, work, making.partition);
}

/* By the non-zeros of rows, or by their work where these share it badly. work: NULL: rows are alike. */
static int make_balanced(struct comm *comm, struct making *making, const struct row_work *work) {
  const struct partition_key *key = making->key;
  const struct config *config = key->config;
  TRY(make_shared(comm, making));
  making->key = key;
  if (!work || key->parts == 1 || config->partition.method != PARTITION_METIS) return OK;
  TRY(partition_measure_work(comm, making->block, making->vertices, work, making->partition));
  if (making->partition->work_balance <= WORK_SLACK * config->partition.balance) return OK;
  return make_by_work(comm, making, work);
}

int partition_make(struct comm *comm, const struct config *config, struct dataset *dataset, uint64_t hash,
                   const struct graph *block, const struct row_work *work, int parts, const char *run_dir,
                   struct partition *partition) {
  *partition = (struct partition){0};
  TRY(comm_agree(comm, partition_check_parts(dataset, parts, "nodes")));
  if (dataset->graphs > 0) return partition_make_graphs(comm, dataset, parts, partition);
  if (partition_is_blocks(comm, config, block, parts)) return partition_make_blocks(comm, block, partition);
  struct partition_key key = {config, dataset_file(dataset), run_dir,       hash,
                              parts,  dataset->nodes,        dataset->edges};
  struct making making = {
      .key = &key, .dataset = dataset, .block = block, .directed = dataset->directed, .partition = partition};
  return make_balanced(comm, &making, work);
}

int star_expansion_partition(struct comm *comm, const struct config *config, struct dataset *dataset,
                             uint64_t hash, const struct graph *block, const struct row_work *work, int parts,
                             const char *run_dir, struct partition *expansion) {
  *expansion = (struct partition){0};
  TRY(comm_agree(comm, partition_check_parts(dataset, parts, "vertices")));
  int64_t nodes = dataset->nodes + dataset->hyperedges;
  struct partition_key key = {config, dataset_file(dataset), run_dir, hash, parts,
                              nodes,  dataset->incidences};
  struct making making = {.key = &key,
                          .dataset = dataset,
                          .block = block,
                          .vertices = dataset->nodes,
                          .directed = 1,
                          .partition = expansion};
  return make_balanced(comm, &making, work);
}
