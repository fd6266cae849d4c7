/* parquet: tables of Parquet as text (arrow_rows), by Arrow's GLib library where the program was built with
 * it. Its row groups are read one after the other. */
#ifndef IO_ARROW_PARQUET_H
#define IO_ARROW_PARQUET_H

#include "io/file/text.h"

/* Whether a file begins as Parquet's do. No: one that cannot be read, too. */
int parquet_is_one(const char *path);

/* Errors: BAD_INPUT: it is damaged; the program cannot read such files. */
int parquet_open(struct text *text, const char *path);

#endif
