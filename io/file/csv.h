/* csv: rows of values in text, plain or gzip-compressed, as pandas writes them without a header; lines that
 * begin with # are comments. The rows of a block of text are handled by all threads at once. */
#ifndef IO_FILE_CSV_H
#define IO_FILE_CSV_H

#include "io/file/text.h"

struct csv_reader {
  /* Makes room for rows [0, rows), rows known so far; called once a block by one thread. `line` is the first
   * of the block, and text->line its number. NULL: nothing to do. */
  int (*room)(void *context, const struct text *text, const char *line, int64_t rows);
  /* Takes a row, whose line in the file is text->line, in any order and on any thread; leaves the line as it
   * is. */
  int (*row)(void *context, const struct text *text, char *line, int64_t row);
  int64_t expected; /* how many rows there must be; 0: any number */
};

/* Errors: BAD_INPUT: as text's, an empty field among them; more rows or fewer than expected; what the reader
 * raises, for the first row that it refuses. *rows: how many there are. */
int csv_read(const char *path, const struct csv_reader *reader, void *context, int64_t *rows);

#endif
