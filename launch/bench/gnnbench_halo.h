/* A plan of rows between all ranks for gnnbench exchange: of a dataset's partition, as gnntrain makes it, or
 * equally many rows at random for each pair of ranks. */
#ifndef LAUNCH_BENCH_GNNBENCH_HALO_H
#define LAUNCH_BENCH_GNNBENCH_HALO_H

#include "launch/bench/bench.h"
#include "partition/shard/shard.h"

struct bench_halo {
  struct halo *halo;
  int64_t own;       /* rows of this rank */
  const int64_t *id; /* [own] their global ids */
  /* One of these holds what the above point to. */
  struct halo random;
  struct dataset dataset;
  struct directory directory;
  struct shard shard;
};

/* Collective. Errors: what reading and partitioning the dataset say. */
int bench_halo_init(struct bench *bench, struct bench_halo *h);
void bench_halo_free(struct bench_halo *h);

#endif
