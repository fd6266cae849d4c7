/* gnndata info */
#include <inttypes.h>
#include <sys/stat.h>

#include "io/dataset_path.h"
#include "launch/gnndata/gnndata_commands.h"
#include "partition/cut/partition_cache.h"
#include "runtime/base/base.h"
#include "runtime/base/csr.h"
#include "runtime/config/options.h"

enum { BINS = 40, BAR = 40, CLASSES_SHOWN = 20, EDGE_BLOCK = DATASET_BLOCK / 4, PIECE = 1 << 16 };

static int set_layout(void *gpu, const struct option *option, char *name) {
  (void)option;
  *(const char **)gpu = name ? name : cost_model_h200.name;
  return OK;
}

static const struct option table[] = {
    {"layout", "GPU",
     "also how densely the arcs pack, before and after the columns of each window of 16\n"
     "                  rows are moved together, and for each width and precision the tiles and condensed\n"
     "                  windows that a GPU of that name (NVIDIA H200, or one that gnnbench calibrate has\n"
     "                  measured) would take, their share of the arcs, bytes an arc and predicted ms: as\n"
     "                  chosen, of the gather alone, with all windows condensed; of a hypergraph, the same\n"
     "                  of its incidences: sums to hyperedges, sums back",
     OPTION_MAYBE, 0, 0, 0, set_layout, 0, NULL},
    {0}};

static void print_help(const struct options *options) {
  printf("usage: gnndata info FILE.h5|synth:OPTIONS [--layout[=GPU]]\n\n"
         "Says what a dataset holds: size, degrees with their distribution, features, classes, splits,\n"
         "and the partitions that are kept beside it.\n\n");
  options_print(options, 15);
}

/* What one pass over the rows of the graph, or over the hyperedges, tells. */
struct sizes {
  int64_t least, most, single; /* entries of a row; rows of one */
  int64_t bin[BINS];           /* rows of 0, 1, 2-3, 4-7, ... */
  int64_t self_loops;
  int64_t alone; /* nodes without a neighbour other than themselves; vertices in no hyperedge */
};

static void count_size(struct sizes *s, int64_t size) {
  int b = 0;
  s->least = smaller(s->least, size);
  s->most = larger(s->most, size);
  s->single += size == 1;
  while (size >> b) b++;
  s->bin[b < BINS ? b : BINS - 1]++;
}

/* Entries [first, first + count) of the rows, which were read together. */
struct entries {
  const int64_t *start;
  int64_t rows, first, count;
  const int32_t *id;
};

static void mark(uint8_t *touched, int64_t node) {
  if (!touched[node]) __atomic_store_n(&touched[node], 1, __ATOMIC_RELAXED);
}

/* Marks the nodes of arcs [from, to) of those read that lead to another node; returns how many do not. */
static int64_t mark_ends(const struct entries *e, int64_t from, int64_t to, uint8_t *touched) {
  int64_t loops = 0, row = csr_row_of(e->start, 0, e->rows, e->first + from);
  for (int64_t i = from; i < to; i++) {
    while (e->first + i >= e->start[row + 1]) row++;
    loops += e->id[i] == row;
    if (e->id[i] == row) continue;
    mark(touched, e->id[i]);
    mark(touched, row);
  }
  return loops;
}

static int64_t mark_vertices(const struct entries *e, int64_t from, int64_t to, uint8_t *touched) {
  for (int64_t i = from; i < to; i++) mark(touched, e->id[i]);
  return 0;
}

static int count_rows(struct dataset *d, enum rows_kind kind, struct sizes *s) {
  FREED int64_t *start = NULL;
  FREED int32_t *id = NULL;
  FREED uint8_t *touched = NULL;
  const struct dataset_rows *of = &d->rows[kind];
  TRY(memory_arrays("row offsets and marks of nodes", ROOM(&start, of->rows + 1), ROOM(&touched, d->nodes)));
  TRY(memory_arrays("a block of ids", ROOM(&id, smaller(of->entries, EDGE_BLOCK))));
  TRY(dataset_read_starts(d, kind, 0, of->rows, start));
  *s = (struct sizes){.least = INT64_MAX};
  for (int64_t v = 0; v < of->rows; v++) count_size(s, start[v + 1] - start[v]);
  for (int64_t first = 0; first < of->entries; first += EDGE_BLOCK) {
    int64_t count = smaller(of->entries - first, EDGE_BLOCK);
    TRY(dataset_read_entries(d, kind, first, count, id, NULL));
    const struct entries e = {start, of->rows, first, count, id};
    int64_t loops = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(+ : loops)
    for (int64_t from = 0; from < count; from += PIECE) {
      int64_t to = smaller(from + PIECE, count);
      loops += kind == GRAPH_ROWS ? mark_ends(&e, from, to, touched) : mark_vertices(&e, from, to, touched);
    }
    s->self_loops += loops;
  }
  for (int64_t v = 0; v < d->nodes; v++) s->alone += !touched[v];
  return OK;
}

static void print_degrees(const struct dataset *d, const struct sizes *g) {
  int64_t largest = 1;
  for (int b = 0; b < BINS; b++) largest = larger(largest, g->bin[b]);
  printf("degree       min %" PRId64 ", mean %.2f, max %" PRId64 "\n", g->least,
         (double)d->edges / (double)d->nodes, g->most);
  for (int b = 0; b < BINS; b++) {
    char range[48];
    int64_t low = b ? (int64_t)1 << (b - 1) : 0, high = b ? 2 * low - 1 : 0;
    if (high < g->least || low > g->most) continue;
    if (low == high)
      snprintf(range, sizeof range, "%" PRId64, low);
    else
      snprintf(range, sizeof range, "%" PRId64 "-%" PRId64, low, high);
    int bar = (int)((g->bin[b] * BAR + largest - 1) / largest);
    printf("%20s %10" PRId64 " %.*s\n", range, g->bin[b], bar, "########################################");
  }
  printf("isolated     %" PRId64 " nodes\nself loops   %" PRId64 "\n", g->alone, g->self_loops);
}

static int show_graph(struct dataset *d) {
  struct sizes sizes = {0};
  if (!d->has_graph) return OK;
  printf("arcs         %" PRId64 ", %s%s\n", d->edges,
         d->directed ? "directed" : "symmetric (each edge both ways)", d->weighted ? ", weighted" : "");
  TRY(count_rows(d, GRAPH_ROWS, &sizes));
  print_degrees(d, &sizes);
  return OK;
}

static int show_hypergraph(struct dataset *d) {
  struct sizes sizes = {0};
  if (d->hyperedges == 0) return OK;
  TRY(count_rows(d, HYPER_ROWS, &sizes));
  printf("hyperedges   %" PRId64 ", %" PRId64 " incidences, %" PRId64 " of one vertex\n", d->hyperedges,
         d->incidences, sizes.single);
  printf("size         min %" PRId64 ", mean %.2f, max %" PRId64 "\n", sizes.least,
         (double)d->incidences / (double)d->hyperedges, sizes.most);
  printf("vertices     %" PRId64 " in no hyperedge, mean degree %.2f\n", sizes.alone,
         (double)d->incidences / (double)d->nodes);
  return OK;
}

static int show_graphs(struct dataset *d) {
  FREED int64_t *start = NULL;
  int64_t least = INT64_MAX, most = 0;
  if (d->graphs == 0) return OK;
  TRY(dataset_read_graphs(d, &start));
  for (int64_t g = 0; g < d->graphs; g++) {
    least = smaller(least, start[g + 1] - start[g]);
    most = larger(most, start[g + 1] - start[g]);
  }
  printf("graphs       %" PRId64 " of %" PRId64 " to %" PRId64
         " nodes, mean %.2f; labels and splits are theirs\n",
         d->graphs, least, most, (double)d->nodes / (double)d->graphs);
  return OK;
}

/* Dense features can be larger than memory: the share of the first block stands for all. */
static int show_dense(struct dataset *d, int64_t rows, float *value) {
  int64_t filled = 0;
  TRY(dataset_read_features(d, 0, rows, value));
  for (int64_t i = 0; i < rows * d->features; i++) filled += value[i] != 0;
  printf("features     %" PRId64 ", dense, %.4g%% not zero%s\n", d->features,
         100. * (double)filled / ((double)rows * (double)d->features),
         rows < d->nodes ? " (in the first rows)" : "");
  return OK;
}

static int show_features(struct dataset *d) {
  FREED float *value = NULL;
  if (!d->has_features) {
    printf("features     none\n");
    return OK;
  }
  if (d->sparse) {
    printf("features     %" PRId64 ", sparse rows, %" PRId64 " entries, %.4g%% not zero\n", d->features,
           d->rows[FEATURE_ROWS].entries,
           100. * (double)d->rows[FEATURE_ROWS].entries / ((double)d->nodes * (double)d->features));
    return OK;
  }
  int64_t rows = smaller(DATASET_BLOCK / (d->features * (int64_t)sizeof *value) + 1, d->nodes);
  TRY(memory_arrays("a block of features", ROOM(&value, rows * d->features)));
  return show_dense(d, rows, value);
}

static int count_label(struct dataset *d, int64_t *members, int64_t *without, int32_t *label) {
  TRY(dataset_read_label(d, 0, d->nodes, label));
  for (int64_t v = 0; v < d->nodes; v++) {
    if (label[v] < 0)
      ++*without;
    else
      members[label[v]]++;
  }
  return OK;
}

static int count_labels(struct dataset *d, int64_t *members, int64_t *without, uint8_t *labels) {
  int64_t block = DATASET_BLOCK / d->classes + 1;
  for (int64_t first = 0; first < d->nodes; first += block) {
    int64_t rows = smaller(d->nodes - first, block);
    TRY(dataset_read_labels(d, first, rows, labels));
    for (int64_t v = 0; v < rows; v++) {
      int64_t any = 0;
      for (int64_t c = 0; c < d->classes; c++) {
        members[c] += labels[v * d->classes + c];
        any += labels[v * d->classes + c];
      }
      *without += any == 0;
    }
  }
  return OK;
}

/* name: NULL where they have none. */
static void print_classes(const struct dataset *d, char *const *name, const int64_t *members,
                          int64_t without) {
  const int64_t all = d->graphs > 0 ? d->graphs : d->nodes;
  const char *what = d->graphs > 0 ? "graphs" : "nodes";
  printf("classes      %" PRId64 ", %s, %" PRId64 " %s without a label\n", d->classes,
         d->task == TASK_MULTILABEL ? "multilabel" : "multiclass", without - (d->nodes - all), what);
  for (int64_t c = 0; c < d->classes && c < CLASSES_SHOWN; c++)
    printf("%20" PRId64 " %10" PRId64 " %s, %.2f%%%s%s\n", c, members[c], what,
           100. * (double)members[c] / (double)all, name ? "  " : "", name ? name[c] : "");
  if (d->classes > CLASSES_SHOWN)
    printf("                     and %" PRId64 " classes more\n", d->classes - CLASSES_SHOWN);
}

static int show_classes(struct dataset *d) {
  FREED int64_t *members = NULL;
  FREED void *labels = NULL;
  int64_t without = 0;
  if (d->task == TASK_NONE) {
    printf("classes      none\n");
    return OK;
  }
  int64_t block = d->task == TASK_MULTILABEL ? (DATASET_BLOCK / d->classes + 1) * d->classes
                                             : d->nodes * (int64_t)sizeof(int32_t);
  TRY(memory_arrays("sizes of classes", ROOM(&members, d->classes)));
  TRY(memory_alloc(&labels, block, "labels"));
  TRY(d->task == TASK_MULTILABEL ? count_labels(d, members, &without, labels)
                                 : count_label(d, members, &without, labels));
  char **name;
  TRY(dataset_read_class_names(d, &name));
  print_classes(d, name, members, without);
  h5_free_names(name, d->classes);
  return OK;
}

static int show_splits(struct dataset *d) {
  printf("splits       %" PRId64 "\n", d->splits);
  for (int64_t s = 0; s < d->splits; s++) {
    printf("%20" PRId64 "  ", s);
    for (int p = 0; p < SPLIT_COUNT; p++) {
      int64_t *node, count;
      TRY(dataset_read_split(d, s, (enum split)p, &node, &count));
      printf("%s%s %" PRId64, p ? ", " : "", split_name[p], count);
      free(node);
    }
    printf("\n");
  }
  return OK;
}

/* Each with what choose predicts for its order at one product, so that orders can be compared. */
static int show_partition(const struct partition_kept *kept, void *context) {
  struct cost_case product = {&cost_model_h200, PRECISION_BF16, 128, 0, {0, 0}};
  char text[400];
  int *shown = context;
  int automatic = strcmp(kept->order, kept->chosen) != 0;
  if (!(*shown)++) printf("partitions\n");
  printf("%20" PRId64 "  %s, order %s%s%s, made in %.1f s (order %.2f s)\n", kept->parts,
         kept->parts > 1 ? kept->method : "whole", kept->order, automatic ? ": " : "",
         automatic ? kept->chosen : "", kept->seconds, kept->order_seconds);
  if (density_arcs(&kept->density) > 0)
    printf("                      %.1f%% of the arcs in cells above 3.5%% density; predicted %s\n",
           100 * density_share(&kept->density, DENSE_CELL),
           cost_explain(&product, &kept->density, text, sizeof text));
  return OK;
}

static int show(struct dataset *d, const char *path, const char *gpu) {
  char size[16];
  struct stat status;
  const struct cost_model *model = NULL;
  if (gpu) TRY(gnndata_find_gpu(gpu, &model));
  TRY(dataset_path_open_whole(d, path));
  printf("name         %s\n", d->name);
  if (stat(path, &status) == 0) printf("file         %s, %s\n", path, memory_text(status.st_size, size));
  printf("nodes        %" PRId64 "%s\n", d->nodes,
         d->ids == 2   ? ", named by strings"
         : d->ids == 1 ? ", with ids of their own"
                       : "");
  TRY(show_graph(d));
  TRY(show_hypergraph(d));
  TRY(show_graphs(d));
  TRY(show_features(d));
  TRY(show_classes(d));
  TRY(show_splits(d));
  int shown = 0;
  TRY(partition_cache_list(path, show_partition, &shown));
  return model ? gnndata_show_layout(d, model) : OK;
}

int gnndata_info(int argc, char **argv) {
  const char *gpu = NULL;
  ENDED_BY(dataset_close) struct dataset d = {0};
  struct options options = {
      .command = "gnndata info", .option = table, .into = &gpu, .print_help = print_help};
  TRY(options_read(&options, argc, argv));
  if (options.help) return OK;
  if (options.words != 1)
    FAIL(BAD_INPUT, "usage: gnndata info FILE.h5 [--layout[=GPU]] (one file is expected)");
  return show(&d, options.word[0], gpu);
}
