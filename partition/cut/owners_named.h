/* owners_named: the owners that partition.file says, where they are needed. */
#ifndef PARTITION_CUT_OWNERS_NAMED_H
#define PARTITION_CUT_OWNERS_NAMED_H

#include "partition/cut/partition_cache.h"
#include "partition/graph/progress.h"

/* Collective. *named, the caller's: owners of the nodes of this rank's block, as rank 0 reads them; of a star
 * (vertices > 0) those of all vertices, on rank 0. Adds them to key->hash there, for what is kept depends on
 * them. Errors: those of owners_file. */
int owners_named(struct progress *progress, int64_t vertices, struct partition_key *key, int32_t **named);

#endif
