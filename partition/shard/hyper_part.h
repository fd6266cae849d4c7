/* hyper_part: how the matrices of some incidences follow from each other (struct hyper_part). */
#ifndef PARTITION_SHARD_HYPER_PART_H
#define PARTITION_SHARD_HYPER_PART_H

#include "partition/shard/hyper.h"

/* Completes a part of which inner_edges, outer_own, partial and halo are there. Errors: FAILED when memory is
 * short; a half-built one may be freed. */
int hyper_part_complete(const struct hyper *hyper, struct hyper_part *part);
void hyper_part_free(struct hyper_part *part);
int64_t hyper_part_bytes(const struct hyper_part *part);

#endif
