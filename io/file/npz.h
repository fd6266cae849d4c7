/* npz: numpy's zip archives of arrays. The only place that knows libzip.
 *
 * A member is read only if its compressed bytes could be in the file, its claimed size could come out of them
 * (deflate gives at most 1032 for one) and fits in free memory; its checksum is verified. */
#ifndef IO_FILE_NPZ_H
#define IO_FILE_NPZ_H

#include "io/file/npy.h"

struct npz {
  void *archive;  /* zip_t */
  int64_t bytes;  /* of the file */
  char *was_read; /* of each member */
  char path[1024];
};

/* Errors: BAD_INPUT: missing, not a zip archive. */
int npz_open(struct npz *npz, const char *path);
void npz_close(struct npz *npz);

/* Whether there is an array of that name (without ".npy"). */
int npz_has(const struct npz *npz, const char *name);

/* Reads an array; caller frees it with npy_free. Errors: BAD_INPUT: missing, damaged, lying sizes. */
int npz_read(const struct npz *npz, const char *name, struct npy *array);

/* The names of the members that were not read, commas between them, into list[size], cut to fit; "" when all
 * were. */
void npz_unread(const struct npz *npz, char *list, int64_t size);

#endif
