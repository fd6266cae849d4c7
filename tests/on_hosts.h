/* Ranks of one machine, as if they stood on several hosts. */
#ifndef TESTS_ON_HOSTS_H
#define TESTS_ON_HOSTS_H

#include "runtime/comm/comm_mpi.h"

/* So many on each. */
static inline void stand_on_hosts(struct comm *world, int each) {
  world->nodes = (world->size + each - 1) / each;
  for (int r = 0; r < world->size; r++) world->mpi->peers[r].node = r / each * each;
}

#endif
