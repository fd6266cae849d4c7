/* arrival_local: rows that have arrived, by local ids, which ascend: own columns first. */
#ifndef PARTITION_SHARD_ARRIVAL_LOCAL_H
#define PARTITION_SHARD_ARRIVAL_LOCAL_H

#include "partition/shard/arrival.h"

/* Room for a row of each thread, be it the longest one. */
struct arrival_scratch {
  int32_t *local, *col;
  float *weight;
  struct arrival_entry *entry; /* for two rows */
};

/* Errors: FAILED when memory is short. Freed by arrival_scratch_free. */
int arrival_scratch_init(const struct arrival *a, struct arrival_scratch *scratch);
void arrival_scratch_free(struct arrival_scratch *scratch);
/* Rows where they lie, and the own row that is the i-th of them; -1: another rank's. */
int64_t arrival_lying(const struct arrival *a);
int64_t arrival_lies(const struct arrival *a, int64_t i);
/* Asks for what arrival_row() will look up of the i-th, if there is one: a row or two later it lies in the
 * cache. */
void arrival_fetch(const struct arrival *a, int64_t i);
/* An own row, in this thread's room or where it lies. */
struct arrival_row arrival_row(const struct arrival *a, int64_t v, const struct arrival_scratch *scratch);

#endif
