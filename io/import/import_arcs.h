/* import_arcs: texts with an arc a line, read by all threads at once. */
#ifndef IO_IMPORT_IMPORT_ARCS_H
#define IO_IMPORT_IMPORT_ARCS_H

#include <stddef.h>

#include "io/import/import.h"

/* What a format knows while it reads. Each piece of the text has a copy, as things stood before its block. */
struct arc_reader {
  size_t size; /* of the state */
  /* Reads all lines of a piece; on any thread. */
  int (*lines)(void *state, struct text *text, struct arcs *arcs);
  /* Takes over what a piece has found; the pieces come in the order of the file. NULL: nothing. */
  void (*join)(void *state, const void *piece);
};

/* Adds the arcs of what is left of the text to the import's. Errors: text_next's, and those of `lines`. */
int import_arc_lines(struct import *import, struct text *text, const struct arc_reader *reader, void *state);

/* The same of lines that are two node ids and nothing else, "source, target", from `base` on;
 * import->edges.nodes says how many there may be. Errors: BAD_INPUT for an id outside. */
int import_pair_lines(struct import *import, struct text *text, int64_t base);

#endif
