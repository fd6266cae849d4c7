/* multilevel: parts of a large graph. Size-constrained label propagation (Meyerhenke, Sanders and Schulz, SEA
 * 2014) makes clusters of clusters until METIS divides what is left in a few seconds; the parts go back level
 * by level, and at each one nodes move to the part that most of their arcs lead to, where there is room. */
#ifndef PARTITION_CUT_MULTILEVEL_H
#define PARTITION_CUT_MULTILEVEL_H

#include <stdint.h>

#include "partition/graph/progress.h"
#include "runtime/base/csr.h"

/* Whether a graph of so many arcs is partitioned so (docs/decisions/049); smaller ones by METIS alone. */
int multilevel_takes(int64_t arcs, int directed);
extern int64_t multilevel_arcs; /* of a symmetric pattern, from which on it does; tests make it small */

/* Bytes that it takes beyond the pattern, at most: two and a half samples of it. */
int64_t multilevel_bytes(int64_t nodes, int64_t arcs);

/* Arguments as metis_partition's; loops in the pattern count for nothing. Equal input, equal result, on any
 * number of threads. */
int multilevel_partition(struct progress *progress, const struct csr *pattern, const int64_t *count,
                         const int64_t *nnz, int parts, int64_t seed, double balance, int32_t *part);

#endif
