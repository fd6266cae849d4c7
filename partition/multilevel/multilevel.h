/* multilevel: parts of a large graph, made by all ranks together. Size-constrained label propagation
 * (Meyerhenke, Sanders and Schulz, SEA 2014) makes clusters of clusters until METIS divides what is left in a
 * few seconds; the parts go back level by level, and at each one nodes move to the part that most of their
 * arcs lead to, where there is room. A rank holds its block of the nodes of each level; what is left at the
 * end goes to rank 0. */
#ifndef PARTITION_MULTILEVEL_MULTILEVEL_H
#define PARTITION_MULTILEVEL_MULTILEVEL_H

#include <stdint.h>

#include "partition/graph/progress.h"
#include "runtime/base/csr.h"

/* Whether a graph of so many arcs is partitioned so (decision 049); smaller ones by METIS alone. */
int multilevel_takes(int64_t arcs, int directed);
extern int64_t multilevel_arcs; /* of a symmetric pattern, from which on it does; tests make it small */

/* Bytes that it takes of each of so many ranks beyond the pattern, at most; and METIS of rank 0 besides. */
int64_t multilevel_bytes(int64_t nodes, int64_t arcs, int ranks);
int64_t multilevel_divide_bytes(int64_t nodes, int64_t arcs, int parts);

struct multilevel_input {
  const struct csr *rows; /* the pattern's, of this rank's block of the nodes (graph_block); loops count for
                             nothing */
  const int64_t *count, *nnz; /* of the same nodes; as metis_partition takes them */
  int parts;
  int64_t seed;
  double balance;
};

/* Collective. A node weighs as much as its non-zeros and, for each that it counts for, *mean: the mean of all
 * nodes' non-zeros, rounded up. *all: the weight of all nodes of all ranks. */
int multilevel_weights(struct comm *comm, const struct multilevel_input *input, int64_t *mean, int64_t *all);

/* Collective. part[rows->rows] of the rank's nodes. Equal input, equal result, on any number of ranks and
 * threads. Errors: FAILED, agreed on by all ranks. */
int multilevel_partition(struct progress *progress, const struct multilevel_input *input, int32_t *part);

#endif
