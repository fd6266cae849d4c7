/* How a partition comes about: owners, order, and the file that keeps both; of a graph, or of a hypergraph's
 * star. */
#include "partition/cut/cut_large.h"
#include "partition/cut/cut_small.h"
#include "partition/cut/owners_named.h"
#include "partition/cut/part_rows.h"
#include "partition/cut/partition_ahead.h"
#include "partition/cut/partition_blocks.h"
#include "partition/cut/partition_cache.h"
#include "partition/cut/partition_graphs.h"
#include "partition/cut/partition_lists.h"
#include "partition/cut/partition_work.h"
#include "partition/cut/star_expansion.h"
#include "partition/multilevel/multilevel.h"
#include "partition/multilevel/pattern_block.h"
#include "partition/order/order_auto.h"
#include "partition/order/order_ranks.h"
#include "partition/order/order_rate.h"
#include "runtime/base/base.h"
#include "runtime/base/fnv.h"
#include "runtime/profile/profile.h"

/* Work of the fullest rank over the wanted balance that is worth another partition, and more halo rows. */
static const double WORK_SLACK = 1.3;

/* What is decided already. */
enum decided { DECIDED_NOTHING, DECIDED_OWNERS, DECIDED_ALL };

/* How a partition is made: rows are read once, by all ranks. Rank 0 decides who owns the nodes of a small
 * graph, all ranks together of a large one; then each orders and measures the parts that it gets. */
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
  const struct graph *held;    /* this rank's rows: those at hand, or ... */
  struct graph read;           /* ... as read */
  const struct graph *graph;   /* all rows, for METIS and for hyperedges that follow their vertices. Rank 0 */
  int32_t *all;                /* [nodes] owners that rank 0 finds by itself */
  const struct row_work *work; /* NULL: rows are alike */
  int32_t *named; /* owners that a file says: of this rank's block; of a star, of all vertices, on rank 0.
                     Borrowed */
};

/* The rows that a rank has: of a graph its block, of a star its share of the hyperedges. */
static int hold_rows(struct comm *comm, struct making *making) {
  const int64_t nodes = making->key->nodes, first = graph_block(nodes, comm->size, comm->rank),
                behind = graph_block(nodes, comm->size, comm->rank + 1);
  making->held = making->block;
  if (making->vertices ? making->block != NULL : graph_is_block(comm, making->block)) return OK;
  making->held = &making->read;
  if (making->vertices) return star_expansion_read_block(comm, making->dataset, &making->read);
  return comm_agree(comm, graph_read(making->dataset, first, behind - first, &making->read));
}

static int assigns_by(const struct making *making, enum partition_method method) {
  return making->key->parts > 1 && making->key->config->partition.method == method;
}

/* By what looks at the arcs. */
static int is_cut(const struct making *making) {
  return assigns_by(making, PARTITION_METIS) || assigns_by(making, PARTITION_SCOTCH);
}

static struct cut_input cut_of(const struct making *making, const struct graph *rows) {
  const struct config *config = making->key->config;
  return (struct cut_input){rows,
                            making->directed,
                            making->vertices,
                            making->work,
                            config->partition.method == PARTITION_SCOTCH,
                            making->key->parts,
                            config->partition.seed,
                            config->partition.balance};
}

/* Owners of a block of nodes without a look at the graph. */
static void assign_simple(const struct making *making, int64_t nodes, int64_t first, int64_t count,
                          int32_t *part) {
  const struct partition_key *key = making->key;
  if (making->named)
    memcpy(part, making->named, (size_t)count * sizeof *part);
  else if (assigns_by(making, PARTITION_RANDOM))
    partition_assign_random(key->parts, nodes, key->config->partition.seed, first, count, part);
  else
    partition_assign_blocks(key->parts, nodes, first, count, part);
}

/* The same of a star; a hyperedge goes where most of its vertices are. */
static int assign_star(const struct making *making) {
  assign_simple(making, making->vertices, 0, making->vertices, making->all);
  return star_expansion_elect(making->graph, making->vertices, making->key->parts, making->all);
}

/* Rank 0 finds owners by itself. */
static int assign(void *context) {
  struct making *making = context;
  const struct cut_input input = cut_of(making, making->graph);
  return is_cut(making) ? cut_small(&making->progress, &input, making->all) : assign_star(making);
}

/* Of the same rows, for an order of a directed graph. */
static int find_pattern(struct comm *comm, const struct making *making, const struct part_rows *rows,
                        struct csr *pattern) {
  ENDED_BY(csr_free) struct csr both = {0};
  struct graph local = {0};
  if (rows->borrowed) return comm_agree(comm, graph_pattern(&rows->graph, 1, pattern));
  TRY(pattern_block(comm, making->held, &both));
  const struct graph block = {.nodes = both.cols,
                              .first = graph_block(both.cols, comm->size, comm->rank),
                              .rows = both.rows,
                              .edges = both.nnz,
                              .start = both.start,
                              .col = both.col,
                              .path = making->held->path};
  TRY(part_rows_bring(comm, &block, rows, &local));
  *pattern = graph_rows(&local);
  return OK;
}

/* Of the rows that this rank has, and what they are like. */
static int order(struct making *making, const struct order_input *input, struct partition *own,
                 int64_t vertices) {
  const enum node_order asked = making->key->config->partition.order,
                        wanted = asked == ORDER_AUTO && making->vertices ? ORDER_GIVEN : asked;
  const double began = profile_clock();
  own->chosen = wanted;
  TRY(wanted == ORDER_AUTO ? order_auto(input, &making->stakes, own) : order_nodes(input, wanted, own));
  making->partition->order_seconds = profile_clock() - began;
  if (wanted == ORDER_AUTO) return OK;
  if (making->vertices) TRY(comm_agree(input->progress->comm, star_expansion_vertices_first(vertices, own)));
  TRY(order_rate_all(input, own, own->order, RATE_WINDOWS, &own->density));
  if (making->vertices) own->density = (struct density){0}; /* no product runs over a star */
  return OK;
}

/* Each rank of its own parts. */
static int order_parts(struct comm *comm, struct making *making, struct part_rows *rows) {
  const struct config *config = making->key->config;
  ENDED_BY(csr_free) struct csr pattern = {0};
  const int wants = making->vertices ? config->partition.order != ORDER_AUTO : making->directed;
  if (wants && order_needs_pattern(config->partition.order)) TRY(find_pattern(comm, making, rows, &pattern));
  const struct csr matrix = pattern.start ? pattern : graph_rows(&rows->graph);
  const int64_t first = rows->borrowed ? 0 : rows->directory.row_first;
  const struct order_input input = {&making->progress,
                                    &rows->graph,
                                    &matrix,
                                    config->partition.seed,
                                    config->partition.loa_window,
                                    rows->borrowed ? NULL : &rows->halo,
                                    first,
                                    making->key->nodes};
  return order(making, &input, &rows->own, part_rows_below(rows, making->vertices));
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

/* Whether there is nothing to decide. */
static int is_trivial(const struct making *making) {
  return making->key->parts == 1 && !making->vertices && making->key->config->partition.order == ORDER_GIVEN;
}

/* Whether a partition that was read is what this run wants. */
static int stands(struct comm *comm, struct making *making, int *as_wanted) {
  struct partition *partition = making->partition;
  if (making->vertices) {
    TRY(star_expansion_count(comm, making->vertices, partition));
    return star_expansion_is(comm, partition, making->vertices, as_wanted);
  }
  *as_wanted = making->key->config->partition.order != ORDER_AUTO ||
               order_auto_stands(&making->stakes, partition);
  TRY(comm_broadcast(comm, as_wanted, sizeof *as_wanted, 0));
  if (!*as_wanted && comm->rank == 0)
    log_detail("partition: %s is not used: this run is long enough for another order", partition->path);
  return OK;
}

static int is_kept(const struct making *making) {
  return making->vertices ? making->key->parts > 1 : !is_trivial(making);
}

static int look_for_kept(struct comm *comm, struct making *making) {
  const struct partition_key *key = making->key;
  int found = 0;
  making->decided = DECIDED_NOTHING;
  if (is_kept(making)) TRY(partition_cache_read(comm, key, making->partition, &found));
  if (found) {
    TRY(stands(comm, making, &found));
    if (found) making->decided = DECIDED_ALL;
    if (found) return OK;
    partition_free(making->partition);
  }
  TRY(comm_agree(comm, partition_init_block(comm, making->partition, key->parts, key->nodes)));
  if (is_cut(making) && !making->vertices)
    TRY(partition_cache_read_owners(comm, key, making->partition, &found));
  if (found) making->decided = DECIDED_OWNERS;
  return OK;
}

/* Rank 0's work, while the others wait: on large graphs, and for many parts, minutes. */
static int by_first(struct comm *comm, struct making *making, int (*work)(void *context)) {
  return comm_agree(comm,
                    comm->rank ? OK : progress_work(&making->progress, "making the partition", work, making));
}

/* METIS divides small graphs by itself. */
static int is_cut_by_all(const struct making *making) {
  return assigns_by(making, PARTITION_SCOTCH) ||
         (assigns_by(making, PARTITION_METIS) && multilevel_takes(making->key->edges, making->directed));
}

/* Rank 0 sees all rows for it, and deals out what it has found. */
static int own_by_first(struct comm *comm, struct making *making) {
  ENDED_BY(part_rows_free) struct part_rows rows = {0};
  FREED int32_t *all = NULL;
  const int64_t nodes = comm->rank ? 0 : making->key->nodes;
  TRY(part_rows_gather(comm, making->held, &rows));
  TRY(comm_agree(comm, memory_arrays("parts of nodes", ROOM(&all, nodes))));
  making->graph = &rows.graph;
  making->all = all;
  TRY(by_first(comm, making, assign));
  return partition_lists_deal(comm, all, making->partition);
}

/* Who owns which node. */
static int own(struct comm *comm, struct making *making) {
  struct partition *partition = making->partition;
  const struct cut_input large = cut_of(making, making->held);
  const int64_t nodes = partition->nodes, first = graph_block(nodes, comm->size, comm->rank),
                count = graph_block(nodes, comm->size, comm->rank + 1) - first;
  if (making->decided == DECIDED_NOTHING) {
    if (is_cut_by_all(making))
      TRY(cut_large(&making->progress, &large, partition->part));
    else if (is_cut(making) || making->vertices)
      TRY(own_by_first(comm, making));
    else
      assign_simple(making, nodes, first, count, partition->part);
  }
  TRY(partition_count_all(comm, partition));
  return making->vertices ? star_expansion_count(comm, making->vertices, partition) : OK;
}

/* Seconds and memory are those of rank 0. */
static int keep(struct comm *comm, struct making *making) {
  struct partition *partition = making->partition;
  partition->seconds = profile_clock() - making->progress.began;
  partition->memory = memory_peak();
  if (comm->rank == 0) say_balance(making);
  return is_kept(making) ? partition_cache_write(&making->progress, making->key, partition) : OK;
}

static int make(struct comm *comm, struct making *making) {
  ENDED_BY(part_rows_free) struct part_rows rows = {0};
  TRY(hold_rows(comm, making));
  TRY(own(comm, making));
  TRY(part_rows_init(comm, making->held, making->partition, &rows));
  TRY(PROFILE_HOST("order", order_parts(comm, making, &rows)));
  TRY(part_rows_return(comm, &rows, making->partition));
  return keep(comm, making);
}

/* Then the graph stays unread, and no file keeps what is made. */
static int make_trivial(struct comm *comm, struct making *making) {
  struct partition *partition = making->partition;
  TRY(comm_agree(comm, partition_init_parts(partition, 1, making->key->nodes)));
  partition->offset[1] = partition->nodes;
  partition->nnz[0] = making->key->edges;
  return OK;
}

static int make_keyed(struct comm *comm, struct making *making) {
  if (is_trivial(making)) return make_trivial(comm, making);
  if (!making->vertices)
    making->stakes = stakes_of(comm, making->key->config, making->dataset, making->key->parts);
  TRY(look_for_kept(comm, making));
  if (making->decided != DECIDED_ALL) {
    const int code = make(comm, making);
    graph_free(&making->read);
    TRY(code);
  }
  return partition_share(comm, making->partition);
}

static int make_shared(struct comm *comm, struct making *making) {
  struct partition_key key = *making->key;
  FREED int32_t *named = NULL;
  making->key = &key;
  making->progress = progress_of(comm);
  if (assigns_by(making, PARTITION_FILE))
    TRY(owners_named(&making->progress, making->vertices, &key, &named));
  making->named = named;
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
  return partition_measure_work(comm, making.block, work, making.partition);
}

/* By the non-zeros of rows, or by their work where these share it badly. work: NULL: rows are alike. */
static int make_balanced(struct comm *comm, struct making *making, const struct row_work *work) {
  const struct partition_key *key = making->key;
  const struct config *config = key->config;
  TRY(make_shared(comm, making));
  making->key = key;
  if (!work || key->parts == 1 || config->partition.method != PARTITION_METIS) return OK;
  TRY(partition_measure_work(comm, making->block, work, making->partition));
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
