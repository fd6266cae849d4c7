/* metis: the one place that speaks to METIS (Karypis and Kumar, SIAM J. Sci. Comput. 20, 1998). */
#ifndef PARTITION_GRAPH_METIS_H
#define PARTITION_GRAPH_METIS_H

#include <stdint.h>

#include "partition/graph/progress.h"
#include "runtime/base/csr.h"

/* Whether METIS's index type can hold a pattern. Errors: BAD_INPUT naming the alternatives. */
int metis_fits(int64_t nodes, int64_t arcs, const char *dataset);

/* Bytes that METIS takes beyond that pattern: with METIS 5.1 of 32-bit indices 34 to 50 an arc, the fewer the
 * more nodes there are, were measured on graphs of 8 to 60 arcs a node, for 2 and for 16 parts alike. */
int64_t metis_bytes(int64_t nodes, int64_t arcs);

/* part[v] in [0, parts) for a symmetric graph without loops: minimises the communication volume where no node
 * has many arcs, else the arcs between parts, or their weight. At most `balance` times the mean of nodes
 * (count[v] of node v, of a star expansion; NULL: 1) and of `nnz` (non-zeros of each node's row) is in a
 * part, unless a hub has twice that; two parts are the better of what k-way partitioning and
 * bisection find. METIS may miss that balance; balance_parts mends what it left. Errors: FAILED when METIS
 * does. */
int metis_partition(struct progress *progress, const struct csr *graph, const int64_t *count,
                    const int64_t *nnz, int parts, int64_t seed, double balance, int32_t *part);

/* Divides the nodes of a pattern into clusters of near equal size with few edges between them. METIS numbers
 * clusters by recursive bisection of the coarsest graph: near numbers are near in the graph. */
int metis_clusters(struct progress *progress, const struct csr *pattern, int clusters, int64_t seed,
                   int32_t *cluster);

#endif
