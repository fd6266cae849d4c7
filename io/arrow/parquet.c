#include "io/arrow/parquet.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/base.h"

/* A pipe is left as it is: what was looked at would be gone. */
int parquet_is_one(const char *path) {
  char magic[4] = "";
  struct stat status;
  const int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return 0;
  const int begins = fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
                     pread(file, magic, sizeof magic, 0) == (ssize_t)sizeof magic;
  close(file);
  return begins && memcmp(magic, "PAR1", sizeof magic) == 0;
}

#ifdef GNNTRAIN_HAVE_PARQUET
#include "io/arrow/arrow_rows.h"
#include "io/arrow/parquet_stream.h"

int parquet_open(struct text *text, const char *path) {
  struct ArrowArrayStream stream;
  TRY(parquet_stream_open(&stream, path));
  const struct text_source rows = {arrow_rows_open(&stream, path), arrow_rows_read, arrow_rows_close,
                                   arrow_rows_skip};
  return text_open_source(text, path, &rows);
}
#else
int parquet_open(struct text *text, const char *path) {
  (void)text;
  FAIL(BAD_INPUT,
       "%s: is a Parquet file, and this program was built without Apache Arrow's library (libparquet), which "
       "reads them; a table of text will do, as pandas.read_parquet(...).to_csv(..., index=False) writes",
       path);
}
#endif
