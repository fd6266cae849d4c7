/* A "Parquet file" of the stand-in: a line "PAR1", or "PAR1 N" where row group N cannot be read, then a table
 * as made_table has them, in groups of 1000 rows. Every object has to be given back before the end. */
#include <parquet-glib/parquet-glib.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/io/arrow/made_table.h"

enum { GROUP = 1000, BATCH = 300 };

struct GArrowTable {
  int references;
  GParquetArrowFileReader *of;
  int64_t first, last;
};

/* The other objects begin alike. */
struct GArrowTableBatchReader {
  int references;
  GArrowTable *table;
};

struct GParquetArrowFileReader {
  int references;
  int bad;
  char *text;
};

static int living;

__attribute__((destructor)) static void all_given_back(void) {
  if (living == 0) return;
  fprintf(stderr, "parquet_stand_in: %d objects are not given back\n", living);
  _Exit(99);
}

static void *object(size_t bytes) {
  int *made = calloc(1, bytes);
  *made = 1;
  living++;
  return made;
}

static void *fail(GError **error, const char *message) {
  *error = calloc(1, sizeof **error);
  (*error)->message = strdup(message);
  living++;
  return NULL;
}

void g_free(gpointer memory) {
  free(memory);
}

void g_object_unref(gpointer of) {
  if (--*(int *)of > 0) return;
  free(of);
  living--;
}

void g_clear_error(GError **error) {
  if (!*error) return;
  free((*error)->message);
  free(*error);
  *error = NULL;
  living--;
}

GParquetArrowFileReader *gparquet_arrow_file_reader_new_path(const gchar *path, GError **error) {
  static char text[1 << 22];
  FILE *file = fopen(path, "r");
  if (!file) return fail(error, "no such file");
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  char *table = strchr(text, '\n');
  if (!table || !strchr(table + 1, '\n')) return fail(error, "Parquet magic bytes not found in footer");
  GParquetArrowFileReader *reader = object(sizeof *reader);
  reader->bad = text[4] == ' ' ? atoi(text + 5) : -1;
  reader->text = table + 1;
  return reader;
}

gint gparquet_arrow_file_reader_get_n_row_groups(GParquetArrowFileReader *reader) {
  return (gint)((made_rows(reader->text) + GROUP - 1) / GROUP);
}

static GArrowTable *rows(GParquetArrowFileReader *reader, int64_t first, int64_t last) {
  GArrowTable *table = object(sizeof *table);
  const int64_t all = made_rows(reader->text);
  table->of = reader;
  table->first = first;
  table->last = last < all ? last : all;
  return table;
}

GArrowTable *gparquet_arrow_file_reader_read_table(GParquetArrowFileReader *reader, GError **error) {
  (void)error;
  return rows(reader, 0, made_rows(reader->text));
}

GArrowTable *gparquet_arrow_file_reader_read_row_group(GParquetArrowFileReader *reader, gint group,
                                                       gint *columns, gsize count, GError **error) {
  if (columns || count || group == reader->bad) return fail(error, "Couldn't deserialize thrift");
  return rows(reader, (int64_t)group * GROUP, (int64_t)(group + 1) * GROUP);
}

GArrowTableBatchReader *garrow_table_batch_reader_new(GArrowTable *table) {
  GArrowTableBatchReader *reader = object(sizeof *reader);
  reader->table = table; /* refers to it without a reference of its own, as releases before 7 did */
  return reader;
}

gpointer garrow_record_batch_reader_export(GArrowRecordBatchReader *of, GError **error) {
  const GArrowTable *table = ((GArrowTableBatchReader *)of)->table;
  struct ArrowArrayStream *stream = calloc(1, sizeof *stream);
  (void)error;
  made_stream(stream, table->of->text, table->first, table->last, BATCH, -1, &living);
  return stream;
}
