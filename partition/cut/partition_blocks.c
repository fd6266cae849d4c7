#include "partition/cut/partition_blocks.h"

#include "partition/order/order_rate.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

int partition_is_blocks(const struct comm *comm, const struct config *config, const struct graph *block,
                        int parts) {
  return parts > 1 && parts == comm->size && config->partition.method == PARTITION_BLOCK &&
         config->partition.order == ORDER_GIVEN && graph_is_block(comm, block);
}

/* What this rank's rows are like; the others' places are 0. */
static int measure_own(const struct comm *comm, const struct graph *block, struct partition *partition) {
  const int64_t offset[] = {0, block->rows}, step = order_rate_step(partition->nodes, RATE_WINDOWS);
  const struct order_view view = {1, block->first, block->nodes, NULL, offset, NULL};
  struct order_counts counts = {0, &partition->halo[comm->rank], &partition->nnz[comm->rank]};
  TRY(order_rate(block, view, step, &partition->density, &counts));
  partition->edge_cut = counts.cut;
  return OK;
}

static int add_up(struct comm *comm, struct partition *partition) {
  int64_t density[sizeof partition->density / sizeof(int64_t)];
  memcpy(density, &partition->density, sizeof density);
  TRY(comm_reduce(comm, &partition->edge_cut, 1, NUMBER_INT64, REDUCE_SUM));
  TRY(comm_reduce(comm, partition->nnz, partition->parts, NUMBER_INT64, REDUCE_SUM));
  TRY(comm_reduce(comm, partition->halo, partition->parts, NUMBER_INT64, REDUCE_SUM));
  TRY(comm_reduce(comm, density, sizeof density / sizeof density[0], NUMBER_INT64, REDUCE_SUM));
  memcpy(&partition->density, density, sizeof density);
  partition->density.cols /= partition->parts;
  return OK;
}

static int make_own(const struct comm *comm, const struct graph *block, struct partition *partition) {
  TRY(partition_init_parts(partition, comm->size, block->nodes));
  for (int p = 0; p < comm->size; p++)
    partition->offset[p + 1] = graph_block(block->nodes, comm->size, p + 1);
  partition->chosen = ORDER_GIVEN;
  return measure_own(comm, block, partition);
}

int partition_make_blocks(struct comm *comm, const struct graph *block, struct partition *partition) {
  double began = profile_clock();
  TRY(comm_agree(comm, make_own(comm, block, partition)));
  TRY(add_up(comm, partition));
  partition->seconds = profile_clock() - began;
  return OK;
}
