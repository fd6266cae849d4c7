/* tickets: a random order of the labelled nodes, or graphs. */
#ifndef IO_IMPORT_TICKETS_H
#define IO_IMPORT_TICKETS_H

#include "io/import/import.h"

/* A labelled node, or graph, with its random key: sorting by key is a random permutation. */
struct ticket {
  uint64_t key;
  int64_t item;
};

/* Of split k, in the order of their keys, the same on any number of threads; `ticket` has room for all items.
 * Returns how many there are. */
int64_t tickets_draw(const struct import *import, int64_t k, struct ticket *ticket);

#endif
