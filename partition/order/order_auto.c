#include "partition/order/order_auto.h"

#include <math.h>

#include "kernels/cost/cost_models.h"
#include "partition/graph/coarse_graph.h"
#include "partition/order/order_ranks.h"
#include "partition/order/order_rate.h"
#include "runtime/base/base.h"
#include "runtime/device/device_list.h"

/* Seconds of one thread: measured, and rounded up, on graphs of 0.2 to 2.4 M nodes and 2.5 to 131 M arcs. */
static const double SORT_NODE = 100e-9, CLUSTER_NODE = 2e-6, CLUSTER_ARC = 160e-9, RATE_ARC = 4e-9,
                    ARRANGE_ARC = 100e-9;

/* Threads of the host that a GPU's rank is counted on to have. */
static const double HOST_THREADS = 16;

/* An order is tried when the most it could save is so many times what it takes to make. */
static const double WORTH = 4;

/* Share of the arcs that lie in cells of half to all of what makes a tile: above it, loa-cluster may make
 * tiles. */
static const double NEARLY_TILES = .1;

static const struct cost_model *model_of(const struct comm *comm, const struct config *config) {
  const struct device_ops *const *device = device_list;
  if (comm->device) return comm->device->ops->on_host ? &cost_model_cpu : cost_model_of(comm->device->name);
  const char *name = config->runtime.device;
  int any = strcmp(name, "auto") == 0;
  while (*device && !(any ? (*device)->available() > 0 : strcmp((*device)->name, name) == 0)) device++;
  return *device && !(*device)->on_host ? &cost_model_h200 : &cost_model_cpu;
}

/* The first layer needs no gradient of its input: aggregating before the product with the weights takes one
 * pass, after it two. */
static void count_first(const struct config *config, const struct dataset *dataset, int64_t out,
                        double forward, struct stakes *stakes) {
  int before = !dataset->sparse && dataset->features <= 2 * out;
  stakes->product[0].width = before ? dataset->features : out;
  stakes->product[0].count = before ? forward : forward + 1;
  if (config->runtime.once && config->model.dropout_input == 0 && !dataset->sparse)
    stakes->product[0].count = 0;
}

struct stakes stakes_of(const struct comm *comm, const struct config *config, const struct dataset *dataset,
                        int parts) {
  const struct cost_model *model = model_of(comm, config);
  int64_t layers = config->model.layers, hidden = config->model.hidden, classes = dataset->classes;
  double epochs = (double)config->train.epochs * (double)config->train.runs;
  double forward = 1 + 1 / (double)config->train.eval_every;
  struct stakes stakes = {
      .model = model, .precision = config->runtime.precision, .parts = parts, .weighted = dataset->weighted};
  stakes.threads = model->of_a_thread ? 1 : HOST_THREADS;
  count_first(config, dataset, layers > 1 ? hidden : classes, forward, &stakes);
  stakes.product[1].width = hidden;
  stakes.product[1].count = layers > 2 ? (double)(layers - 2) * (forward + 1) : 0;
  stakes.product[2].width = smaller(hidden, classes);
  stakes.product[2].count = layers > 1 ? forward + 1 : 0;
  for (int i = 0; i < STAKES_KINDS; i++) {
    stakes.product[i].width = larger(stakes.product[i].width, 1);
    stakes.product[i].count *= epochs;
    if (strcmp(config->model.type, "mlp") == 0) stakes.product[i].count = 0; /* sees no edges */
  }
  return stakes;
}

static struct cost_case case_of(const struct stakes *stakes, int kind) {
  return (struct cost_case){
      stakes->model, stakes->precision, stakes->product[kind].width, stakes->weighted, {0, 0}};
}

double stakes_seconds(const struct stakes *stakes, const struct density *density) {
  double seconds = 0;
  for (int i = 0; i < STAKES_KINDS; i++) {
    struct cost_case product = case_of(stakes, i);
    if (stakes->product[i].count > 0) seconds += stakes->product[i].count * choose(&product, density).seconds;
  }
  return seconds / stakes->parts;
}

/* Predicted seconds of making an order and of rating it. */
static double cost_of(enum node_order order, const struct stakes *stakes, double nodes, double arcs) {
  double sampled = fmin(arcs, COARSE_GRAPH_SAMPLE * nodes);
  double seconds = nodes * SORT_NODE + arcs * RATE_ARC;
  if (order == ORDER_CLUSTER || order == ORDER_LOA_CLUSTER)
    seconds += nodes * CLUSTER_NODE + sampled * CLUSTER_ARC;
  if (order == ORDER_LOA_CLUSTER) seconds += arcs * ARRANGE_ARC;
  return seconds / stakes->threads;
}

static int nearly_tiles(const struct stakes *stakes, const struct density *density) {
  struct cost_case product = case_of(stakes, 1);
  struct choice choice = choose(&product, density);
  double nearly = 0;
  for (int b = 1; b < DENSITY_BINS; b++) {
    if (!density->cells[b]) continue;
    double arcs = (double)density->arcs[b] / (double)density->cells[b];
    if (arcs < (double)choice.tile_arcs_least && 2 * arcs >= (double)choice.tile_arcs_least)
      nearly += (double)density->arcs[b];
  }
  return choice.tile_arcs_least <= TILE_CELLS && nearly > NEARLY_TILES * (double)density_arcs(density);
}

/* The most that any order could save over the best so far. */
static double could_save(const struct stakes *stakes, const struct density *density) {
  double least = 0;
  for (int i = 0; i < STAKES_KINDS; i++) {
    struct cost_case product = case_of(stakes, i);
    least += stakes->product[i].count * cost_least(&product, density->rows, density_arcs(density));
  }
  return stakes_seconds(stakes, density) - least / stakes->parts;
}

/* best: its density is of all nodes, whichever of them it has. */
static int is_worth(enum node_order order, const struct stakes *stakes, const struct partition *best) {
  double arcs = (double)density_arcs(&best->density);
  if (best->tried >> order & 1) return 0;
  if (order == ORDER_DEGREE && best->tried >> ORDER_CLUSTER & 1) return 0; /* cluster has weighed it */
  if (order == ORDER_LOA_CLUSTER && !nearly_tiles(stakes, &best->density)) return 0;
  return could_save(stakes, &best->density) >
         WORTH * cost_of(order, stakes, (double)best->density.rows, arcs);
}

static const enum node_order candidates[] = {ORDER_CLUSTER, ORDER_DEGREE, ORDER_LOA_CLUSTER};
enum { CANDIDATES = sizeof candidates / sizeof candidates[0] };

int order_auto_stands(const struct stakes *stakes, const struct partition *partition) {
  for (int i = 0; i < CANDIDATES; i++)
    if (is_worth(candidates[i], stakes, partition)) return 0;
  return 1;
}

static int make_and_rate(const struct order_input *input, enum node_order order, struct partition *partition,
                         struct density *density) {
  TRY(order_nodes(input, order, partition));
  partition->tried |= 1 << order;
  return order_rate_all(input, partition, partition->order, RATE_WINDOWS, density);
}

/* What rank 0 finds: processors and devices of ranks may differ, and choose() with them. */
static int first_says(const struct order_input *input, int *flag) {
  return comm_broadcast(input->progress->comm, flag, sizeof *flag, 0);
}

/* given: seconds of the products in ascending ids. */
static int try_candidates(const struct order_input *input, const struct stakes *stakes,
                          struct partition *partition, int64_t *best, double *given) {
  int64_t bytes = partition->nodes * (int64_t)sizeof *best;
  partition->chosen = ORDER_GIVEN;
  partition->tried = 0;
  TRY(make_and_rate(input, ORDER_GIVEN, partition, &partition->density));
  memcpy(best, partition->order, (size_t)bytes);
  *given = stakes_seconds(stakes, &partition->density);
  for (int i = 0; i < CANDIDATES; i++) {
    struct density density;
    int worth = is_worth(candidates[i], stakes, partition);
    TRY(first_says(input, &worth));
    if (!worth) continue;
    TRY(make_and_rate(input, candidates[i], partition, &density));
    int better = stakes_seconds(stakes, &density) < stakes_seconds(stakes, &partition->density);
    TRY(first_says(input, &better));
    if (!better) continue;
    partition->chosen = candidates[i];
    partition->density = density;
    memcpy(best, partition->order, (size_t)bytes);
  }
  memcpy(partition->order, best, (size_t)bytes);
  return OK;
}

static void say(const struct stakes *stakes, const struct partition *p, double given) {
  double products = 0, seconds = stakes_seconds(stakes, &p->density);
  const char *on = stakes->model->of_a_thread ? " of one thread" : "";
  for (int i = 0; i < STAKES_KINDS; i++) products += stakes->product[i].count;
  if (p->chosen != ORDER_GIVEN)
    log_detail("order: %s, predicted to save %.3g s of %.3g s%s in %.0f sparse products",
               node_order_name[p->chosen], given - seconds, given, on, products);
  else if (p->tried != 1 << ORDER_GIVEN)
    log_detail("order: given, predicted to be the fastest of those tried");
  else
    log_detail("order: given, %.0f sparse products of %.3g s%s do not pay for a search of %.3g s", products,
               given, on,
               cost_of(ORDER_CLUSTER, stakes, (double)p->density.rows, (double)density_arcs(&p->density)));
}

int order_auto(const struct order_input *input, const struct stakes *stakes, struct partition *partition) {
  FREED int64_t *best = NULL;
  double given = 0;
  TRY(comm_agree(input->progress->comm, memory_arrays("order of nodes", ROOM(&best, partition->nodes))));
  TRY(try_candidates(input, stakes, partition, best, &given));
  say(stakes, partition, given);
  return OK;
}
