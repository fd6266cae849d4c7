#include "io/import/import_read.h"

#include <limits.h>
#include <sys/stat.h>

#include "io/dataset/dataset.h"
#include "io/file/h5.h"
#include "io/file/path_check.h"
#include "io/import/graph_set.h"
#include "io/import/import.h"
#include "io/import/import_features.h"
#include "io/import/import_labels.h"
#include "io/import/import_split.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile_clock.h"

/* Options that name columns go with tables alone. */
static int check_columns(const struct import_options *options, const struct import_format *format) {
  const struct import_columns *column = &options->column;
  const char *const name[] = {column->id, column->label, column->weight, column->from, column->to};
  static const char *const option[] = {"--id", "--label", "--weight", "--from", "--to"};
  for (int i = 0; i < 5 && !format->tables; i++)
    if (name[i]) FAIL(BAD_INPUT, "%s goes with table only", option[i]);
  if (format->tables && options->weights && !column->weight)
    FAIL(BAD_INPUT, "--weights: which column has them? --weight COLUMN says so");
  if (column->label && options->labels)
    FAIL(BAD_INPUT, "--label and --labels: a column or what stands beside it, not both");
  return OK;
}

/* Whether each option can be understood, before anything is read. */
static int check_options(const struct import_options *options) {
  int64_t count;
  const char *features = options->features, *labels = options->labels;
  if (features && option_has_prefix(features, "random:"))
    TRY(option_count("--features random:", features + 7, 1, IMPORT_COLUMNS, &count));
  if (features && option_has_prefix(features, "degree:"))
    TRY(option_count("--features degree:", features + 7, 1, IMPORT_COLUMNS, &count));
  if (labels && option_has_prefix(labels, "random:"))
    TRY(option_count("--labels random:", labels + 7, 1, DATASET_CLASSES, &count));
  struct split_rule rule;
  if (options->split) TRY(split_rule_parse(&rule, options->split));
  if (options->splits != 1 && (!options->split || rule.kind == SPLIT_FILE || rule.kind == SPLIT_FOLDS))
    FAIL(BAD_INPUT, "--splits goes with --split random:... or per-class:... only");
  if (options->nodes && strcmp(options->format, "edgelist") != 0 &&
      strcmp(options->format, "hypergraph") != 0)
    FAIL(BAD_INPUT,
         "--nodes goes with edgelist and hypergraph only; the other formats say how many nodes there are");
  return OK;
}

const struct import_format import_formats[] = {
    {"npz", "gnn-benchmark, heterophilous-graphs or scipy CSR or COO archive", import_npz, NULL, 0},
    {"edgelist", "a line \"source target [weight]\" for each arc, # or % comments (SNAP)", import_edgelist,
     NULL, 0},
    {"konect", "KONECT's out.* file: % header, ids from 1, weight, time", import_konect, NULL, 0},
    {"mtx", "MatrixMarket coordinate pattern, real or integer; general or symmetric", import_mtx, NULL, 0},
    {"metis", "METIS graph file", import_metis, import_metis_check, 0},
    {"hypergraph", "a line of vertices for each hyperedge; hMETIS (.hgr); KONECT's bipartite out.* (% bip)",
     import_hypergraph, NULL, 0},
    {"allset", "the folder of a hypergraph as AllSet has it: NAME.content, NAME.edges or hyperedges-NAME.txt",
     import_allset, NULL, 0},
    {"ogb", "the folder of an OGB node property set, which holds raw/ and split/", import_ogb, NULL, 0},
    {"tud", "the folder of a TUDataset, NAME_A.txt and so on: graphs that are classified", import_tud, NULL,
     0},
    {"gin", "graphs that are classified, as the authors of GIN publish them: NAME.txt", import_gin, NULL, 0},
    {"dgl", "the folder of DGL's reddit_data.npz and reddit_graph.npz", import_dgl, NULL, 0},
    {"table", "two files, NODES and EDGES (csv, tsv), whose first lines name their columns", import_table,
     import_table_finish, 1},
    {NULL, NULL, NULL, NULL, 0},
};

static int find_format(const char *name, const struct import_format **format) {
  char names[256] = "";
  for (const struct import_format *f = import_formats; f->name; f++) {
    *format = f;
    if (strcmp(f->name, name) == 0) return OK;
    if (names[0]) strncat(names, ", ", sizeof names - strlen(names) - 1);
    strncat(names, f->name, sizeof names - strlen(names) - 1);
  }
  FAIL(BAD_INPUT, "unknown format \"%s\"; allowed: %s", name, names);
}

/* Weights that are all 1 say nothing. */
static void drop_unit_weights(struct csr *graph) {
  for (int64_t e = 0; graph->weight && e < graph->nnz; e++) {
    if (graph->weight[e] < 1.0F || graph->weight[e] > 1.0F) return;
  }
  if (graph->weight) log_info("all edge weights are 1: none are stored");
  free(graph->weight);
  graph->weight = NULL;
}

static int build_graph(struct import *import) {
  const char *input = import->options->input;
  struct dataset_source *source = &import->source;
  if (import->edges.list.count == 0 && import->edges.nodes == 0) FAIL(BAD_INPUT, "%s: holds no arcs", input);
  struct csr graph = {0};
  int code = edges_build(&import->edges, &graph, &source->names.id);
  if (code == OK) drop_unit_weights(&graph);
  source->start = graph.start;
  source->col = graph.col;
  source->weight = graph.weight;
  source->nodes = import->edges.nodes;
  source->directed = import->edges.directed;
  if (code == BAD_INPUT) FAIL(BAD_INPUT, "%s: %s", input, error_message());
  TRY(code);
  int64_t declared = import->declared_nodes;
  if (declared && source->nodes > declared)
    FAIL(BAD_INPUT, "%s: the header declares %lld nodes, %lld different ids are there", input,
         (long long)declared, (long long)source->nodes);
  if (declared && source->nodes < declared)
    log_info("%lld of %lld declared nodes have no arc and no place among the ids: left out",
             (long long)(declared - source->nodes), (long long)declared);
  return OK;
}

int import_check_output(const struct import_options *options) {
  static const char *const inside[] = {"raw", "split", "reddit_data.npz", "reddit_graph.npz",
                                       "reddit_self_loop_graph.npz"};
  enum { INSIDE = sizeof inside / sizeof inside[0], BESIDE = 4 };
  const char *const beside[BESIDE] = {options->features, options->labels, options->split, options->edges};
  const char *inputs[1 + INSIDE + BESIDE + 1] = {NULL};
  char path[INSIDE][PATH_MAX + 32];
  struct stat status;
  int count = 0;
  if (stat(options->input, &status) == 0 && S_ISDIR(status.st_mode)) {
    for (int i = 0; i < INSIDE; i++) {
      snprintf(path[i], sizeof path[i], "%.*s/%s", PATH_MAX, options->input, inside[i]);
      inputs[count++] = path[i];
    }
  } else if (options->input[0]) {
    inputs[count++] = options->input;
  }
  for (int i = 0; i < BESIDE; i++) {
    if (beside[i] && beside[i][0]) inputs[count++] = beside[i];
  }
  TRY(path_check_writable(options->output, inputs));
  return h5_check_replaced(options->output, dataset_format, "dataset");
}

static void set_limit(struct spill *spill, const struct import_options *options) {
  int64_t available = memory_available(), limit = memory_limit(1);
  spill->path = options->output;
  spill->limit = options->memory > 0 ? (int64_t)(options->memory * 0x1p30)
                                     : (available < 0 ? limit : smaller(available, limit)) / 3;
}

int import_read(struct import *import, const struct import_options *options) {
  *import = (struct import){.options = options};
  const struct import_format *format;
  TRY(find_format(options->format, &format));
  TRY(check_options(options));
  TRY(check_columns(options, format));
  const int weights = options->weights || options->column.weight;
  stem_of(options->output, import->source.name, sizeof import->source.name);
  import->edges.list.weighted = weights;
  set_limit(&import->edges.list.spill, options);
  import->edges.undirected = options->undirected;
  import->edges.drop_loops = options->drop_self_loops;
  double begin = profile_clock(), read;
  TRY(format->read(import));
  read = profile_clock();
  if (weights && !import->valued) FAIL(BAD_INPUT, "--weights: %s has no edge values", options->input);
  if (import->valued && !weights) log_info("edge values are left out; --weights keeps them");
  if (!import->source.hyper.start) TRY(build_graph(import));
  import->read = read - begin;
  import->sorted = profile_clock() - read;
  TRY(graph_set_check(import));
  if (format->finish) TRY(format->finish(import));
  TRY(import_features(import));
  TRY(import_labels(import));
  return import_split(import);
}
