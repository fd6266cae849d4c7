/* Graphs and what stands beside them, as text. */
#include <stdlib.h>
#include <string.h>

#include "io/dataset/ids.h"
#include "io/file/gzip.h"
#include "io/import/import_read.h"
#include "io/metrics/metrics.h"
#include "runtime/base/error.h"
#include "tests/fuzz/target.h"

static struct import_options options_of(const char *format, const char *input) {
  return (struct import_options){.format = format, .input = input, .output = "out.h5", .splits = 1};
}

/* As it is, then with everything that changes how arcs are taken. */
static void feed_graph(const char *format, const char *name, const uint8_t *data, size_t size) {
  struct import_options options = options_of(format, fuzz_file(name, data, size));
  fuzz_check_text(fuzz_import(&options), data, size);
  options.undirected = options.weights = 1;
  fuzz_import(&options);
  options.drop_self_loops = 1;
  options.weights = 0;
  fuzz_import(&options);
}

void fuzz_edgelist(const uint8_t *data, size_t size) {
  feed_graph("edgelist", "list", data, size);
  struct import_options options = options_of("edgelist", fuzz_path("list"));
  options.nodes = 1000;
  options.labels = "random:3";
  options.split = "per-class:1,1";
  fuzz_import(&options);
}

/* Two files: the nodes as they are, then with what their columns may stand for. */
void fuzz_table(const uint8_t *data, size_t size) {
  struct fuzz_part part[2] = {{data, 0}, {data, 0}};
  fuzz_parts(data, size, part, 2);
  struct import_options options = options_of("table", fuzz_file("nodes.csv", part[0].data, part[0].size));
  options.edges = fuzz_file("edges.csv", part[1].data, part[1].size);
  int taken = fuzz_import(&options);
  options.undirected = 1;
  options.features = "all";
  options.column.label = "label";
  options.column.weight = "weight";
  taken |= fuzz_import(&options);
  options.column = (struct import_columns){.id = "id", .from = "from", .to = "to"};
  options.features = "a,b";
  options.split = "part";
  taken |= fuzz_import(&options);
  for (int i = 0; i < 2; i++) fuzz_check_text(taken, part[i].data, part[i].size);
}

void fuzz_konect(const uint8_t *data, size_t size) {
  feed_graph("konect", "out.graph", data, size);
}

void fuzz_mtx(const uint8_t *data, size_t size) {
  feed_graph("mtx", "graph.mtx", data, size);
}

void fuzz_metis(const uint8_t *data, size_t size) {
  feed_graph("metis", "graph", data, size);
}

void fuzz_hypergraph(const uint8_t *data, size_t size) {
  struct import_options options = options_of("hypergraph", fuzz_file("hyper", data, size));
  fuzz_check_text(fuzz_import(&options), data, size);
  options.nodes = 20;
  fuzz_import(&options);
}

void fuzz_hmetis(const uint8_t *data, size_t size) {
  struct import_options options = options_of("hypergraph", fuzz_file("hyper.hgr", data, size));
  fuzz_check_text(fuzz_import(&options), data, size);
}

/* A folder of one kind, then of the other: features and incidences, hyperedges and labels. */
void fuzz_allset(const uint8_t *data, size_t size) {
  static const char *const file[] = {"content/set.content", "content/set.edges", "lines/hyperedges-set.txt",
                                     "lines/node-labels-set.txt"};
  struct fuzz_part part[4] = {{data, 0}, {data, 0}, {data, 0}, {data, 0}};
  fuzz_parts(data, size, part, 4);
  fuzz_folder("content");
  fuzz_folder("lines");
  for (int i = 0; i < 4; i++) fuzz_file(file[i], part[i].data, part[i].size);
  struct import_options options = options_of("allset", fuzz_path("content"));
  int taken = fuzz_import(&options);
  for (int i = 0; i < 2; i++) fuzz_check_text(taken, part[i].data, part[i].size);
  options.input = fuzz_path("lines");
  options.features = "random:2";
  options.split = "per-class:1,1";
  taken = fuzz_import(&options);
  for (int i = 2; i < 4; i++) fuzz_check_text(taken, part[i].data, part[i].size);
}

/* Arcs, graphs of nodes, their labels, labels and attributes of nodes: of a folder's tables. */
void fuzz_tud(const uint8_t *data, size_t size) {
  static const char *const table[] = {"tud/set_A.txt", "tud/set_graph_indicator.txt",
                                      "tud/set_graph_labels.txt", "tud/set_node_labels.txt",
                                      "tud/set_node_attributes.txt"};
  enum { TABLES = sizeof table / sizeof table[0] };
  struct fuzz_part part[TABLES] = {{NULL, 0}};
  fuzz_parts(data, size, part, TABLES);
  fuzz_folder("tud");
  struct import_options options = options_of("tud", fuzz_path("tud"));
  for (int i = 0; i < TABLES; i++) fuzz_file(table[i], part[i].data, part[i].size);
  options.split = "folds:3";
  int taken = fuzz_import(&options);
  options.undirected = 1;
  options.features = "degree:4";
  options.split = "random:0.5,0.25";
  taken |= fuzz_import(&options);
  for (int i = 0; i < TABLES; i++) fuzz_check_text(taken, part[i].data, part[i].size);
}

void fuzz_gin(const uint8_t *data, size_t size) {
  struct import_options options = options_of("gin", fuzz_file("set.txt", data, size));
  options.split = "folds:3";
  fuzz_check_text(fuzz_import(&options), data, size);
  options.drop_self_loops = 1;
  options.split = "per-class:1,1";
  fuzz_import(&options);
}

/* Five nodes whose ids have gaps, and five whose have none. */
static void feed_beside(const char *name, const uint8_t *data, size_t size, const char *labels) {
  static const char gaps[] = "10 20\n20 30\n30 40\n40 50\n", none[] = "0 1\n1 2\n2 3\n3 4\n";
  const char *path = fuzz_file(name, data, size);
  for (int k = 0; k < 2; k++) {
    struct import_options options = options_of("edgelist", fuzz_path("arcs"));
    fuzz_file("arcs", k ? gaps : none, strlen(k ? gaps : none));
    options.labels = strcmp(name, "labels") == 0 ? path : labels;
    options.features = strcmp(name, "features.csv") == 0 ? path : NULL;
    options.split = strcmp(name, "split") == 0 ? path : NULL;
    fuzz_check_text(fuzz_import(&options), data, size);
  }
  struct import_options hyper = options_of("hypergraph", fuzz_file("hyper", "0 1 2\n2 3 4\n", 12));
  hyper.labels = strcmp(name, "labels") == 0 ? path : NULL;
  hyper.features = strcmp(name, "features.csv") == 0 ? path : NULL;
  fuzz_import(&hyper);
}

void fuzz_labels(const uint8_t *data, size_t size) {
  feed_beside("labels", data, size, NULL);
}

void fuzz_split(const uint8_t *data, size_t size) {
  feed_beside("split", data, size, "random:2");
}

void fuzz_csv(const uint8_t *data, size_t size) {
  feed_beside("features.csv", data, size, NULL);
}

/* Ids that are not negative: each must be found where it was ranked. */
void fuzz_ids(const uint8_t *data, size_t size) {
  int64_t count = (int64_t)(size / sizeof(int64_t)), nodes = 0, *id = NULL;
  int64_t *value = malloc((size_t)count * 2 * sizeof *value + 1), *old = value + count;
  if (!value) return;
  memcpy(value, data, (size_t)count * sizeof *value);
  for (int64_t i = 0; i < count; i++) old[i] = value[i] &= INT64_MAX;
  int code = ids_rank(value, count, &id, &nodes);
  for (int64_t i = 0; code == OK && i < count; i++) {
    if (value[i] < 0 || value[i] >= nodes || ids_find(id, nodes, old[i]) != value[i]) abort();
  }
  free(id);
  free(value);
  fuzz_check_code(code);
}

/* Read a few bytes at a time and many, the bytes are the same. */
void fuzz_gzip(const uint8_t *data, size_t size) {
  enum { MOST = 1 << 22 };
  static char bytes[2][MOST];
  int64_t length[2] = {0, 0}, last[2] = {0, 0};
  const char *path = fuzz_file("bytes.gz", data, size);
  for (int k = 0; k < 2; k++) {
    const int64_t step = k ? 1000 : MOST;
    const char *reason = NULL;
    struct gzip *gzip = gzip_open(path);
    if (!gzip) return;
    while (length[k] < MOST) {
      int64_t room = MOST - length[k] < step ? MOST - length[k] : step;
      last[k] = gzip_read(gzip, bytes[k] + length[k], room, &reason);
      if (last[k] <= 0) break;
      length[k] += last[k];
    }
    if (last[k] < 0 && !reason) abort();
    gzip_close(gzip);
  }
  if ((last[0] < 0) != (last[1] < 0)) abort();
  if (last[0] >= 0 && (length[0] != length[1] || memcmp(bytes[0], bytes[1], (size_t)length[0]) != 0)) abort();
}

void fuzz_metrics(const uint8_t *data, size_t size) {
  static const int64_t place[][2] = {{0, 3}, {1, 0}, {2, INT64_MAX}};
  for (int i = 0; i < 3; i++) {
    struct metrics metrics;
    fuzz_folder("run");
    fuzz_file("run/metrics.jsonl", data, size);
    int code = metrics_open(&metrics, fuzz_path("run"), place[i][0], place[i][1]);
    metrics_close(&metrics);
    fuzz_check_code(code);
  }
}
