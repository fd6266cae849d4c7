/* What the parts of mutate_h5 share: random numbers, what a file holds, and changes of it. */
#ifndef TESTS_MUTATE_H
#define TESTS_MUTATE_H

#include <stdint.h>

/* splitmix64 (Steele, Lea and Flood 2014): the same numbers from the same seed, anywhere. */
struct chance {
  uint64_t state;
};
uint64_t chance_bits(struct chance *chance);
int64_t chance_below(struct chance *chance, int64_t end); /* [0, end) */
double chance_share(struct chance *chance);               /* [0, 1) */

/* Changes one thing in an HDF5 file: a value, an attribute, a type, a shape, a layout, a link; and says what
 * in said[size]. 0: that change cannot be made there. The file stays sound HDF5. */
int mutate_file(const char *path, struct chance *chance, char *said, int64_t size);

/* A value that programs trip over, as integer or real. */
int64_t chance_integer(struct chance *chance, int64_t now);
double chance_real(struct chance *chance, double now);

/* The files below a folder: what they hold, to be written again and compared. */
struct tree_file {
  char path[512]; /* from the folder on */
  void *data;
  int64_t size;
};
struct tree {
  struct tree_file *file;
  int64_t files;
};
void tree_read(struct tree *tree, const char *folder);
/* Makes `folder` hold these files alone. */
void tree_write(const struct tree *tree, const char *folder);
void tree_free(struct tree *tree);
/* Of names and contents of the files below `folder` whose path begins with `part`; `lock`, which names the
 * last process that looked, is left out. */
uint64_t tree_hash(const char *folder, const char *part);
uint64_t file_hash(const char *path); /* 0: there is none */
/* The first file below `folder` that a killed writer would have left, "" when there is none. */
const char *tree_find_temporary(const char *folder);

#endif
