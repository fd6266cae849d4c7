/* Collections of graphs for graph classification.
 *
 * TUDataset's folders (Morris et al. 2020): NAME_A.txt has a line "row, column" for each arc, nodes from 1;
 * NAME_graph_indicator.txt the graph of each node, from 1; NAME_graph_labels.txt a label for each graph;
 * NAME_node_labels.txt and NAME_node_attributes.txt, where they are there, a line for each node. Labels and
 * attributes of edges are left out.
 *
 * The text of Xu et al. (2019, GIN): the number of graphs; for each the line "nodes label", then a line "tag
 * degree neighbour neighbour ... [attribute ...]" for each node, its neighbours by their numbers in the graph
 * from 0. */
#include "io/file/csv.h"
#include "io/import/graph_set.h"
#include "io/import/import_arcs.h"
#include "io/import/import_features.h"
#include "io/import/text/named_files.h"
#include "runtime/base/base.h"

/* Where the table NAME_table.txt is. */
static int table_of(const struct named_files *files, const char *table, char path[NAMED_PATH]) {
  char suffix[32];
  snprintf(suffix, sizeof suffix, "_%s.txt", table);
  return named_files_path(files, "", suffix, path);
}

/* Whole numbers, as many in each line. */
struct numbers {
  int64_t cols, room;
  int64_t *value; /* [rows, cols] */
};

static void numbers_free(struct numbers *numbers) {
  free(numbers->value);
}

static int make_numbers(void *context, const struct text *text, const char *line, int64_t rows) {
  struct numbers *n = context;
  if (!n->cols) n->cols = text_count(line);
  if (n->cols < 1 || n->cols > IMPORT_COLUMNS)
    TEXT_FAIL(text, "expected 1 to %d numbers, found %lld", IMPORT_COLUMNS, (long long)n->cols);
  if (rows <= n->room) return OK;
  const int64_t wanted = larger(rows, 2 * n->room), row = n->cols * (int64_t)sizeof *n->value;
  TRY(memory_grow(&n->value, n->room * row, wanted * row, "labels"));
  n->room = wanted;
  return OK;
}

static int take_numbers(void *context, const struct text *text, char *line, int64_t row) {
  const struct numbers *n = context;
  for (int64_t j = 0; j < n->cols; j++)
    TRY(text_int(text, &line, &n->value[row * n->cols + j], "a whole number"));
  return text_end(text, &line, "as many numbers as in the first line");
}

/* cols: how many there must be in a line; 0: any number. expected: lines; 0: any number. */
static int read_numbers(const char *path, int64_t cols, int64_t expected, struct numbers *n, int64_t *rows) {
  const struct csv_reader reader = {.room = make_numbers, .row = take_numbers, .expected = expected};
  n->cols = cols;
  return csv_read(path, &reader, n, rows);
}

/* The graph of each node becomes the node that each graph begins with. */
static int read_starts(struct graph_set *set, const char *path) {
  ENDED_BY(numbers_free) struct numbers graph = {0};
  TRY(read_numbers(path, 1, 0, &graph, &set->nodes));
  if (set->nodes == 0) FAIL(BAD_INPUT, "%s: is empty", path);
  if (set->nodes > INT32_MAX)
    FAIL(BAD_INPUT, "%s: %lld nodes; at most %d", path, (long long)set->nodes, INT32_MAX);
  TRY(memory_arrays("the first nodes of graphs", ROOM(&set->start, set->nodes + 1)));
  for (int64_t v = 0; v < set->nodes; v++) {
    const int64_t last = set->graphs, of = graph.value[v];
    if ((of != last || last == 0) && of != last + 1)
      FAIL(BAD_INPUT,
           "%s:%lld: node %lld is in graph %lld after graph %lld; graphs 1, 2, ... follow each other", path,
           (long long)v + 1, (long long)v + 1, (long long)of, (long long)last);
    if (of > last) set->start[set->graphs++] = v;
  }
  set->start[set->graphs] = set->nodes;
  return OK;
}

static int read_labels(struct graph_set *set, const char *path) {
  ENDED_BY(numbers_free) struct numbers label = {0};
  int64_t rows;
  TRY(read_numbers(path, 1, set->graphs, &label, &rows));
  set->label = label.value;
  label.value = NULL;
  return OK;
}

static int read_tags(struct graph_set *set, const char *path) {
  ENDED_BY(numbers_free) struct numbers tag = {0};
  int64_t rows;
  TRY(read_numbers(path, 0, set->nodes, &tag, &rows));
  set->tags = tag.cols;
  set->tag = tag.value;
  tag.value = NULL;
  return OK;
}

static int read_attributes(struct graph_set *set, struct import *import, const char *path) {
  struct dataset_source *source = &import->source;
  TRY(import_feature_text(import, path));
  set->attributes = source->features;
  set->attribute = source->feature;
  source->feature = NULL;
  source->features = 0;
  return OK;
}

static int read_arcs(struct import *import, const char *path) {
  ENDED_BY(text_close) struct text text = {0};
  TRY(text_open(&text, path));
  return import_pair_lines(import, &text, 1);
}

/* Labels that are given beside would be of nodes. */
static int check_options(const struct import_options *options) {
  if (options->labels) FAIL(BAD_INPUT, "--labels: the labels of %s are those of its graphs", options->input);
  if (options->weights) FAIL(BAD_INPUT, "--weights: %s has no edge values", options->input);
  return OK;
}

int import_tud(struct import *import) {
  ENDED_BY(graph_set_free) struct graph_set set = {0};
  struct named_files files;
  char path[NAMED_PATH], tags[NAMED_PATH];
  TRY(check_options(import->options));
  if (!named_files_find(&files, import->options->input, "", "_A.txt"))
    FAIL(BAD_INPUT, "%s: holds no single NAME_A.txt, as an unpacked TUDataset folder does",
         import->options->input);
  table_of(&files, "graph_indicator", path);
  TRY(read_starts(&set, path));
  import->edges.nodes = set.nodes;
  table_of(&files, "A", path);
  TRY(read_arcs(import, path));
  if (table_of(&files, "node_attributes", path)) TRY(read_attributes(&set, import, path));
  if (table_of(&files, "node_labels", tags)) TRY(read_tags(&set, tags));
  if (table_of(&files, "edge_labels", path) || table_of(&files, "edge_attributes", path))
    log_info("%s: labels and attributes of edges are left out", import->options->input);
  table_of(&files, "graph_labels", path);
  TRY(read_labels(&set, path));
  return graph_set_take(&set, import, path, tags);
}

/* The text of Xu et al.: what a reading of it knows. */
struct gin {
  struct import *import;
  struct text *text;
  struct graph_set *set;
  int64_t room; /* nodes that there is room for */
};

static int make_room(struct gin *gin, int64_t nodes) {
  struct graph_set *set = gin->set;
  const int64_t wanted = larger(nodes, 2 * gin->room), used = gin->room;
  if (nodes <= gin->room) return OK;
  if (nodes > INT32_MAX) TEXT_FAIL(gin->text, "%lld nodes; at most %d", (long long)nodes, INT32_MAX);
  TRY(memory_grow(&set->tag, used * 8, wanted * 8, "labels of nodes"));
  TRY(memory_grow(&set->attribute, used * set->attributes * 4, wanted * set->attributes * 4, "attributes"));
  gin->room = wanted;
  return OK;
}

/* What is left of a line of the first node says how many attributes there are. */
static int settle_attributes(struct gin *gin, const char *line) {
  if (gin->set->nodes > 0) return OK;
  gin->set->attributes = text_count(line);
  if (gin->set->attributes > IMPORT_COLUMNS)
    TEXT_FAIL(gin->text, "%lld attributes; at most %d", (long long)gin->set->attributes, IMPORT_COLUMNS);
  return OK;
}

/* Neighbours in a graph whose nodes are [first, first + count); `line` moves behind them. */
static int read_neighbours(struct gin *gin, char **line, int64_t first, int64_t count) {
  int64_t degree, neighbour;
  TRY(text_int(gin->text, line, &degree, "the number of neighbours"));
  if (degree < 0 || degree > count)
    TEXT_FAIL(gin->text, "%lld neighbours in a graph of %lld nodes", (long long)degree, (long long)count);
  for (int64_t i = 0; i < degree; i++) {
    TRY(text_int(gin->text, line, &neighbour, "a neighbour"));
    if (neighbour < 0 || neighbour >= count)
      TEXT_FAIL(gin->text, "neighbour %lld is outside 0 .. %lld", (long long)neighbour, (long long)count - 1);
    TRY(arcs_add(&gin->import->edges.list, first + neighbour, gin->set->nodes, 1));
  }
  return OK;
}

static int next_line(struct gin *gin, char **line) {
  TRY(text_filled_row(gin->text, "#", line));
  if (!*line)
    TEXT_FAIL(gin->text, "the file ends in graph %lld, behind %lld nodes", (long long)gin->set->graphs,
              (long long)gin->set->nodes);
  return OK;
}

static int read_node(struct gin *gin, int64_t first, int64_t count) {
  struct graph_set *set = gin->set;
  char *line;
  int64_t tag;
  TRY(next_line(gin, &line));
  TRY(text_int(gin->text, &line, &tag, "the tag of a node"));
  TRY(read_neighbours(gin, &line, first, count));
  TRY(settle_attributes(gin, line));
  TRY(make_room(gin, set->nodes + 1));
  set->tag[set->nodes] = tag;
  for (int64_t j = 0; j < set->attributes; j++)
    TRY(text_real(gin->text, &line, &set->attribute[set->nodes * set->attributes + j], "an attribute"));
  set->nodes++;
  return text_end(gin->text, &line, "as many attributes as the first node has");
}

static int read_graph(struct gin *gin) {
  struct graph_set *set = gin->set;
  char *line;
  int64_t count;
  TRY(next_line(gin, &line));
  TRY(text_int(gin->text, &line, &count, "the number of nodes"));
  TRY(text_int(gin->text, &line, &set->label[set->graphs], "the label of a graph"));
  TRY(text_end(gin->text, &line, "nodes and label of a graph"));
  if (count < 1 || count > INT32_MAX)
    TEXT_FAIL(gin->text, "a graph of %lld nodes; 1 to %d are allowed", (long long)count, INT32_MAX);
  const int64_t first = set->start[set->graphs] = set->nodes;
  for (int64_t i = 0; i < count; i++) TRY(read_node(gin, first, count));
  set->graphs++;
  return OK;
}

static int read_graphs(struct gin *gin) {
  struct graph_set *set = gin->set;
  char *line;
  int64_t graphs;
  TRY(text_filled_row(gin->text, "#", &line));
  if (!line) FAIL(BAD_INPUT, "%s: is empty", gin->text->path);
  TRY(text_int(gin->text, &line, &graphs, "the number of graphs"));
  TRY(text_end(gin->text, &line, "the number of graphs"));
  if (graphs < 1) TEXT_FAIL(gin->text, "%lld graphs; at least 1 is expected", (long long)graphs);
  TRY(text_check_rows(gin->text, "1", graphs));
  TRY(memory_arrays("labels of graphs", ROOM(&set->start, graphs + 1), ROOM(&set->label, graphs)));
  set->tags = 1;
  while (set->graphs < graphs) TRY(read_graph(gin));
  set->start[graphs] = set->nodes;
  TRY(text_filled_row(gin->text, "#", &line));
  if (line) TEXT_FAIL(gin->text, "more lines than %lld graphs take", (long long)graphs);
  return OK;
}

int import_gin(struct import *import) {
  ENDED_BY(text_close) struct text text = {0};
  ENDED_BY(graph_set_free) struct graph_set set = {0};
  struct gin gin = {import, &text, &set, 0};
  TRY(check_options(import->options));
  TRY(text_open(&text, import->options->input));
  TRY(read_graphs(&gin));
  import->edges.nodes = set.nodes;
  import->edges.undirected = 1;
  return graph_set_take(&set, import, text.path, text.path);
}
