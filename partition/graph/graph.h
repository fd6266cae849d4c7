/* graph: rows of the dataset's adjacency with global column ids, in host memory: a block of rows on every
 * rank, on the way to its owners. A small graph as a whole on rank 0, for METIS. */
#ifndef PARTITION_GRAPH_GRAPH_H
#define PARTITION_GRAPH_GRAPH_H

#include <stdint.h>

#include "io/dataset/dataset.h"
#include "runtime/base/csr.h"
#include "runtime/comm/comm.h"

struct graph {
  int64_t nodes;       /* of the whole graph */
  int64_t first, rows; /* the rows held: [first, first + rows) */
  int64_t edges;       /* non-zeros held */
  int64_t loops;       /* of them self loops */
  int64_t *start;      /* [rows + 1], start[0] = 0 */
  int32_t *col;        /* [edges] global ids (a graph of 2^31 nodes or more is refused), ascending in a row */
  float *weight;       /* NULL: binary */
  const char *path;    /* of the dataset, for messages; borrowed */
};

/* Rows [first, first + rows), at most DATASET_BLOCK bytes at a time; a dataset without a graph has no edges.
 * Errors: BAD_INPUT for rows that are not strictly ascending (the row is named), or what dataset_read_* say.
 */
int graph_read(struct dataset *dataset, int64_t first, int64_t rows, struct graph *graph);
/* No edges among that many nodes, no rows held. */
int graph_without_edges(int64_t nodes, struct graph *graph);
void graph_free(struct graph *graph);

/* First row of block r when N rows are cut into `size` blocks as equal as can be; the block that holds row
 * v. */
int64_t graph_block(int64_t nodes, int size, int r);
int graph_block_of(int64_t nodes, int size, int64_t v);

/* Whether the rows held are those of the rank's block; NULL: no. */
int graph_is_block(const struct comm *comm, const struct graph *graph);

/* Sums over all edges of a 64-bit mix of (row, column, weight): the same for any cut into blocks after the
 * sums are added over the ranks. */
uint64_t graph_hash(const struct graph *graph);
/* The sum over all edges above the diagonal of a mix of both ends and the weight, less that over those below:
 * 0, after the sums are added over the ranks, where each edge has an equal reverse. */
uint64_t graph_skew(const struct graph *graph);

/* Collective: every rank holds its block. Checks that the pattern and the weights are symmetric. Errors:
 * BAD_INPUT naming one arc without its reverse and the remedy. */
int graph_check_symmetric(struct comm *comm, const struct graph *block);

/* Collective. This rank's block of the rows, and the hash of the whole graph. Errors: those of graph_read,
 * and of graph_check_symmetric for a graph that is not directed. The dataset knows its arcs from then on. */
int graph_read_block(struct comm *comm, struct dataset *dataset, struct graph *block, uint64_t *hash);

/* The rows as a matrix without weights, which borrows them. */
struct csr graph_rows(const struct graph *graph);
/* The union of a whole graph and its transpose (of the graph alone when it is not directed), without self
 * loops and weights. */
int graph_pattern(const struct graph *graph, int directed, struct csr *pattern);

/* The weight of edge e as bits for edge_hash, 0 when binary. */
uint32_t graph_weight_bits(const struct graph *graph, int64_t e);

#endif
