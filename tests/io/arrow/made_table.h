/* made_table: streams of Arrow's as a library of it would hand them over, made from text. The first line is
 * the columns, "name:format" or, of texts by way of indices, "name:format:u"; the others are rows. Fields
 * stand between '|'; one that is NULL is missing. Columns have an offset: values ahead that are no row's. */
#ifndef TESTS_IO_ARROW_MADE_TABLE_H
#define TESTS_IO_ARROW_MADE_TABLE_H

#include "io/arrow/arrow.h"

/* Rows [first, last) of the text in arrays of `each` rows. fails: number of the array in whose place there is
 * an error; -1: none. The caller releases the stream; everything given out of it goes by its own release.
 * Changed in place: *living, how many structs are not yet released. */
void made_stream(struct ArrowArrayStream *stream, const char *text, int64_t first, int64_t last, int64_t each,
                 int64_t fails, int *living);

/* How many rows the text has. */
int64_t made_rows(const char *text);

#endif
