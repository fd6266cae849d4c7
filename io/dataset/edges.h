/* edges: a list of arcs in any order becomes a sorted adjacency without duplicates.
 *
 * Row v of the result lists the sources u of the arcs u -> v, ascending. Arcs that occur several times become
 * one; their weights are summed, as MatrixMarket readers, scipy and PyTorch do. Symmetrising adds u <- v for
 * every u -> v; where both are there with different weights both get the larger, as in the reference GCN of
 * Kipf and Welling, so that a graph that lists both directions keeps its weights.
 *
 * Each arc is an entry of its target's row and, reversed, of its source's. A stable pass deals the entries to
 * buckets of neighbouring rows; then the rows of a bucket are sorted, which fits in a cache, and their arcs
 * merged. Both halves of a row tell whether the graph is symmetric. All threads work at once, on blocks of
 * the list and on buckets; sums happen in the order of the list, so the result is that of one thread. What
 * does not fit in the list's limit of memory waits in a file. */
#ifndef IO_DATASET_EDGES_H
#define IO_DATASET_EDGES_H

#include <stdint.h>

#include "io/dataset/arcs.h"
#include "runtime/base/csr.h"

struct edges {
  struct arcs list;
  int undirected; /* every arc stands for both directions */
  int drop_loops; /* leave u -> u out */
  int64_t nodes;  /* the ids are base .. base + nodes - 1; 0: those that occur, in ascending order */
  int64_t base;
  int64_t target_shift; /* is added to targets: those of a bipartite graph follow its sources */
  /* Found by edges_build: */
  int64_t loops, duplicates, mirrored; /* dropped, merged, added arcs */
  int64_t unequal;                     /* pairs made symmetric whose two weights differed */
  int directed;                        /* pattern or weights of the result are not symmetric */
};

void edges_free(struct edges *edges);

/* Makes the adjacency `graph` (caller frees) and uses up the arcs. *id: the users' ids of the nodes, NULL
 * when they are 0 .. N-1. Sets edges->nodes and the counts. Errors: BAD_INPUT: an id out of range, too many
 * nodes, a sum of weights that is not finite; FAILED: out of memory, the disk is full. */
int edges_build(struct edges *edges, struct csr *graph, int64_t **id);

#endif
