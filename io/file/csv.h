/* csv: rows of values in text, plain or gzip-compressed, whose rows of a block are handled by all threads at
 * once. Either words (text.h) without a line of names, as numpy writes them, in which lines that begin with #
 * are comments; or a table (RFC 4180), whose first line names its columns. In a table the fields of a line
 * stand between commas, tabs or semicolons, whichever the first line has. One in quotes may hold these and
 * ends of lines, and quotes doubled; blanks belong to a field. Empty lines are passed over. */
#ifndef IO_FILE_CSV_H
#define IO_FILE_CSV_H

#include <stdio.h>

#include "io/file/text.h"

struct csv_reader {
  /* Makes room for rows [0, rows), rows known so far; called once a block by one thread. `line` is the first
   * of the block, and text->line its number. NULL: nothing to do. */
  int (*room)(void *context, const struct text *text, const char *line, int64_t rows);
  /* Takes a row, whose line in the file is text->line, in any order and on any thread; may cut the line. */
  int (*row)(void *context, const struct text *text, char *line, int64_t row);
  int64_t expected; /* how many rows there must be; 0: any number */
  /* Called once a block by one thread, behind its rows, whose lines are still there. NULL: nothing to do. */
  int (*block)(void *context, const struct text *text, int64_t rows);
};

/* Errors: BAD_INPUT: as text's, an empty field among them; more rows or fewer than expected; what the reader
 * raises, for the first row that it refuses. *rows: how many there are. */
int csv_read(const char *path, const struct csv_reader *reader, void *context, int64_t *rows);

/* The same of what is left of a text that is open: of a table where its first line was read. */
int csv_read_text(struct text *text, const struct csv_reader *reader, void *context, int64_t *rows);

/* The first line of a table. Zeroed: none. */
struct csv_head {
  char separator;
  int64_t columns;
  char **name; /* [columns]; in `line` */
  char *line;
};

/* Reads it as the next line of the text, which is a table from then on. Errors: BAD_INPUT: there is none, a
 * name that is wrong. */
int csv_head_read(struct csv_head *head, struct text *text);
void csv_head_free(struct csv_head *head);

/* The column of that name, or -1. csv_head_find: it must be there, once; `option` asks for it. Errors:
 * BAD_INPUT with the names that there are, and the one that may be meant. */
int64_t csv_head_column(const struct csv_head *head, const char *name);
int csv_head_find(const struct csv_head *head, const struct text *text, const char *option, const char *name,
                  int64_t *column);

/* Cuts the next field out of a line at *at, in place and without its quotes; *at moves behind it, and becomes
 * NULL behind the last one. Errors: BAD_INPUT: quotes that do not stand around a whole field. */
int csv_cell(const struct text *text, char separator, char **at, char **cell);

/* A finite number; `column` is for messages. Errors: BAD_INPUT: the cell is empty, no number or not finite.
 */
int csv_number(const struct text *text, const char *column, const char *cell, float *value);

/* Writes a field, in quotes where a reader of tables would misread it. */
void csv_write_text(FILE *out, const char *text);

/* How a cell begins, in one line and quoted, as messages show it. */
enum { CSV_QUOTE = 56 };
const char *csv_quote(const char *cell, char quote[CSV_QUOTE]);

#endif
