/* coarse_graph: a graph as clustering wants it: a sample of the arcs inside a shard, then its contractions.
 *
 * A node's volume is the number of its arcs in the shard. A node of level 0 keeps at most COARSE_GRAPH_SAMPLE
 * of them, taken at even steps, each standing for its share of the volume; so a dense graph costs no more
 * than a sparse one. The sample need not be symmetric: only a node's own row speaks for it. */
#ifndef PARTITION_GRAPH_COARSE_GRAPH_H
#define PARTITION_GRAPH_COARSE_GRAPH_H

#include <stdint.h>

#include "runtime/base/csr.h"

enum { COARSE_GRAPH_SAMPLE = 64 };

struct coarse_graph {
  int64_t nodes;
  int64_t *start;  /* [nodes + 1] */
  int32_t *col;    /* [start[nodes]] */
  float *weight;   /* [start[nodes]]; NULL: each arc of row v weighs share[v] */
  float *share;    /* [nodes] of level 0: arcs that each kept one stands for */
  int64_t *volume; /* [nodes] */
  int64_t total;   /* sum of the volumes */
};

/* The arcs among the rows id[0 .. count) of a symmetric pattern, node i standing for row id[i]. local[v]: the
 * node that column v is, -1 when it is none. id and local NULL: node i is the pattern's row i, whose id is
 * first + i, and columns, which are ids, stay as they are. Self loops count for nothing. */
int coarse_graph_sample(const struct csr *pattern, int64_t first, const int64_t *id, int64_t count,
                        const int32_t *local, int64_t seed, struct coarse_graph *n);

/* The arcs of both directions with the sum of their weights, rows ascending and without loops. The graph has
 * weights; the caller frees `symmetric`. */
int coarse_graph_symmetrise(const struct coarse_graph *g, struct csr *symmetric);

/* Nodes of equal label become one: label[v] in [0, labels). Arcs inside a label vanish; its volume stays. */
int coarse_graph_contract(const struct coarse_graph *fine, const int32_t *label, int64_t labels,
                          struct coarse_graph *coarse);
void coarse_graph_free(struct coarse_graph *coarse_graph);

/* Sums of weights by label, for one row at a time: a hash table that is empty between rows. */
struct tally {
  int64_t mask;
  int32_t *label;   /* [mask + 1], -1: free */
  double *sum;      /* [mask + 1] */
  int32_t *touched; /* places in use */
  int64_t count;
  int32_t *row; /* the labels of the row's columns, in their order */
};

/* For rows of at most `longest` different labels, and of as many arcs. */
int tally_init(struct tally *tally, int64_t longest);
void tally_free(struct tally *tally);
void tally_clear(struct tally *tally);
void tally_add(struct tally *tally, int32_t label, double weight);
/* Adds the arcs of row v to labels other than `except` (-1: none); a node's arc to itself is left out. */
void tally_row(struct tally *t, const struct coarse_graph *n, int64_t v, const int32_t *label,
               int32_t except);

int64_t coarse_graph_longest_row(const struct coarse_graph *coarse_graph);

#endif
