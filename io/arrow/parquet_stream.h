/* parquet_stream: a Parquet file as a stream of Arrow's. Behind it stands Apache Arrow's C++ library, of
 * which no other file knows; no exception leaves it. It is compiled where CMake finds that library. */
#ifndef IO_ARROW_PARQUET_STREAM_H
#define IO_ARROW_PARQUET_STREAM_H

struct ArrowArrayStream; /* io/arrow/arrow.h; a declaration, as Arrow's own headers define it too */

enum { PARQUET_BATCH = 16 << 10 }; /* most rows of an array of the stream */

/* The caller releases the stream, which closes the file. Errors: BAD_INPUT: what Arrow says of the file. */
int parquet_stream_open(struct ArrowArrayStream *stream, const char *path);

#endif
