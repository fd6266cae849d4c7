#include "io/import/text/table_nodes.h"

#include <unistd.h>

#include "io/import/import_features.h"
#include "io/import/import_labels.h"
#include "io/import/import_split.h"
#include "io/import/text/table.h"
#include "runtime/base/base.h"

struct nodes {
  struct import *import;
  struct table table;
  int64_t features;
  int all; /* features are all columns of numbers, which the first row will tell */
  int has_label, has_split;
  int64_t labels;     /* columns of labels, 0 or 1 of each node; 0: there is one column of classes, or none */
  int64_t rows, room; /* rows known so far; room for these */
  uint8_t *part;
  int32_t *label;   /* by number of import->labels; -1: none */
  uint8_t *bits;    /* [room, labels] */
  int64_t first;    /* the first row of the block */
  int64_t row_room; /* of `row` */
  struct node_row {
    char *id, *label; /* in the block; label NULL: none */
    int64_t line;
  } * row; /* of the block */
};

static void nodes_free(struct nodes *nodes) {
  table_close(&nodes->table);
  free_all(nodes->part, nodes->label, nodes->bits, nodes->row);
}

/* Whether an option of features or splits names no column but a file beside. */
static int is_beside(const struct csv_head *head, const char *option) {
  if (csv_head_column(head, option) >= 0) return 0;
  return option_has_suffix(option, ".npy") || option_has_suffix(option, ".npz") || access(option, F_OK) == 0;
}

typedef int add_column(struct nodes *nodes, int64_t column);

static int add_feature(struct nodes *nodes, int64_t column) {
  TRY(table_set_role(&nodes->table, column, ROLE_FEATURE));
  nodes->table.column[column].place = nodes->features++;
  return OK;
}

/* Its name becomes that of a class. */
static int add_label(struct nodes *nodes, int64_t column) {
  const char *name = nodes->table.head.name[column], *fault = dataset_text_fault(name, DATASET_CLASS_NAME, 1);
  char quote[CSV_QUOTE];
  int32_t number;
  int is_new;
  TRY(table_set_role(&nodes->table, column, ROLE_LABEL));
  if (fault) FAIL(BAD_INPUT, "%s:1: column %s %s", nodes->table.text.path, csv_quote(name, quote), fault);
  TRY(texts_add(&nodes->import->labels, name, &number, &is_new));
  nodes->table.column[column].place = nodes->labels++;
  return OK;
}

/* "a,b,c": a line of names as the table's first one has them. */
static int name_columns(struct nodes *nodes, const char *what, const char *option, add_column *add) {
  struct table *table = &nodes->table;
  FREED char *names = NULL;
  int64_t bytes = (int64_t)strlen(option) + 1, column;
  TRY(memory_arrays("names of columns", ROOM(&names, bytes)));
  memcpy(names, option, (size_t)bytes);
  for (char *at = names, *name; at;) {
    TRY(csv_cell(&table->text, ',', &at, &name));
    TRY(csv_head_find(&table->head, &table->text, what, name, &column));
    TRY(add(nodes, column));
  }
  return OK;
}

static int find_features(struct nodes *nodes) {
  const char *option = nodes->import->options->features;
  if (!option || option_has_prefix(option, "random:")) return OK;
  nodes->all = strcmp(option, "all") == 0;
  if (!nodes->all && is_beside(&nodes->table.head, option)) return OK;
  nodes->import->taken.features = 1;
  return nodes->all ? OK : name_columns(nodes, "--features", option, add_feature);
}

static int find_split(struct nodes *nodes) {
  const char *option = nodes->import->options->split;
  struct split_rule rule;
  if (!option) return OK;
  TRY(split_rule_parse(&rule, option));
  if (rule.kind != SPLIT_FILE || is_beside(&nodes->table.head, option)) return OK;
  nodes->has_split = nodes->import->taken.split = 1;
  return table_find_role(&nodes->table, option, ROLE_SPLIT);
}

/* One column of classes, or several of 0 and 1. */
static int find_labels(struct nodes *nodes, const char *option) {
  if (!option) return OK;
  if (csv_head_column(&nodes->table.head, option) < 0 && strchr(option, ','))
    return name_columns(nodes, "--label", option, add_label);
  nodes->has_label = 1;
  return table_find_role(&nodes->table, option, ROLE_LABEL);
}

static int find_columns(struct nodes *nodes) {
  const struct import_columns *column = &nodes->import->options->column;
  if (!column->id) TRY(table_take_role(&nodes->table, ROLE_ID));
  TRY(table_find_role(&nodes->table, column->id, ROLE_ID));
  TRY(find_labels(nodes, column->label));
  TRY(find_split(nodes));
  return find_features(nodes);
}

/* Of the columns without a role those whose cell of the first row is a number. An empty cell does not tell.
 */
static int find_numbers(struct nodes *nodes, const struct text *text, const char *line) {
  const struct table *table = &nodes->table;
  FREED char *row = NULL;
  int64_t bytes = (int64_t)strlen(line) + 1;
  char *at, *cell, *end, quote[CSV_QUOTE];
  TRY(memory_arrays("the first row", ROOM(&row, bytes)));
  memcpy(row, line, (size_t)bytes);
  at = row;
  for (int64_t c = 0; c < table->head.columns; c++) {
    TRY(table_cell(table, text, c, &at, &cell));
    if (table->column[c].role) continue;
    if (!*cell)
      TEXT_FAIL(text, "column %s is empty, so that nobody can tell whether it has numbers; name the features",
                csv_quote(table->head.name[c], quote));
    strtod(cell, &end);
    if (end != cell && end[strspn(end, " ")] == '\0') TRY(add_feature(nodes, c));
  }
  if (nodes->features == 0) TEXT_FAIL(text, "--features %s: no column has numbers", "all");
  return OK;
}

static int grow(struct nodes *nodes, int64_t rows) {
  struct dataset_source *source = &nodes->import->source;
  const int64_t room = larger(rows, 2 * nodes->room), row = nodes->features * (int64_t)sizeof(float);
  if (rows <= nodes->room) return OK;
  if (row) TRY(memory_grow(&source->feature, nodes->first * row, room * row, "node features"));
  if (nodes->has_split) TRY(memory_grow(&nodes->part, nodes->first, room, "the parts of a split"));
  const int64_t bytes = (int64_t)sizeof *nodes->label;
  if (nodes->has_label) TRY(memory_grow(&nodes->label, nodes->first * bytes, room * bytes, "labels"));
  if (nodes->labels)
    TRY(memory_grow(&nodes->bits, nodes->first * nodes->labels, room * nodes->labels, "labels"));
  nodes->room = room;
  return OK;
}

static int make_room(void *context, const struct text *text, const char *line, int64_t rows) {
  struct nodes *nodes = context;
  if (nodes->all) TRY(find_numbers(nodes, text, line));
  nodes->all = 0;
  nodes->import->source.features = nodes->features;
  if (rows > INT32_MAX) TEXT_FAIL(text, "more than %d nodes", INT32_MAX);
  nodes->first = nodes->rows;
  nodes->rows = rows;
  TRY(grow(nodes, rows));
  const int64_t count = rows - nodes->first;
  if (count <= nodes->row_room) return OK;
  TRY(memory_grow(&nodes->row, 0, count * (int64_t)sizeof *nodes->row, "rows of a block"));
  nodes->row_room = count;
  return OK;
}

static int take_text(const struct text *text, const char *column, char *cell, int64_t most, int one_line,
                     char **into) {
  char quote[CSV_QUOTE];
  const char *fault = dataset_text_fault(cell, most, one_line);
  if (fault) TEXT_FAIL(text, "column %s %s", csv_quote(column, quote), fault);
  *into = cell;
  return OK;
}

static int take_part(const struct text *text, const char *column, const char *cell, uint8_t *into) {
  char quote[CSV_QUOTE], name[CSV_QUOTE];
  int part = *cell ? split_part_of(cell, strlen(cell)) : NO_PART;
  if (part < 0)
    TEXT_FAIL(text, "column %s: expected train, val, test, none or nothing, found %s",
              csv_quote(column, name), csv_quote(cell, quote));
  *into = (uint8_t)part;
  return OK;
}

/* A class of a node, or a label that it has or has not. */
static int take_label(struct nodes *nodes, const struct text *text, int64_t c, char *cell, int64_t v) {
  const char *name = nodes->table.head.name[c];
  char quote[CSV_QUOTE], found[CSV_QUOTE];
  if (nodes->labels == 0)
    return cell[strspn(cell, " ")]
               ? take_text(text, name, cell, DATASET_CLASS_NAME, 1, &nodes->row[v - nodes->first].label)
               : OK;
  if (strcmp(cell, "0") != 0 && strcmp(cell, "1") != 0)
    TEXT_FAIL(text, "column %s: expected 0 or 1, found %s", csv_quote(name, quote), csv_quote(cell, found));
  nodes->bits[v * nodes->labels + nodes->table.column[c].place] = *cell == '1';
  return OK;
}

static int take_node(void *context, const struct text *text, char *at, int64_t v) {
  struct nodes *nodes = context;
  const struct table *table = &nodes->table;
  const struct dataset_source *source = &nodes->import->source;
  struct node_row *row = &nodes->row[v - nodes->first];
  *row = (struct node_row){.line = text->line};
  for (int64_t c = 0; c < table->head.columns; c++) {
    const struct table_column *column = &table->column[c];
    const char *name = table->head.name[c];
    char *cell;
    TRY(table_cell(table, text, c, &at, &cell));
    if (column->role == ROLE_ID) TRY(take_text(text, name, cell, DATASET_ID, 0, &row->id));
    if (column->role == ROLE_LABEL) TRY(take_label(nodes, text, c, cell, v));
    if (column->role == ROLE_SPLIT) TRY(take_part(text, name, cell, &nodes->part[v]));
    if (column->role == ROLE_FEATURE)
      TRY(csv_number(text, name, cell, &source->feature[v * nodes->features + column->place]));
  }
  return table_end_row(table, text, at);
}

/* For a message: reads the table once more. 0: it cannot be told. */
static int64_t line_of_row(const char *path, int64_t row) {
  ENDED_BY(table_close) struct table table = {0};
  char *line = NULL;
  int code = table_open(&table, path);
  while (code == OK && row >= 0) {
    code = text_next(&table.text, &line);
    if (!line) break;
    row -= *line != '\0';
  }
  return code == OK && line ? table.text.line : 0;
}

static int name_block(void *context, const struct text *text, int64_t rows) {
  struct nodes *nodes = context;
  struct import *import = nodes->import;
  char quote[CSV_QUOTE];
  int is_new;
  for (int64_t v = nodes->first; v < rows; v++) {
    const struct node_row *row = &nodes->row[v - nodes->first];
    int32_t node;
    TRY(texts_add(&import->ids, row->id, &node, &is_new));
    if (!is_new)
      FAIL(BAD_INPUT, "%s:%lld: id %s is that of line %lld, too", text->path, (long long)row->line,
           csv_quote(row->id, quote), (long long)line_of_row(text->path, node));
    if (!nodes->has_label) continue;
    nodes->label[v] = -1;
    if (row->label) TRY(texts_add(&import->labels, row->label, &nodes->label[v], &is_new));
  }
  return OK;
}

static int keep_labels(struct nodes *nodes) {
  struct dataset_source *source = &nodes->import->source;
  if (nodes->has_label)
    return import_label_texts(nodes->import, nodes->label, nodes->rows, nodes->import->options->input);
  if (nodes->labels == 0) return OK;
  import_drop_labels(source);
  source->labels = nodes->bits;
  nodes->bits = NULL;
  source->classes = nodes->labels;
  source->task = TASK_MULTILABEL;
  return texts_list(&nodes->import->labels, NULL, source->classes, &source->names.class_name);
}

static int keep_nodes(struct nodes *nodes) {
  struct import *import = nodes->import;
  const char *path = import->options->input;
  if (nodes->rows == 0) FAIL(BAD_INPUT, "%s: holds no nodes: there is nothing behind its first line", path);
  import->edges.nodes = nodes->rows;
  TRY(keep_labels(nodes));
  if (!nodes->has_split) return OK;
  TRY(splits_new(&import->source, 1));
  return splits_list(&import->source, 0, nodes->part, nodes->rows);
}

/* Says which they are, where nobody has named them. */
static void say_features(const struct nodes *nodes) {
  enum { SHOWN = 8 };
  const struct csv_head *head = &nodes->table.head;
  char text[SHOWN * (CSV_QUOTE + 2) + 32] = "", quote[CSV_QUOTE];
  size_t used = 0;
  int64_t shown = 0;
  for (int64_t c = 0; c < head->columns && shown < SHOWN; c++) {
    if (nodes->table.column[c].role != ROLE_FEATURE) continue;
    used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", shown++ ? ", " : "",
                             csv_quote(head->name[c], quote));
  }
  log_info("features are the columns %s%s", text, nodes->features > shown ? ", ..." : "");
}

int table_nodes_read(struct import *import) {
  const struct csv_reader reader = {.room = make_room, .row = take_node, .block = name_block};
  ENDED_BY(nodes_free) struct nodes nodes = {.import = import};
  int64_t rows;
  TRY(table_open(&nodes.table, import->options->input));
  TRY(find_columns(&nodes));
  const int all = nodes.all;
  if (!all) table_skip_rest(&nodes.table);
  TRY(csv_read_text(&nodes.table.text, &reader, &nodes, &rows));
  if (all && rows > 0) say_features(&nodes);
  return keep_nodes(&nodes);
}
