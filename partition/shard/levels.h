/* levels: which nodes a loss over the training nodes depends on, hop by hop; and an evaluation.
 *
 * The level of a node is the least number of arcs on a way from it to a training node: 0 for these, 1 for the
 * other sources of their rows, and so on. Level h and all below it are what a layer h hops below the loss has
 * to compute. Nodes of a shard are numbered by level, inside a level in the order that was found, so that
 * these are the first rows of a matrix. Nodes beyond the last level that is kept count as one more.
 *
 * Where evaluations have levels, too, these stand in between: level 2 h is for the loss what h is above, and
 * 2 h + 1 likewise for the nodes of all parts of the split. Each is numbered behind all that come before it,
 * so that a layer may compute a few rows of the other sort, too.
 *
 * In a hypergraph a hop leads over a hyperedge. A hyperedge has the least level of its vertices: a product
 * whose rows are the vertices up to a level sums the hyperedges up to that level. */
#ifndef PARTITION_SHARD_LEVELS_H
#define PARTITION_SHARD_LEVELS_H

#include <stdint.h>

#include "partition/graph/partition.h"

enum { LEVELS_MOST = 15 };

struct levels {
  int64_t vertices; /* nodes from there on are hyperedges */
  int count;        /* levels that are kept; 0: none are, all nodes are alike */
  int stride;       /* from a level to that one hop further down: 2 where evaluations have levels, else 1 */
  int summed;  /* the first ones, of the rows of which arcs are summed; of the others the rows alone matter */
  int closed;  /* no arc leads from another node to those of the levels: one further down needs no more */
  uint8_t *of; /* [nodes] at most count; of a star, vertices and then hyperedges */
  /* Shares of nodes, or vertices, up to that level, and of the arcs that a product with these rows reads */
  double rows[LEVELS_MOST], arcs[LEVELS_MOST];
};

/* Collective. Finds levels of up to `most` hops for the training nodes of a split, `sums` of which are
 * summed, and for its evaluation where the stride is 2: none that holds, with those before it, nearly all
 * nodes. block: this rank's rows of the graph, or of a hypergraph's star. Errors: what dataset_read_split
 * says. */
int levels_find(struct comm *comm, struct dataset *dataset, const struct graph *block, int64_t split,
                int64_t most, int64_t sums, int stride, struct levels *levels);
void levels_free(struct levels *levels);
/* Keeps how many there are and their shares alone. */
void levels_forget_nodes(struct levels *levels);

/* Share of their work that sums over the arcs have to do, `sums` above each other, the topmost `top` times as
 * wide as each of the others, where those of the first `most` hops compute no more rows than they have to;
 * without sums, share of the rows. first: 0 for the loss, 1 for an evaluation. */
double levels_share(const struct levels *levels, int first, int64_t most, int64_t sums, double top);

/* What rows that only evaluations need have added to that share of the loss, at most. */
double levels_added(const struct levels *levels, int64_t most, int64_t sums, double top);

/* The same work of each node's row: how often its arcs are summed, a sum as wide as the lower ones counting
 * ROW_WORK_SUM times. Of rows that an epoch needs least some of all stays: evaluations sum them, too. level
 * is borrowed. */
enum { ROW_WORK_SUM = 16 };
struct row_work levels_work(const struct levels *levels, int64_t most, int64_t sums, double top);

/* Sorts nodes by level, those of each part, order[offset[p] .. offset[p + 1]), by themselves; inside a level
 * they keep their order. Hyperedges stay behind vertices. */
int levels_order(const struct levels *levels, int parts, const int64_t *offset, int64_t *order);

#endif
