/* Owners without a look at the graph. */
#include "partition/cut/partition_steps.h"
#include "runtime/base/random.h"

void partition_assign_blocks(struct partition *partition) {
  for (int p = 0; p < partition->parts; p++) {
    int64_t last = graph_block(partition->nodes, partition->parts, p + 1);
    for (int64_t v = graph_block(partition->nodes, partition->parts, p); v < last; v++)
      partition->part[v] = p;
  }
}

/* Equal blocks of a random permutation (Fisher and Yates): the blocks' numbers are shuffled in place. */
void partition_assign_random(struct partition *partition, int64_t seed) {
  struct philox_key key = random_key((uint64_t)seed, 0, 0, RANDOM_PARTITION);
  partition_assign_blocks(partition);
  for (int64_t v = partition->nodes - 1; v > 0; v--) {
    struct philox_block word = random_block(key, (uint64_t)v, 0);
    int64_t u = (int64_t)random_below(word.word[0], word.word[1], (uint64_t)v + 1);
    int32_t moved = partition->part[v];
    partition->part[v] = partition->part[u];
    partition->part[u] = moved;
  }
}
