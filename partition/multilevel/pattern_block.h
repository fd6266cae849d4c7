/* pattern_block: the rows of a rank's nodes in the pattern of a directed graph, which the arcs of both
 * directions make. */
#ifndef PARTITION_MULTILEVEL_PATTERN_BLOCK_H
#define PARTITION_MULTILEVEL_PATTERN_BLOCK_H

#include "partition/graph/graph.h"

/* Collective. `held`: rows of the graph that this rank has, whichever; all ranks have all of them. Rows of
 * the rank's block of nodes, with global columns, ascending and without loops. The caller frees `pattern`. */
int pattern_block(struct comm *comm, const struct graph *held, struct csr *pattern);

#endif
