/* checkpoint: named arrays and attributes in an HDF5 file, written beside, synced and renamed. Knows nothing
 * of models: the trainer says what belongs in it. */
#ifndef IO_DATASET_CHECKPOINT_H
#define IO_DATASET_CHECKPOINT_H

#include <stdint.h>

#include "io/file/h5.h"

enum { CHECKPOINT_VERSION = 1, CHECKPOINT_CONFIG = 16384 }; /* CONFIG: bytes of the settings, at most */

struct checkpoint_item {
  char name[96]; /* path in the file, as "parameters/layer0.weight" */
  enum h5_type type;
  int64_t rows, cols; /* cols 0: one dimension */
  void *data;         /* host memory; borrowed */
};
struct checkpoint_value {
  char name[48]; /* attribute of "/" */
  enum { CHECKPOINT_INT = H5_INT64, CHECKPOINT_REAL = H5_DOUBLE, CHECKPOINT_TEXT = H5_TEXT } kind;
  int64_t *integer;
  double *real;
  char *text;
  int64_t text_size;
  int optional; /* where the file lacks it, what is there stays */
};
struct checkpoint {
  struct checkpoint_item *item;
  int64_t items;
  struct checkpoint_value *value;
  int64_t values;
  int probed; /* the file was, by this rank or another */
};

/* Errors: FAILED (no space, not writable: the file's name and the system's reason; the old file stays). */
int checkpoint_write(const struct checkpoint *checkpoint, const char *path);
/* Reads values first, then items, into the memory that the struct points to. Every one must be there with
 * that type and shape. Errors: BAD_INPUT naming file and object. The file is probed first, unless it was. */
int checkpoint_read(const struct checkpoint *checkpoint, const char *path);

/* The files "<dir>/epoch-<run>-<epoch>.h5": path of one; the newest (by run, then epoch; path "" when there
 * is none), and that of one run; removal of all but the newest `keep` of a run, and of what killed writers
 * left; removal of what stands beyond an epoch of a run, later runs included, the newest first, and
 * how many that were (run -1: all). */
void checkpoint_path(char *path, int64_t size, const char *dir, int64_t run, int64_t epoch);
int checkpoint_newest(const char *dir, char *path, int64_t size);
int checkpoint_newest_of(const char *dir, int64_t run, char *path, int64_t size);
int checkpoint_prune(const char *dir, int64_t run, int64_t keep);
int checkpoint_cut_back(const char *dir, int64_t run, int64_t epoch, int64_t *removed);

#endif
