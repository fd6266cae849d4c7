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
#include <parquet-glib/parquet-glib.h>

#include "io/arrow/arrow_rows.h"

/* Of a file that is open: a group of rows, which its stream refers to. */
struct parquet {
  GParquetArrowFileReader *reader;
  GArrowTable *table;
  struct ArrowArrayStream *stream;
  int group, groups;
  GError *error;
};

static void drop_group(struct parquet *parquet) {
  g_free(parquet->stream); /* who read it has released it */
  parquet->stream = NULL;
  g_clear_object(&parquet->table);
}

static void close_file(void *context) {
  struct parquet *parquet = context;
  drop_group(parquet);
  g_clear_object(&parquet->reader);
  g_clear_error(&parquet->error);
  free(parquet);
}

/* A file without a group of rows has columns nevertheless, which the table as a whole tells. */
static GArrowTable *read_group(struct parquet *parquet) {
  if (parquet->groups == 0) return gparquet_arrow_file_reader_read_table(parquet->reader, &parquet->error);
  return gparquet_arrow_file_reader_read_row_group(parquet->reader, parquet->group, NULL, 0, &parquet->error);
}

static int next_group(void *context, struct ArrowArrayStream **stream, const char **reason) {
  struct parquet *parquet = context;
  drop_group(parquet);
  if (parquet->group >= (parquet->groups > 0 ? parquet->groups : 1)) return 0;
  parquet->table = read_group(parquet);
  if (parquet->table) {
    GArrowTableBatchReader *batches = garrow_table_batch_reader_new(parquet->table);
    parquet->stream = garrow_record_batch_reader_export(GARROW_RECORD_BATCH_READER(batches), &parquet->error);
    g_object_unref(batches);
  }
  parquet->group++;
  *stream = parquet->stream;
  if (!parquet->stream) *reason = parquet->error ? parquet->error->message : "Arrow does not say why";
  return parquet->stream ? 1 : -1;
}

static int open_reader(struct parquet *parquet, const char *path) {
  parquet->reader = gparquet_arrow_file_reader_new_path(path, &parquet->error);
  if (!parquet->reader) FAIL(BAD_INPUT, "%s: cannot be read as Parquet: %s", path, parquet->error->message);
  parquet->groups = gparquet_arrow_file_reader_get_n_row_groups(parquet->reader);
  return OK;
}

int parquet_open(struct text *text, const char *path) {
  struct parquet *parquet = NULL;
  TRY(memory_alloc(&parquet, sizeof *parquet, "a Parquet file"));
  const int code = open_reader(parquet, path);
  if (code != OK) {
    close_file(parquet);
    return code;
  }
  const struct arrow_source source = {parquet, next_group, close_file};
  const struct text_source rows = {arrow_rows_open(source, path), arrow_rows_read, arrow_rows_close};
  return text_open_source(text, path, &rows);
}
#else
int parquet_open(struct text *text, const char *path) {
  (void)text;
  FAIL(BAD_INPUT,
       "%s: is a Parquet file, and this program was built without Arrow's GLib library (parquet-glib), which "
       "reads them; a table of text will do, as pandas.read_parquet(...).to_csv(..., index=False) writes",
       path);
}
#endif
