/* divide: METIS divides what is left of a graph over ranks. */
#ifndef PARTITION_MULTILEVEL_DIVIDE_H
#define PARTITION_MULTILEVEL_DIVIDE_H

#include "partition/graph/progress.h"
#include "partition/multilevel/dist_graph.h"

struct divide_input {
  const struct dist_graph *graph;
  const int64_t *count, *nnz; /* of own nodes; count NULL: 1 */
  int parts;
  int64_t seed;
  double balance;
};

/* Collective. part[own nodes]. Rank 0 gets the graph, of long rows only the heaviest arcs. */
int divide(struct progress *progress, const struct divide_input *input, int32_t *part);

/* Bytes that rank 0 takes for it. */
int64_t divide_bytes(int64_t nodes, int64_t arcs);

#endif
