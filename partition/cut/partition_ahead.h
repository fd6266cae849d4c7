/* partition_ahead: what making a partition asks of METIS and of memory, told without the graph. */
#ifndef PARTITION_CUT_PARTITION_AHEAD_H
#define PARTITION_CUT_PARTITION_AHEAD_H

#include "partition/graph/partition.h"

/* Of a dataset's graph, or of the star of its hypergraph. Errors: BAD_INPUT where METIS is to put the whole
 * in order and surely cannot, since its indices are too short, or where the file that says the parts is not
 * there; not where a partition into as many parts is kept, which may be the one wanted. And for more parts
 * than nodes. */
int partition_check_ahead(const struct config *config, const struct dataset *dataset, int hypergraph,
                          int parts);

/* The last of these by itself. nodes: what they are called. */
int partition_check_parts(const struct dataset *dataset, int parts, const char *nodes);

/* Bytes that a rank took at the peak of making that partition, or of reading it, its own block of rows
 * included. To within a quarter of what was measured (metis.h). */
int64_t partition_making_bytes(const struct config *config, const struct dataset *dataset, int hypergraph,
                               int rank, int ranks, const struct partition *made);

#endif
