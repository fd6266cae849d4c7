/* partition_graphs: parts of a dataset of many graphs: whole graphs in the order given, so that no arc is cut
 * and nothing has to be searched for. Shares of the work, arcs and nodes, are as equal as whole graphs let
 * them be. */
#ifndef PARTITION_CUT_PARTITION_GRAPHS_H
#define PARTITION_CUT_PARTITION_GRAPHS_H

#include "partition/graph/partition.h"

/* Collective; each rank makes it for itself. Errors: BAD_INPUT for more parts than graphs. */
int partition_make_graphs(struct comm *comm, struct dataset *dataset, int parts, struct partition *partition);

#endif
