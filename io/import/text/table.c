#include "io/import/text/table.h"

#include "io/arrow/parquet.h"
#include "runtime/base/base.h"

static const char *const role_option[ROLES] = {[ROLE_ID] = "--id",        [ROLE_LABEL] = "--label",
                                               [ROLE_SPLIT] = "--split",  [ROLE_FEATURE] = "--features",
                                               [ROLE_FROM] = "--from",    [ROLE_TO] = "--to",
                                               [ROLE_WEIGHT] = "--weight"};

void table_close(struct table *table) {
  text_close(&table->text);
  csv_head_free(&table->head);
  free(table->column);
}

int table_open(struct table *table, const char *path) {
  TRY(parquet_is_one(path) ? parquet_open(&table->text, path) : text_open(&table->text, path));
  TRY(csv_head_read(&table->head, &table->text));
  return memory_arrays("columns of a table", ROOM(&table->column, table->head.columns));
}

int table_set_role(struct table *table, int64_t c, enum role role) {
  char quote[CSV_QUOTE];
  struct table_column *column = &table->column[c];
  if (column->role)
    FAIL(BAD_INPUT, "%s:1: column %s stands for two things: %s and %s", table->text.path,
         csv_quote(table->head.name[c], quote), role_option[column->role], role_option[role]);
  column->role = role;
  return OK;
}

int table_find_role(struct table *table, const char *name, enum role role) {
  int64_t column;
  if (!name) return OK;
  TRY(csv_head_find(&table->head, &table->text, role_option[role], name, &column));
  return table_set_role(table, column, role);
}

int table_take_role(struct table *table, enum role role) {
  char quote[CSV_QUOTE];
  int64_t c = 0;
  while (c < table->head.columns && table->column[c].role) c++;
  if (c == table->head.columns)
    FAIL(BAD_INPUT, "%s:1: there is no column left for %s; columns stand between commas, tabs or semicolons",
         table->text.path, role_option[role]);
  const char *name = table->head.name[c];
  if (*name && name[strspn(name, "0123456789")] == '\0') /* of whoever has no line of names */
    FAIL(BAD_INPUT, "%s:1: the first line must name the columns, and %s is a number; else say %s %s",
         table->text.path, csv_quote(name, quote), role_option[role], name);
  return table_set_role(table, c, role);
}

void table_skip_rest(struct table *table) {
  for (int64_t c = 0; c < table->head.columns; c++)
    if (table->column[c].role == ROLE_NONE) text_skip_column(&table->text, c);
}

int table_cell(const struct table *table, const struct text *text, int64_t column, char **at, char **cell) {
  if (!*at)
    TEXT_FAIL(text, "has %lld fields; the first line names %lld columns", (long long)column,
              (long long)table->head.columns);
  return csv_cell(text, table->head.separator, at, cell);
}

int table_end_row(const struct table *table, const struct text *text, char *at) {
  char *cell;
  int64_t fields = table->head.columns;
  if (!at) return OK;
  for (; at; fields++) TRY(csv_cell(text, table->head.separator, &at, &cell));
  TEXT_FAIL(text, "has %lld fields; the first line names %lld columns", (long long)fields,
            (long long)table->head.columns);
}
