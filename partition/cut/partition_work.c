#include "partition/cut/partition_work.h"

#include "partition/graph/owners.h"
#include "runtime/base/base.h"

/* Parts of the rows of this rank's block. */
static int find_parts(struct comm *comm, const struct graph *block, const struct partition *partition,
                      int32_t *part) {
  FREED int32_t *id = NULL;
  TRY(comm_agree(comm, memory_arrays("rows of the block", ROOM(&id, block->rows))));
  for (int64_t i = 0; i < block->rows; i++) id[i] = (int32_t)(block->first + i);
  return comm_agree(comm, owners_look_up(comm, partition->nodes, partition->part, id, block->rows, part));
}

int partition_measure_work(struct comm *comm, const struct graph *block, const struct row_work *work,
                           struct partition *partition) {
  FREED int64_t *load = NULL;
  FREED int32_t *part = NULL;
  int64_t most = 0, sum = 0;
  TRY(comm_agree(
      comm, memory_arrays("the work of parts", ROOM(&load, partition->parts), ROOM(&part, block->rows))));
  TRY(find_parts(comm, block, partition, part));
  for (int64_t i = 0; i < block->rows; i++) {
    int64_t v = block->first + i, length = block->start[i + 1] - block->start[i];
    load[part[i]] += length * work->times[work->level[v]];
  }
  TRY(comm_reduce(comm, load, partition->parts, NUMBER_INT64, REDUCE_SUM));
  for (int p = 0; p < partition->parts; p++) {
    most = larger(most, load[p]);
    sum += load[p];
  }
  partition->work_balance = sum ? (double)most * partition->parts / (double)sum : 1;
  return OK;
}
