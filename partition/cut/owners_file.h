/* owners_file: the parts of a partition that was made elsewhere. */
#ifndef PARTITION_CUT_OWNERS_FILE_H
#define PARTITION_CUT_OWNERS_FILE_H

#include "io/file/h5.h"
#include "io/file/npy.h"
#include "io/file/text.h"

/* An open one, of so many nodes in the order of the dataset's rows; those before `at` have been read. */
struct owners_file {
  const char *path;
  int64_t nodes, at;
  int parts;
  int (*read)(struct owners_file *file, int64_t count, int32_t *part);
  struct text text;
  struct npy npy;
  struct h5 h5;
};

/* Opens a text with a part a line (as METIS and KaHIP write them; lines of # and % are passed over), an .npy
 * of one dimension, or /part of an .h5, as partitions are kept. None is held whole. Errors: BAD_INPUT where
 * it cannot be read, or has not the parts of so many nodes; of a text that shows when it is read. */
int owners_file_open(struct owners_file *file, const char *path, int64_t nodes, int parts);
/* part[count] of the next nodes. Errors: BAD_INPUT naming the line or the node whose part is not in [0,
 * parts), or how many there are. */
int owners_file_next(struct owners_file *file, int64_t count, int32_t *part);
void owners_file_close(struct owners_file *file);

#endif
