/* import_read: a file of one of the formats and the options beside it become a dataset_source. */
#ifndef IO_IMPORT_IMPORT_READ_H
#define IO_IMPORT_IMPORT_READ_H

#include "io/import/import.h"

struct import_format {
  const char *name, *help;
  int (*read)(struct import *import);
  int (*finish)(struct import *import); /* once the adjacency is there; NULL: nothing is left to do */
  int tables;                           /* of nodes and of edges: two inputs in place of one */
};
extern const struct import_format import_formats[]; /* ends with name NULL */

/* Errors: BAD_INPUT when the output cannot be written, or is one of the files that are read: the input, what
 * a folder as input holds of its format, features, labels, split. */
int import_check_output(const struct import_options *options);

/* Checks the options, reads the input and applies them. Errors: BAD_INPUT naming file and line, or option. */
int import_read(struct import *import, const struct import_options *options);

#endif
