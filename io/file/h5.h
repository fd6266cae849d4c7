/* h5: the few things the project does with HDF5, each with one sentence when it fails.
 *
 * Files written here carry fletcher32 checksums on their datasets and become visible whole or not at all:
 * h5_create writes beside its place, h5_commit syncs and renames (runtime/file/atomic_write.h). Files are
 * read with locking off. libhdf5 can crash on damaged metadata, so h5_probe opens a file first in a child
 * process that may die. */
#ifndef IO_FILE_H5_H
#define IO_FILE_H5_H

#include <stdint.h>

#include "runtime/file/atomic_write.h"

enum h5_type { H5_INT32, H5_INT64, H5_UINT8, H5_FLOAT, H5_DOUBLE, H5_TEXT /* variable or fixed strings */ };

struct h5 {
  int64_t file; /* hid_t; 0: closed */
  char path[1024];
  struct h5_disk *disk;        /* what HDF5 reads or writes */
  struct atomic_write written; /* where a file being written stands; not open when reading */
};

/* What a dataset on disk is. */
struct h5_shape {
  int exists;
  int is_group;
  enum h5_type type; /* integers of any width and sign map to INT64 (or INT32, UINT8 when that small) */
  int dims;
  int64_t dim[4];
};

/* Opens and walks the file in a child process, with a time limit. Errors: BAD_INPUT: missing, not readable,
 * not HDF5, or damaged (the child crashed or hung). */
int h5_probe(const char *path);

/* Whether a file of that format may be written there: nothing is, an empty file, or another of that format
 * (its attribute "format"). A slip of the hand must not cost a text, or a file of another kind. Errors:
 * BAD_INPUT that says it is no `kind`. */
int h5_check_replaced(const char *path, const char *format, const char *kind);

int h5_open(struct h5 *h5, const char *path);
int h5_create(struct h5 *h5, const char *path);
int h5_commit(struct h5 *h5); /* flush, fsync, rename, fsync the folder; closes. FAILED: no space, ... */
void h5_close(struct h5 *h5); /* of a file being written that was not committed: removes it */

int h5_shape(struct h5 *h5, const char *name, struct h5_shape *shape);

/* Attributes of the file ("/"). text: NUL-terminated, at most size - 1 bytes. A missing attribute or one of
 * another type is BAD_INPUT naming it; h5_has_attr asks first. */
int h5_has_attr(struct h5 *h5, const char *name);
int h5_read_text(struct h5 *h5, const char *name, char *text, int64_t size);
int h5_read_int(struct h5 *h5, const char *name, int64_t *value);
int h5_write_text(struct h5 *h5, const char *name, const char *text);
int h5_write_int(struct h5 *h5, const char *name, int64_t value);

/* The same of what `value` points to: an int64_t (H5_INT64), a double (H5_DOUBLE) or size bytes of text. */
int h5_read_value(struct h5 *h5, const char *name, enum h5_type type, void *value, int64_t size);
int h5_write_value(struct h5 *h5, const char *name, enum h5_type type, const void *value);

/* Rows [first, first + count) of a dataset of 1 or 2 dimensions into `data`, converted to `type`. */
int h5_read_rows(struct h5 *h5, const char *name, int64_t first, int64_t count, enum h5_type type,
                 void *data);
/* String datasets: `count` strings, each malloc'ed, into text[]. */
int h5_read_strings(struct h5 *h5, const char *name, int64_t first, int64_t count, char **text);

/* Creates groups on the way as needed. cols 0: one dimension. Chunked by rows (about 1 MiB), fletcher32. */
int h5_new_dataset(struct h5 *h5, const char *name, enum h5_type type, int64_t rows, int64_t cols);
int h5_write_rows(struct h5 *h5, const char *name, int64_t first, int64_t count, enum h5_type type,
                  const void *data);
int h5_write_strings(struct h5 *h5, const char *name, int64_t count, const char *const *text);
/* h5_new_dataset and h5_write_rows of everything. */
int h5_write_all(struct h5 *h5, const char *name, enum h5_type type, int64_t rows, int64_t cols,
                 const void *data);

/* Names of the links in a group, sorted; caller frees with h5_free_names. */
int h5_list(struct h5 *h5, const char *group, char ***names, int64_t *count);
void h5_free_names(char **names, int64_t count);

#endif
