/* OGB's node property sets of one graph, as they are downloaded (Hu et al. 2020): FOLDER/raw has edge.csv.gz,
 * num-node-list.csv.gz, node-feat.csv.gz and node-label.csv.gz, or, for large sets, data.npz and
 * node-label.npz; splits are in FOLDER/split/<name>, see ogb_splits. What else is there (years,
 * species, features of edges) is left out. Sets that list every edge once want --undirected. */
#include <assert.h>
#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/csv.h"
#include "io/import/import_arcs.h"
#include "io/import/import_arrays.h"
#include "io/import/import_features.h"
#include "io/import/import_labels.h"
#include "io/import/import_split.h"
#include "runtime/base/base.h"

enum { OGB_PATH = 1200, OGB_NAME = 300 };

/* FOLDER/NAME; the name of OGB's folder is short enough for all that is in it. */
static void ogb_path(char path[OGB_PATH], const char *folder, const char *name) {
  int length = snprintf(path, OGB_PATH, "%s/%s", folder, name);
  assert(length < OGB_PATH);
}

/* Where the table "name" of a folder is: name.csv, or name.csv.gz. Returns 0 when there is neither. */
static int ogb_find(const char *folder, const char *name, char path[OGB_PATH]) {
  static const char *const suffix[] = {".csv", ".csv.gz"};
  int there = 0;
  for (int i = 0; i < 2 && !there; i++) {
    char file[OGB_NAME + 8];
    snprintf(file, sizeof file, "%.*s%s", OGB_NAME, name, suffix[i]);
    ogb_path(path, folder, file);
    there = access(path, F_OK) == 0;
  }
  return there;
}

/* The form of OGB's large sets: data.npz and node-label.npz. */

static int take_nodes(struct import *import, const struct npy *counts) {
  int64_t nodes;
  if (counts->count != 1)
    FAIL(BAD_INPUT, "%s: lists %lld graphs; sets of one graph are read", counts->name,
         (long long)counts->count);
  TRY(npy_int64(counts, 0, 1, &nodes));
  if (nodes < 1) FAIL(BAD_INPUT, "%s: the graph has %lld nodes", counts->name, (long long)nodes);
  import->edges.nodes = nodes;
  return OK;
}

static int take_pairs(struct import *import, const struct npy *pairs) {
  TRY(import_pairs(import, pairs, 0));
  return import_check_size(import->edges.nodes, import->edges.list.count, pairs->name);
}

static int read_data(struct import *import, const struct npz *npz) {
  TRY(import_array(import, npz, "num_nodes_list", take_nodes));
  TRY(import_array(import, npz, "edge_index", take_pairs));
  return npz_has(npz, "node_feat") ? import_array(import, npz, "node_feat", import_feature_array) : OK;
}

/* Nodes, arcs, features and labels from raw/data.npz and raw/node-label.npz. */
static int ogb_archives(struct import *import, const char *raw) {
  char path[OGB_PATH];
  ENDED_BY(npz_close) struct npz data = {0}, label = {0};
  ogb_path(path, raw, "data.npz");
  TRY(npz_open(&data, path));
  TRY(read_data(import, &data));
  ogb_path(path, raw, "node-label.npz");
  if (access(path, F_OK) != 0) return OK;
  TRY(npz_open(&label, path));
  return import_array(import, &label, "node_label", import_label_array);
}

/* A node id a line. */
static int read_part(const char *folder, int p, uint8_t *part, int64_t nodes) {
  static const char *const name[SPLIT_COUNT] = {"train", "valid", "test"};
  ENDED_BY(text_close) struct text text = {0};
  char path[OGB_PATH], place[OGB_PATH + 32], *line;
  ogb_find(folder, name[p], path);
  TRY(text_open(&text, path));
  for (int64_t node;;) {
    TRY(text_row(&text, "#", &line));
    if (!line) return OK;
    TRY(text_int(&text, &line, &node, "a node id"));
    TRY(text_end(&text, &line, "one node id"));
    if (node >= 0 && node < nodes && part[node] == NO_PART) {
      part[node] = (uint8_t)p;
      continue;
    }
    snprintf(place, sizeof place, "%s:%lld", path, (long long)text.line);
    TRY(splits_put(part, nodes, node, p, place));
  }
}

static int read_split(struct import *import, const char *folder, int64_t k, uint8_t *part) {
  int64_t nodes = import->edges.nodes;
  memset(part, NO_PART, (size_t)nodes);
  for (int p = 0; p < SPLIT_COUNT; p++) TRY(read_part(folder, p, part, nodes));
  return splits_list(&import->source, k, part, nodes);
}

static int is_visible(const struct dirent *entry) {
  return entry->d_name[0] != '.';
}

static int read_splits(struct import *import, const char *folder, struct dirent **entry, int entries) {
  FREED uint8_t *part = NULL;
  char path[OGB_PATH];
  TRY(splits_new(&import->source, entries));
  TRY(memory_alloc(&part, import->edges.nodes, "the parts of a split"));
  for (int k = 0; k < entries; k++) {
    if (entries > 1) log_info("split %d: %s", k, entry[k]->d_name);
    ogb_path(path, folder, entry[k]->d_name);
    TRY(read_split(import, path, k, part));
  }
  return OK;
}

/* FOLDER/split/<name>/{train,valid,test}.csv.gz, a node id a line; several splits in the order of their
 * names. Nothing happens where there is no FOLDER/split. */
static int ogb_splits(struct import *import, const char *folder) {
  char splits[OGB_PATH];
  struct dirent **entry = NULL;
  ogb_path(splits, folder, "split");
  int entries = scandir(splits, &entry, is_visible, alphasort);
  int code = entries > 0 ? read_splits(import, splits, entry, entries) : OK;
  for (int k = 0; k < entries; k++) free(entry[k]);
  free(entry);
  return code;
}

/* The only number of a file. */
static int read_count(const char *path, int64_t *value) {
  ENDED_BY(text_close) struct text text = {0};
  char *line;
  TRY(text_open(&text, path));
  TRY(text_row(&text, "#", &line));
  if (!line) TEXT_FAIL(&text, "%s", "the file ends after 0 of 1 rows");
  TRY(text_int(&text, &line, value, "how many there are"));
  TRY(text_end(&text, &line, "one number"));
  if (*value < 0) TEXT_FAIL(&text, "%lld is no count", (long long)*value);
  TRY(text_row(&text, "#", &line));
  if (line) TEXT_FAIL(&text, "%s", "there is more than one graph; sets of one graph are read");
  return OK;
}

static int read_arcs(struct import *import, const char *raw) {
  ENDED_BY(text_close) struct text text = {0};
  char path[OGB_PATH], counts[OGB_PATH];
  int64_t declared = -1;
  if (ogb_find(raw, "num-edge-list", counts)) TRY(read_count(counts, &declared));
  ogb_find(raw, "edge", path);
  TRY(text_open(&text, path));
  TRY(import_pair_lines(import, &text, 0));
  int64_t count = import->edges.list.count;
  if (declared >= 0 && count != declared)
    FAIL(BAD_INPUT, "%s:1: declares %lld edges, %s has %lld", counts, (long long)declared, path,
         (long long)count);
  return OK;
}

/* Labels of nodes, in one column or as 0 and 1 in several. */
struct labels {
  int64_t nodes, cols;
  int64_t *label; /* [nodes, cols] */
};

static void labels_free(struct labels *labels) {
  free(labels->label);
}

static int make_labels(void *context, const struct text *text, const char *line, int64_t rows) {
  struct labels *labels = context;
  (void)rows;
  if (labels->cols) return OK;
  int64_t cols = text_count(line);
  if (cols < 1 || cols > DATASET_CLASSES)
    TEXT_FAIL(text, "expected 1 to %d numbers, found %lld", DATASET_CLASSES, (long long)cols);
  TRY(text_check_rows(text, line, labels->nodes));
  labels->cols = cols;
  return memory_arrays("labels", ROOM(&labels->label, labels->nodes * cols));
}

/* A whole number, which OGB also writes as 2.0; in a single column none is -1 or nan. */
static int take_label(const struct labels *labels, const struct text *text, char **line, int64_t *label) {
  char quote[TEXT_QUOTE];
  double value, least = labels->cols == 1 ? -1 : 0, most = labels->cols == 1 ? 0x1p53 - 1 : 1;
  text_more(line);
  const char *shown = text_quote(*line, quote);
  TRY(text_double(text, line, &value, "a label"));
  if (labels->cols == 1 && isnan(value)) value = -1;
  if (!(value >= least && value <= most && value == trunc(value)))
    TEXT_FAIL(text, "label %s; allowed: %s", shown,
              labels->cols == 1 ? "-1 or nan (none), 0, 1, ... 2^53 - 1" : "0, 1");
  *label = (int64_t)value;
  return OK;
}

static int take_labels(void *context, const struct text *text, char *line, int64_t row) {
  const struct labels *labels = context;
  for (int64_t j = 0; j < labels->cols; j++)
    TRY(take_label(labels, text, &line, &labels->label[row * labels->cols + j]));
  return text_end(text, &line, "as many values as in the first row");
}

static int several_labels(struct import *import, const struct labels *labels) {
  struct dataset_source *source = &import->source;
  int64_t count = labels->nodes * labels->cols;
  TRY(memory_alloc(&source->labels, count, "labels"));
  for (int64_t i = 0; i < count; i++) source->labels[i] = (uint8_t)labels->label[i];
  source->classes = labels->cols;
  source->task = TASK_MULTILABEL;
  return OK;
}

static int read_labels(struct import *import, const char *path) {
  ENDED_BY(labels_free) struct labels labels = {.nodes = import->edges.nodes};
  const struct csv_reader reader = {.room = make_labels, .row = take_labels, .expected = labels.nodes};
  int64_t rows;
  TRY(csv_read(path, &reader, &labels, &rows));
  return labels.cols == 1 ? import_label_values(&import->source, labels.label, labels.nodes, path)
                          : several_labels(import, &labels);
}

static int read_text(struct import *import, const char *raw) {
  char path[OGB_PATH];
  if (ogb_find(raw, "num-node-dict", path) || ogb_find(raw, "triplet-type-list", path))
    FAIL(BAD_INPUT, "%s: the graph has several kinds of nodes or edges; graphs of one kind are read", path);
  ogb_find(raw, "num-node-list", path);
  TRY(read_count(path, &import->edges.nodes));
  if (import->edges.nodes < 1) FAIL(BAD_INPUT, "%s:1: the graph has no nodes", path);
  TRY(read_arcs(import, raw));
  char what[OGB_PATH + 16];
  snprintf(what, sizeof what, "%s:1: nodes", path);
  TRY(import_check_size(import->edges.nodes, import->edges.list.count, what));
  if (ogb_find(raw, "node-feat", path)) TRY(import_feature_text(import, path));
  return ogb_find(raw, "node-label", path) ? read_labels(import, path) : OK;
}

int import_ogb(struct import *import) {
  const char *folder = import->options->input;
  char raw[OGB_PATH], path[OGB_PATH];
  if (strlen(folder) > OGB_PATH - 2 * OGB_NAME)
    FAIL(BAD_INPUT, "the path \"%.60s...\" is longer than %d bytes", folder, OGB_PATH - 2 * OGB_NAME);
  ogb_path(raw, folder, "raw");
  if (access(raw, F_OK) != 0)
    FAIL(BAD_INPUT, "%s: holds no folder raw, as an unpacked node property set of OGB does", folder);
  ogb_path(path, raw, "data.npz");
  TRY(access(path, F_OK) == 0 ? ogb_archives(import, raw) : read_text(import, raw));
  return ogb_splits(import, folder);
}
