/* A graph as two tables, of nodes and of edges, whose columns are named. The id of a node is a text, whatever
 * it looks like; where all are whole numbers the dataset has them as such. */
#include "io/import/import_arcs.h"
#include "io/import/text/table.h"
#include "io/import/text/table_nodes.h"
#include "runtime/base/base.h"

/* What each piece of the edge table has to know. */
struct edge_reader {
  const struct import *import;
  const struct table *table;
};

/* Edges that are read but whose nodes are not looked up yet; the cells stand in the piece. */
enum { BATCH = 256 };
struct batch {
  int64_t count;
  const char *cell[2 * BATCH]; /* ids: from, to */
  float weight[BATCH];
  int64_t line[BATCH];
};

static int read_edge(const struct table *table, const struct text *text, char *at, struct batch *batch) {
  const int64_t i = batch->count;
  char *cell;
  batch->weight[i] = 1;
  batch->line[i] = text->line;
  for (int64_t c = 0; c < table->head.columns; c++) {
    enum role role = table->column[c].role;
    TRY(table_cell(table, text, c, &at, &cell));
    if (role == ROLE_FROM) batch->cell[2 * i] = cell;
    if (role == ROLE_TO) batch->cell[2 * i + 1] = cell;
    if (role == ROLE_WEIGHT) TRY(csv_number(text, table->head.name[c], cell, &batch->weight[i]));
  }
  TRY(table_end_row(table, text, at));
  batch->count++;
  return OK;
}

static int read_batch(const struct table *table, struct text *text, struct batch *batch) {
  char *line;
  for (batch->count = 0; batch->count < BATCH;) {
    TRY(text_next(text, &line));
    if (!line) return OK;
    if (*line) TRY(read_edge(table, text, line, batch));
  }
  return OK;
}

static int refuse_node(const struct edge_reader *reader, const struct text *text, enum role role,
                       const char *cell) {
  const struct table *table = reader->table;
  char quote[CSV_QUOTE], name[CSV_QUOTE];
  int64_t c = 0;
  while (table->column[c].role != role) c++;
  csv_quote(table->head.name[c], name);
  if (!*cell) TEXT_FAIL(text, "column %s is empty; the id of a node is expected", name);
  TEXT_FAIL(text, "column %s: there is no node %s in %s", name, csv_quote(cell, quote),
            reader->import->options->input);
}

static int add_batch(const struct edge_reader *reader, struct text *text, const struct batch *batch,
                     struct arcs *arcs) {
  int32_t node[2 * BATCH];
  texts_find_all(&reader->import->ids, batch->cell, 2 * batch->count, node);
  for (int64_t i = 0; i < batch->count; i++) {
    for (int k = 0; k < 2; k++) {
      if (node[2 * i + k] >= 0) continue;
      text->line = batch->line[i];
      return refuse_node(reader, text, k ? ROLE_TO : ROLE_FROM, batch->cell[2 * i + k]);
    }
    TRY(arcs_add(arcs, node[2 * i], node[2 * i + 1], batch->weight[i]));
  }
  return OK;
}

/* What is wrong with a line comes behind what is wrong with the lines before it. */
static int read_lines(void *state, struct text *text, struct arcs *arcs) {
  const struct edge_reader *reader = state;
  struct batch batch;
  for (;;) {
    int code = read_batch(reader->table, text, &batch);
    TRY(add_batch(reader, text, &batch, arcs));
    if (code != OK || batch.count < BATCH) return code;
  }
}

static int read_edges(struct import *import) {
  ENDED_BY(table_close) struct table table = {0};
  const struct import_columns *column = &import->options->column;
  struct edge_reader state = {import, &table};
  const struct arc_reader reader = {sizeof state, read_lines, NULL};
  TRY(table_open(&table, import->options->edges));
  TRY(table_find_role(&table, column->from, ROLE_FROM));
  TRY(table_find_role(&table, column->to, ROLE_TO));
  TRY(table_find_role(&table, column->weight, ROLE_WEIGHT));
  if (!column->from) TRY(table_take_role(&table, ROLE_FROM));
  if (!column->to) TRY(table_take_role(&table, ROLE_TO));
  table_skip_rest(&table);
  import->valued = column->weight != NULL;
  return import_arc_lines(import, &table.text, &reader, &state);
}

int import_table(struct import *import) {
  TRY(table_nodes_read(import));
  return read_edges(import);
}

/* A whole number as programs write it: no two texts are the same one. */
static int is_number(const char *text, int64_t *value) {
  size_t digits = strspn(text, "0123456789");
  if (digits == 0 || digits > 19 || text[digits] || (text[0] == '0' && digits > 1)) return 0;
  errno = 0;
  *value = strtoll(text, NULL, 10);
  return errno == 0;
}

/* Ids 0 .. N-1 in order say nothing. */
int import_table_finish(struct import *import) {
  struct dataset_source *source = &import->source;
  FREED int64_t *id = NULL;
  int numbers = 1, in_order = 1;
  TRY(memory_arrays("node ids", ROOM(&id, source->nodes)));
  for (int64_t v = 0; v < source->nodes && numbers; v++) {
    numbers = is_number(texts_at(&import->ids, v), &id[v]);
    in_order = in_order && numbers && id[v] == v;
  }
  if (!numbers) return texts_list(&import->ids, NULL, source->nodes, &source->names.id_text);
  if (in_order) return OK;
  source->names.id = id;
  id = NULL;
  return OK;
}
