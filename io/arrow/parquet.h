/* parquet: tables of Parquet as text (arrow_rows), where the program was built with what reads them
 * (parquet_stream). */
#ifndef IO_ARROW_PARQUET_H
#define IO_ARROW_PARQUET_H

#include "io/file/text.h"

/* Whether a file begins as Parquet's do. No: one that cannot be read, too. */
int parquet_is_one(const char *path);

/* Errors: BAD_INPUT: it is damaged; the program cannot read such files. */
int parquet_open(struct text *text, const char *path);

#endif
