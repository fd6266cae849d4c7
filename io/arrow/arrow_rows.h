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

/* Takes the stream over, whose struct is the caller's again afterwards. NULL: memory is short; then the
 * stream is released. `path` is for messages, and borrowed. */
struct arrow_rows *arrow_rows_open(struct ArrowArrayStream *stream, const char *path);

/* context: the rows. As gzip_read: the next `size` bytes, fewer only at the end; 0: there are none. -1:
 * *reason says why. */
int64_t arrow_rows_read(void *context, char *to, int64_t size, const char **reason);

/* Fields of that column are empty from now on, and cost nothing; ahead of the line of names it does nothing.
 */
void arrow_rows_skip(void *context, int64_t column);

/* Releases the stream, too. */
void arrow_rows_close(void *context);

#endif
