/* A partition with its nodes on every rank, to look at. */
#ifndef TESTS_PARTITION_WHOLE_H
#define TESTS_PARTITION_WHOLE_H

#include "partition/graph/partition.h"
#include "runtime/base/memory.h"

/* Collective. Part and order come from rank 0; where it has none, nodes stand as the file has them. */
static inline void whole_partition(struct comm *comm, struct partition *p) {
  int64_t kept = p->order != NULL;
  assert_ok(comm_broadcast(comm, &kept, sizeof kept, 0));
  if (!p->order) assert_ok(memory_arrays("test", ROOM(&p->part, p->nodes), ROOM(&p->order, p->nodes)));
  for (int part = 0; !kept && part < p->parts; part++) {
    for (int64_t v = p->offset[part]; v < p->offset[part + 1]; v++) {
      p->part[v] = part;
      p->order[v] = v;
    }
  }
  assert_ok(comm_broadcast(comm, p->part, p->nodes * (int64_t)sizeof *p->part, 0));
  assert_ok(comm_broadcast(comm, p->order, p->nodes * (int64_t)sizeof *p->order, 0));
}

#endif
