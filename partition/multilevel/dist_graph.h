/* dist_graph: a graph whose nodes lie on the ranks, in blocks of consecutive ids (graph_block). A rank has
 * the rows of its own nodes, and of the others' nodes that these lead to, its ghosts, what it asks for.
 * Nothing in it depends on how many ranks there are but who does the work. */
#ifndef PARTITION_MULTILEVEL_DIST_GRAPH_H
#define PARTITION_MULTILEVEL_DIST_GRAPH_H

#include "partition/graph/coarse_graph.h"
#include "runtime/comm/comm.h"

/* Nodes decide in rounds of so many shares: node v in that of v modulo DIST_SHARES, all of a share at once,
 * on any number of threads and ranks. */
enum { DIST_SHARES = 16, DIST_ALL = -1 };

struct dist_graph {
  struct comm *comm;        /* borrowed */
  int64_t nodes, first;     /* of all ranks; the first of this one's */
  struct coarse_graph rows; /* of own nodes; columns: own nodes, and from rows.nodes on ghosts */
  int64_t longest;          /* own row */
  int64_t ghosts;           /* by owner, share and id */
  int32_t *send;            /* own nodes that are ghosts elsewhere, by rank, share and id */
  int64_t *send_start;      /* [size * DIST_SHARES + 1]: in `send`, of rank r and share s ... */
  int64_t *recv_start;      /* ... and among the ghosts, both at r * DIST_SHARES + s */
  char *out;                /* room for a value of each of `send` */
  struct message *messages; /* [2 size] */
};

/* Collective. Takes `rows` over, of this rank's nodes and with global ids as columns, also when it fails. */
int dist_graph_init(struct dist_graph *g, struct comm *comm, int64_t nodes, struct coarse_graph *rows);
void dist_graph_free(struct dist_graph *g);

/* Collective. Ghosts get their owners' values, value[rows.nodes + ghosts] of 4 or 8 bytes each: of the nodes
 * of one share, or of DIST_ALL. */
int dist_graph_fetch(const struct dist_graph *g, int share, void *value, int64_t bytes);

/* The first own node of a share, from where on every DIST_SHARES-th is in it. */
static inline int64_t dist_graph_share(const struct dist_graph *g, int share) {
  return (share - g->first % DIST_SHARES + DIST_SHARES) % DIST_SHARES;
}

/* Has threads call decide(tally, v, context) for each own node of a share, or of DIST_ALL, with a tally of
 * each thread for the node's row. */
int dist_graph_decide(const struct dist_graph *g, int share,
                      void (*decide)(struct tally *tally, int64_t v, void *context), void *context);

/* Collective. Weighs the arcs of a sample by how much they say of the rows that parts will send each other: a
 * node's row is sent once to each part that has a neighbour of it, so that one arc of few weighs more than
 * one of many. That is the node and its neighbours as a net of a hypergraph (Catalyurek and Aykanat, IEEE
 * Trans. Parallel Distrib. Syst. 10, 1999), of which only the arcs to the node itself are kept. Each arc
 * counts 1 / sqrt(volume) of both of its ends (decision 049), as a whole number: sums do not depend on
 * their order. */
int dist_graph_weigh(struct dist_graph *g);

#endif
