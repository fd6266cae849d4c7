/* partition_cache: partitions kept as HDF5 files beside the dataset, named by everything they depend on. */
#ifndef PARTITION_CUT_PARTITION_CACHE_H
#define PARTITION_CUT_PARTITION_CACHE_H

#include "partition/graph/partition.h"
#include "partition/graph/progress.h"

/* What a partition depends on, and where it may lie. Borrowed. */
struct partition_key {
  const struct config *config;
  const char *dataset, *run_dir; /* the dataset's file, and the run's folder; NULL: there is none */
  uint64_t hash;
  int parts;
  int64_t nodes, edges; /* edges: stored arcs; of a star, incidences */
};

/* Collective. *found: 1 when rank 0 found a matching, intact file; one that is damaged or does not match is
 * passed over with a line. */
int partition_cache_read(struct comm *comm, const struct partition_key *key, struct partition *partition,
                         int *found);

/* The same of owners alone, partition->part, from a file that keeps another order. */
int partition_cache_read_owners(struct comm *comm, const struct partition_key *key,
                                struct partition *partition, int *found);

/* Collective. Rank 0 writes the file to the first place that takes it, which is partition->path then; says so
 * when none does. */
int partition_cache_write(struct progress *progress, const struct partition_key *key,
                          struct partition *partition);

/* What a kept file says of itself. */
struct partition_kept {
  char path[1200], format[64], method[64], objective[64], order[64], chosen[64], hash[64];
  int64_t version, parts, seed, loa_window, tried, edge_cut, halo_rows;
  double balance, seconds, order_seconds;
  struct density density;
};

/* Calls visit for each file beside the dataset, by name; those that do not read well are passed over. */
int partition_cache_list(const char *dataset, int (*visit)(const struct partition_kept *kept, void *context),
                         void *context);

#endif
