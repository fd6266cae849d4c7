/* gnndata partition */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/gnndata/gnndata_commands.h"
#include "partition/cut/partition_ahead.h"
#include "partition/cut/star_expansion.h"
#include "partition/order/order_rate.h"
#include "runtime/base/error.h"
#include "runtime/base/log.h"

struct request {
  const char *path;
  int parts;
  int help;
  struct config config;
};

/* Options that are keys of [partition]. */
static const struct {
  const char *option, *key, *help;
} keys[] = {
    {"--method", "partition.method", "metis, block or random (default metis)"},
    {"--order", "partition.order",
     "order inside a part: given, degree, metis, cluster, loa, rcm or auto (default auto)"},
    {"--loa-window", "partition.loa_window", "rows among which loa looks for the next (default 512)"},
    {"--seed", "partition.seed", "whole number (default 1)"},
    {"--balance", "partition.balance", "largest load of a part over the mean (default 1.05)"},
};
enum { KEYS = sizeof keys / sizeof keys[0] };

static void print_help(void) {
  printf("usage: gnndata partition FILE.h5 --parts K [OPTION]...\n\n"
         "Makes the partition that a run on K ranks would make, keeps it in FILE.h5.parts/ and prints it;\n"
         "of a hypergraph, where the file has no graph.\n\n"
         "  %-12s %s\n",
         "--parts", "number of parts, 1 to the number of nodes");
  for (int i = 0; i < KEYS; i++) printf("  %-12s %s\n", keys[i].option, keys[i].help);
  printf("  %-12s %s\n", "--set",
         "section.key=VALUE, as gnntrain takes it: order auto weighs epochs, layers, width, device");
}

static int set_parts(const char *text, int *parts) {
  char *end;
  errno = 0;
  long value = strtol(text, &end, 10);
  if (errno || end == text || *end || value < 1 || value > INT32_MAX)
    FAIL(BAD_INPUT, "--parts %s: a whole number from 1 to %d is allowed", text, INT32_MAX);
  *parts = (int)value;
  return OK;
}

static int set_option(struct request *request, const char *option, const char *value) {
  char assignment[256];
  if (strcmp(option, "--parts") == 0) return set_parts(value, &request->parts);
  if (strcmp(option, "--set") == 0) return config_set(&request->config, value);
  for (int i = 0; i < KEYS; i++) {
    if (strcmp(option, keys[i].option) != 0) continue;
    snprintf(assignment, sizeof assignment, "%s=%.200s", keys[i].key, value);
    return config_set(&request->config, assignment);
  }
  FAIL(BAD_INPUT,
       "unknown option %s; allowed: --parts, --method, --order, --loa-window, --seed, --balance, --set, "
       "--help",
       option);
}

/* "--name VALUE" or "--name=VALUE" at argv[*i]; moves *i to the last word used. */
static int parse_option(int argc, char **argv, int *i, struct request *request) {
  char option[32];
  const char *equals = strchr(argv[*i], '=');
  int length = equals ? (int)(equals - argv[*i]) : (int)strlen(argv[*i]);
  snprintf(option, sizeof option, "%.*s", length, argv[*i]);
  if (!equals && *i + 1 == argc) FAIL(BAD_INPUT, "%s needs a value (see gnndata partition --help)", argv[*i]);
  return set_option(request, option, equals ? equals + 1 : argv[++*i]);
}

static int parse(int argc, char **argv, struct request *request) {
  TRY(config_parse(&request->config, "", "gnndata partition"));
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      request->help = 1;
      return OK;
    }
    if (argv[i][0] == '-') {
      TRY(parse_option(argc, argv, &i, request));
    } else if (request->path) {
      FAIL(BAD_INPUT, "two datasets, %s and %s; allowed: one", request->path, argv[i]);
    } else {
      request->path = argv[i];
    }
  }
  if (!request->path || !request->parts)
    FAIL(BAD_INPUT, "FILE.h5 and --parts K are needed (see gnndata partition --help)");
  return OK;
}

/* This rank's rows and the hash of the whole graph; refuses one that is not what `directed` says. */
static int read_block(struct comm *comm, struct dataset *dataset, struct graph *block, uint64_t *hash) {
  int64_t first = graph_block(dataset->nodes, comm->size, comm->rank);
  int64_t last = graph_block(dataset->nodes, comm->size, comm->rank + 1);
  TRY(comm_agree(comm, graph_read(dataset, first, last - first, block)));
  if (!dataset->directed) TRY(graph_check_symmetric(comm, block));
  *hash = graph_hash(block);
  return comm_reduce(comm, hash, 1, NUMBER_UINT64, REDUCE_SUM);
}

/* The order of one part as given is not rated by itself. */
static int rate(const struct graph *graph, struct partition *partition) {
  struct order_view view = {partition->parts, partition->nodes, partition->order, partition->offset};
  if (density_arcs(&partition->density) > 0) return OK;
  return order_rate(graph, view, order_rate_step(graph->nodes, RATE_WINDOWS), &partition->density);
}

static int print_intensity(const struct graph *graph, const struct partition *partition) {
  struct order_view view = {partition->parts, partition->nodes, partition->order, partition->offset};
  double intensity;
  TRY(order_intensity(graph, view, &intensity));
  log_info("row windows of 16: %.3f arcs a different column", intensity);
  return OK;
}

static int make(struct comm *comm, const struct request *request, struct dataset *dataset,
                struct graph *block, struct partition *partition) {
  uint64_t hash;
  TRY(read_block(comm, dataset, block, &hash));
  TRY(partition_make(comm, &request->config, dataset, hash, block, request->parts, NULL, partition));
  if (comm->size == 1) TRY(rate(block, partition));
  partition_print(partition, &request->config, dataset->edges);
  if (comm->size == 1) TRY(print_intensity(block, partition));
  if (!partition->cached && partition->path[0]) log_info("kept in %s", partition->path);
  return OK;
}

/* A dataset with a hypergraph alone: of its vertices and hyperedges. */
static int make_star_expansion(struct comm *comm, const struct request *request, struct dataset *dataset,
                               struct graph *block, struct partition *expansion) {
  uint64_t hash;
  TRY(star_expansion_read_block(comm, dataset, block));
  TRY(star_expansion_hash(comm, dataset, block, &hash));
  TRY(star_expansion_partition(comm, &request->config, dataset, hash, request->parts, NULL, expansion));
  star_expansion_print(expansion, &request->config, dataset->nodes, dataset->incidences);
  if (!expansion->cached && expansion->path[0]) log_info("kept in %s", expansion->path);
  return OK;
}

static int run(struct comm *comm, const struct request *request) {
  struct dataset dataset = {0};
  struct graph block = {0};
  struct partition partition = {0};
  int code = h5_probe(request->path);
  if (code == OK) code = dataset_open(&dataset, request->path);
  code = comm_agree(comm, code);
  if (code == OK && comm->rank == 0)
    code = partition_check_ahead(&request->config, &dataset, !dataset.has_graph, request->parts);
  code = comm_agree(comm, code);
  if (code == OK)
    code = (dataset.has_graph ? make : make_star_expansion)(comm, request, &dataset, &block, &partition);
  partition_free(&partition);
  graph_free(&block);
  dataset_close(&dataset);
  return code;
}

int gnndata_partition(int argc, char **argv) {
  struct request request = {0};
  struct comm comm = {0};
  TRY(parse(argc, argv, &request));
  if (request.help) {
    print_help();
    return OK;
  }
  TRY(comm_open(&comm, &argc, &argv));
  log_open(comm.rank == 0);
  int code = run(&comm, &request);
  comm_close(&comm);
  return code;
}
