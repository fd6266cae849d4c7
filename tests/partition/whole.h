/* A partition with its nodes on every rank, to look at. */
#ifndef TESTS_PARTITION_WHOLE_H
#define TESTS_PARTITION_WHOLE_H

#include "partition/graph/partition.h"
#include "runtime/base/memory.h"

/* Collective. The order comes from the ranks that list it; where none does, nodes stand as the file has them.
 * Afterwards no directory can be made of it. */
static inline void whole_partition(struct comm *comm, struct partition *p) {
  int64_t kept = p->order != NULL, *order = NULL;
  int32_t *part = NULL;
  assert_ok(comm_max_int64(comm, &kept));
  assert_ok(memory_arrays("test", ROOM(&part, p->nodes), ROOM(&order, p->nodes)));
  const int64_t first = partition_place(comm, p, comm->rank),
                behind = partition_place(comm, p, comm->rank + 1);
  for (int64_t i = first; i < behind; i++) order[i] = kept ? p->order[i - first] : i;
  assert_ok(comm_reduce(comm, order, p->nodes, NUMBER_INT64, REDUCE_SUM));
  for (int r = 0; r < p->parts; r++)
    for (int64_t i = p->offset[r]; i < p->offset[r + 1]; i++) part[order[i]] = r;
  partition_forget_nodes(p);
  p->part = part;
  p->order = order;
}

#endif
