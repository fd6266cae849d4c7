/* partition_cache: partitions kept as HDF5 files beside the dataset, named by everything they depend on. */
#ifndef PARTITION_PARTITION_CACHE_H
#define PARTITION_PARTITION_CACHE_H

#include "partition/partition.h"

/* What a partition depends on, and where it may lie. Borrowed. */
struct partition_key {
  const struct config *config;
  const char *dataset, *run_dir; /* run_dir may be NULL */
  uint64_t hash;
  int parts;
  int64_t nodes;
};

/* 1 when a matching, intact file was found; one that is damaged or does not match is passed over with a
 * line. */
int partition_cache_read(const struct partition_key *key, struct partition *partition);

/* Writes the file to the first place that takes it and sets partition->path; says so when none does. */
void partition_cache_write(const struct partition_key *key, struct partition *partition);

#endif
