#include "partition/cut/partition_work.h"

#include "runtime/base/base.h"

/* Owners of the rows of this rank's block, from rank 0; of a star, of its hyperedges. */
static int deal_owners(struct comm *comm, const struct graph *block, int64_t vertices,
                       const struct partition *partition, struct message *send, int32_t *owner) {
  const int64_t bytes = sizeof *owner, rows = block->nodes - vertices;
  const struct message recv = {0, owner, block->rows * bytes};
  int32_t *part = comm->rank > 0 ? NULL : partition->part + vertices;
  if (comm->rank > 0) return comm_swap(comm, NULL, 0, &recv, 1);
  memcpy(owner, part, (size_t)(block->rows * bytes));
  for (int r = 1; r < comm->size; r++) {
    const int64_t first = graph_block(rows, comm->size, r);
    send[r - 1] = (struct message){r, part + first, (graph_block(rows, comm->size, r + 1) - first) * bytes};
  }
  return comm_swap(comm, send, comm->size - 1, NULL, 0);
}

int partition_measure_work(struct comm *comm, const struct graph *block, int64_t vertices,
                           const struct row_work *work, struct partition *partition) {
  FREED int64_t *load = NULL;
  FREED int32_t *owner = NULL;
  FREED struct message *send = NULL;
  int64_t most = 0, sum = 0;
  TRY(comm_agree(comm, memory_arrays("the work of parts", ROOM(&load, partition->parts),
                                     ROOM(&owner, block->rows), ROOM(&send, comm->size))));
  TRY(deal_owners(comm, block, vertices, partition, send, owner));
  for (int64_t i = 0; i < block->rows; i++) {
    int64_t v = block->first + i, length = block->start[i + 1] - block->start[i];
    load[owner[i]] += length * work->times[work->level[v]];
  }
  TRY(comm_reduce(comm, load, partition->parts, NUMBER_INT64, REDUCE_SUM));
  for (int p = 0; p < partition->parts; p++) {
    most = larger(most, load[p]);
    sum += load[p];
  }
  partition->work_balance = sum ? (double)most * partition->parts / (double)sum : 1;
  return OK;
}
