/* What io/arrow/parquet.c takes of Arrow's GLib library, as that declares it, where it is not installed.
 * Types of GLib are told apart no further than C needs. parquet_stand_in.c says what a file is. */
#ifndef PARQUET_STAND_IN_H
#define PARQUET_STAND_IN_H

#include <stddef.h>

typedef char gchar;
typedef int gint;
typedef size_t gsize;
typedef void *gpointer;
typedef struct {
  gchar *message;
} GError;
typedef struct GParquetArrowFileReader GParquetArrowFileReader;
typedef struct GArrowTable GArrowTable;
typedef struct GArrowTableBatchReader GArrowTableBatchReader;
typedef struct GArrowRecordBatchReader GArrowRecordBatchReader;

#define GARROW_RECORD_BATCH_READER(reader) ((GArrowRecordBatchReader *)(reader))
#define g_clear_object(object)                \
  do {                                        \
    if (*(object)) g_object_unref(*(object)); \
    *(object) = NULL;                         \
  } while (0)

void g_free(gpointer memory);
void g_object_unref(gpointer object);
void g_clear_error(GError **error);
GParquetArrowFileReader *gparquet_arrow_file_reader_new_path(const gchar *path, GError **error);
gint gparquet_arrow_file_reader_get_n_row_groups(GParquetArrowFileReader *reader);
GArrowTable *gparquet_arrow_file_reader_read_table(GParquetArrowFileReader *reader, GError **error);
GArrowTable *gparquet_arrow_file_reader_read_row_group(GParquetArrowFileReader *reader, gint row_group_index,
                                                       gint *column_indices, gsize n_column_indices,
                                                       GError **error);
GArrowTableBatchReader *garrow_table_batch_reader_new(GArrowTable *table);
gpointer garrow_record_batch_reader_export(GArrowRecordBatchReader *reader, GError **error);

#endif
