/* arrow_rows: a table of Arrow's as text: a line of names, then a line a row, as CSV has them (RFC 4180), so
 * that what reads tables of text reads it.
 *
 * Numbers have as many digits as tell them from all others. A missing value is an empty field; true is 1 and
 * false 0. A column of any other type than numbers, truth values and texts, and dictionaries of these, has
 * empty fields, and that is said. */
#ifndef IO_ARROW_ARROW_ROWS_H
#define IO_ARROW_ARROW_ROWS_H

#include "io/arrow/arrow.h"

struct arrow_rows;

/* Where streams of one table come from, one behind the other and all of the same columns. */
struct arrow_source {
  void *context;
  /* 1: *stream is the next one, which the caller releases before the next call; 0: there is none; -1: *reason
   * says why. */
  int (*next)(void *context, struct ArrowArrayStream **stream, const char **reason);
  void (*close)(void *context);
};

/* NULL: memory is short; then the source is closed. `path` is for messages, and borrowed. */
struct arrow_rows *arrow_rows_open(struct arrow_source source, const char *path);

/* context: the rows. As gzip_read: the next `size` bytes, fewer only at the end; 0: there are none. -1:
 * *reason says why. */
int64_t arrow_rows_read(void *context, char *to, int64_t size, const char **reason);

/* Closes the source, too. */
void arrow_rows_close(void *context);

#endif
