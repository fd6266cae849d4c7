/* A "Parquet file" of the stand-in: a line "PAR1", or "PAR1 N" where batch N cannot be read, then a table as
 * made_table has them. Everything has to be given back before the end. */
#include "io/arrow/parquet_stream.h"
#include "runtime/base/base.h"
#include "tests/io/arrow/made_table.h"

enum { BATCH = 300 };

static int living;

__attribute__((destructor)) static void all_given_back(void) {
  if (living == 0) return;
  fprintf(stderr, "parquet_stand_in: %d structs of Arrow's are not given back\n", living);
  _Exit(99);
}

int parquet_stream_open(struct ArrowArrayStream *stream, const char *path) {
  static char text[1 << 22];
  FILE *file = fopen(path, "r");
  if (!file) FAIL(BAD_INPUT, "%s: no such file", path);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  const char *table = strchr(text, '\n');
  if (!table || !strchr(table + 1, '\n'))
    FAIL(BAD_INPUT, "%s: cannot be read as Parquet: Parquet magic bytes not found in footer", path);
  made_stream(stream, table + 1, 0, made_rows(table + 1), BATCH, text[4] == ' ' ? atoi(text + 5) : -1,
              &living);
  return OK;
}
