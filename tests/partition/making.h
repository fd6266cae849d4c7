/* What the tests of partitions share: a configuration and one call. */
#ifndef TESTS_PARTITION_MAKING_H
#define TESTS_PARTITION_MAKING_H

#include "partition/graph/partition.h"
#include "runtime/base/log.h"
#include "tests/partition/random_graph.h"
#include "tests/partition/whole.h"

static struct comm comm;
static struct config config;

static inline void configure(enum partition_method method, enum node_order order) {
  log_open(0);
  assert_ok(config_parse(&config, "", "test"));
  config.partition.method = method;
  config.partition.order = order;
}

/* The run directory: one for each number of ranks, as tests may run side by side. */
static inline const char *run_folder(void) {
  static char folder[64];
  snprintf(folder, sizeof folder, "test_partition_run.%d", comm.size);
  return folder;
}

static inline void make(struct dataset *dataset, uint64_t hash, int parts, struct partition *partition) {
  assert_ok(partition_make(&comm, &config, dataset, hash, NULL, NULL, parts, run_folder(), partition));
  whole_partition(&comm, partition);
}

/* The same with a block at hand, for as many parts as there are ranks. */
static inline void make_of_block(struct dataset *dataset, uint64_t hash, const struct graph *block,
                                 const struct row_work *work, struct partition *partition) {
  assert_ok(partition_make(&comm, &config, dataset, hash, block, work, comm.size, run_folder(), partition));
  whole_partition(&comm, partition);
}

#endif
