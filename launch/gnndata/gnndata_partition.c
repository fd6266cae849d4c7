/* gnndata partition */
#include <omp.h>

#include "io/dataset_path.h"
#include "launch/gnndata/gnndata_commands.h"
#include "partition/cut/partition_ahead.h"
#include "partition/cut/star_expansion.h"
#include "partition/order/order_rate.h"
#include "runtime/base/base.h"
#include "runtime/config/options.h"

struct request {
  const char *path;
  int64_t parts;
  struct config config;
};

/* Options that are keys of [partition], and any key. */
static int set_key(void *of, const struct option *option, char *value) {
  struct request *request = of;
  char assignment[256];
  if (strcmp(option->name, "set") == 0) return config_set(&request->config, value);
  snprintf(assignment, sizeof assignment, "partition.%s=%.200s", option->name, value);
  if (strcmp(option->name, "loa-window") == 0) assignment[strlen("partition.loa")] = '_';
  return config_set(&request->config, assignment);
}

/* clang-format off */
static const struct option table[] = {
#define KEY(name, value, help) {name, value, help, OPTION_READ, 0, 0, 0, set_key, 0, NULL}
    {"parts", "K", "number of parts, 1 to the number of nodes", OPTION_WHOLE, offsetof(struct request, parts), 1, INT32_MAX, NULL, 0, NULL},
    KEY("method", "NAME", "metis, block, random, file or scotch (default metis)"),
    KEY("file", "FILE", "parts that were made elsewhere, for --method file: text, .npy or .h5"),
    KEY("order", "NAME", "order inside a part: given, degree, metis, cluster, loa, loa-cluster, rcm or auto (default auto)"),
    KEY("loa-window", "N", "rows among which loa-cluster looks for the next (default 512)"),
    KEY("seed", "N", "whole number (default 1)"),
    KEY("balance", "X", "largest load of a part over the mean (default 1.05)"),
    KEY("set", "KEY=VALUE", "section.key=VALUE, as gnntrain takes it: order auto weighs epochs, layers, width, device"),
    {0}};
/* clang-format on */

static void print_help(const struct options *options) {
  printf("usage: gnndata partition FILE.h5|synth:OPTIONS --parts K [OPTION]...\n\n"
         "Makes the partition that a run on K ranks would make, keeps it in FILE.h5.parts/ and prints it;\n"
         "of a hypergraph, where the file has no graph.\n\n");
  options_print(options, 16);
}

static int check(const struct options *options, struct request *request) {
  if (options->words > 1)
    FAIL(BAD_INPUT, "two datasets, %s and %s; allowed: one", options->word[0], options->word[1]);
  if (options->words == 0 || !request->parts)
    FAIL(BAD_INPUT, "FILE.h5 and --parts K are needed (see gnndata partition --help)");
  request->path = options->word[0];
  return OK;
}

/* Of a whole graph. */
static struct order_view view_of(const struct partition *partition) {
  return (struct order_view){partition->parts,  0,   partition->nodes, partition->order,
                             partition->offset, NULL};
}

/* The order of one part as given is not rated by itself. */
static int rate(const struct graph *graph, struct partition *partition) {
  if (density_arcs(&partition->density) > 0) return OK;
  return order_rate(graph, view_of(partition), order_rate_step(graph->nodes, RATE_WINDOWS),
                    &partition->density, NULL);
}

static int print_intensity(const struct graph *graph, const struct partition *partition) {
  double intensity;
  TRY(order_intensity(graph, view_of(partition), &intensity));
  log_info("row windows of 16: %.3f arcs a different column", intensity);
  return OK;
}

static void say_kept(const struct dataset *dataset, const struct partition *partition) {
  if (!dataset_file(dataset))
    log_info("not kept: a dataset without a file has no place for it; a run keeps its own in log.dir");
  else if (!partition->cached && partition->path[0])
    log_info("kept in %s", partition->path);
}

static int make(struct comm *comm, const struct request *request, struct dataset *dataset,
                struct graph *block, struct partition *partition) {
  uint64_t hash;
  TRY(graph_read_block(comm, dataset, block, &hash));
  TRY(partition_make(comm, &request->config, dataset, hash, block, NULL, (int)request->parts, NULL,
                     partition));
  if (comm->size == 1) TRY(rate(block, partition));
  partition_print(partition, &request->config, dataset->edges, 1);
  if (comm->size == 1) TRY(print_intensity(block, partition));
  say_kept(dataset, partition);
  return OK;
}

/* A dataset with a hypergraph alone: of its vertices and hyperedges. */
static int make_star_expansion(struct comm *comm, const struct request *request, struct dataset *dataset,
                               struct graph *block, struct partition *expansion) {
  uint64_t hash;
  TRY(star_expansion_read_block(comm, dataset, block));
  TRY(star_expansion_hash(comm, dataset, block, &hash));
  TRY(star_expansion_partition(comm, &request->config, dataset, hash, block, NULL, (int)request->parts, NULL,
                               expansion));
  star_expansion_print(expansion, &request->config, dataset->nodes, dataset->incidences);
  say_kept(dataset, expansion);
  return OK;
}

/* Ranks of a host share its processors, as in a training. */
static int share_threads(struct comm *comm, const struct request *request) {
  char text[160];
  int threads;
  TRY(comm_threads(comm, (int)request->config.runtime.threads, &threads, text, sizeof text));
  omp_set_num_threads(threads);
  if (comm->size > 1) log_info("ranks: %d, %s", comm->size, text);
  return OK;
}

static int run(struct comm *comm, const struct request *request) {
  ENDED_BY(dataset_close) struct dataset dataset = {0};
  ENDED_BY(graph_free) struct graph block = {0};
  ENDED_BY(partition_free) struct partition partition = {0};
  TRY(share_threads(comm, request));
  TRY(comm_agree(comm, dataset_path_probe(request->path)));
  TRY(comm_agree(comm, dataset_path_open(&dataset, request->path)));
  int code = comm->rank
                 ? OK
                 : partition_check_ahead(&request->config, &dataset, !dataset.has_graph, (int)request->parts);
  TRY(comm_agree(comm, code));
  return (dataset.has_graph ? make : make_star_expansion)(comm, request, &dataset, &block, &partition);
}

int gnndata_partition(int argc, char **argv) {
  static struct request request; /* large */
  struct options options = {
      .command = "gnndata partition", .option = table, .into = &request, .print_help = print_help};
  ENDED_BY(comm_close) struct comm comm = {0};
  TRY(config_parse(&request.config, "", "gnndata partition"));
  TRY(options_read(&options, argc, argv));
  if (options.help) return OK;
  TRY(check(&options, &request));
  TRY(comm_open(&comm, &argc, &argv));
  log_open(comm.rank == 0);
  return run(&comm, &request);
}
