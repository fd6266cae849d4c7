/* table: a text as a table (csv.h), with what each of its columns is for. */
#ifndef IO_IMPORT_TEXT_TABLE_H
#define IO_IMPORT_TEXT_TABLE_H

#include "io/file/csv.h"

enum role {
  ROLE_NONE,
  ROLE_ID,
  ROLE_LABEL,
  ROLE_SPLIT,
  ROLE_FEATURE,
  ROLE_FROM,
  ROLE_TO,
  ROLE_WEIGHT,
  ROLES
};

/* Zeroed: none. */
struct table {
  struct text text;
  struct csv_head head;
  struct table_column {
    enum role role;
    int64_t place; /* among the features, or the labels */
  } * column;      /* [head.columns] */
};

/* Opens the file and reads its first line. Errors: BAD_INPUT, as text's and csv_head_read's. */
int table_open(struct table *table, const char *path);
void table_close(struct table *table);

/* The column gets the role. Errors: BAD_INPUT: it has one. */
int table_set_role(struct table *table, int64_t column, enum role role);

/* The same of the column of that name; NULL: nothing to do. Errors: BAD_INPUT: there is none, or two. */
int table_find_role(struct table *table, const char *name, enum role role);

/* The first column without a role gets it, as nobody has named one. Errors: BAD_INPUT: none is left, or it is
 * called by a number: the line of names is missing. */
int table_take_role(struct table *table, enum role role);

/* Columns without a role need not come any more: those that shall have one have it. */
void table_skip_rest(struct table *table);

/* The cell of that column, at *at in a row (csv_cell); and that the row ends behind its last one. Errors:
 * BAD_INPUT: the row has fewer fields than the table has columns, or more. */
int table_cell(const struct table *table, const struct text *text, int64_t column, char **at, char **cell);
int table_end_row(const struct table *table, const struct text *text, char *at);

#endif
