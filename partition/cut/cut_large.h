/* cut_large: who owns which node of a large graph, decided by all ranks together. */
#ifndef PARTITION_CUT_CUT_LARGE_H
#define PARTITION_CUT_CUT_LARGE_H

#include "partition/graph/partition.h"
#include "partition/graph/progress.h"

struct cut_input {
  const struct graph *held;    /* this rank's block of the rows; of a star, of its hyperedges */
  int directed;                /* its pattern is that of both directions */
  int64_t vertices;            /* of a star, which come first; 0: a graph */
  const struct row_work *work; /* NULL: rows are alike */
  int by_scotch;               /* not by multilevel_partition */
  int parts;
  int64_t seed;
  double balance;
};

/* Collective. part[] of this rank's block of the nodes. Errors: FAILED, agreed on by all ranks. */
int cut_large(struct progress *progress, const struct cut_input *input, int32_t *part);

/* Bytes that it takes of each of so many ranks beside the rows held, METIS's on rank 0 left out, at most;
 * arcs: of the pattern. */
int64_t cut_large_bytes(int64_t nodes, int64_t arcs, int directed, int ranks);

#endif
