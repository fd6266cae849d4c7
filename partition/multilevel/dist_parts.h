/* dist_parts: parts of a graph over ranks, and nodes that move between them. What a part may take is divided
 * among those that want to come by prefix sums, in the order of their ids over all ranks: the result is the
 * same on any number of ranks and threads. */
#ifndef PARTITION_MULTILEVEL_DIST_PARTS_H
#define PARTITION_MULTILEVEL_DIST_PARTS_H

#include "partition/multilevel/dist_graph.h"

enum part_load { PART_NODES, PART_NONZEROS, PART_LOADS };

struct dist_parts {
  const struct dist_graph *graph;
  int parts;
  const int64_t *count, *nnz; /* [rows.nodes] of own nodes; count NULL: 1 */
  int64_t limit[PART_LOADS];
  int64_t *load;                  /* [parts * PART_LOADS] of all ranks: of part p at p * PART_LOADS */
  int32_t *part;                  /* [rows.nodes + ghosts] borrowed */
  int32_t *next;                  /* [rows.nodes] where a node wants to go */
  int64_t *coming, *before, *all; /* scratch of dist_parts_before: [parts * PART_LOADS], `all` of each rank */
};

/* Collective. part: of own nodes; those of ghosts are fetched. A part may hold `balance` times the mean. */
int dist_parts_init(struct dist_parts *p, const struct dist_graph *graph, int parts, const int64_t *count,
                    const int64_t *nnz, double balance, int32_t *part);
void dist_parts_free(struct dist_parts *p);

static inline int64_t dist_parts_weight(const struct dist_parts *p, int load, int64_t v) {
  return load == PART_NONZEROS ? p->nnz[v] : p->count ? p->count[v] : 1;
}

static inline int64_t dist_parts_load(const struct dist_parts *p, int part, int load) {
  return p->load[(int64_t)part * PART_LOADS + load];
}

/* What part `part` holds of a node that comes (sign 1) or goes (-1), in load[parts * PART_LOADS]. */
static inline void dist_parts_add(const struct dist_parts *p, int64_t *load, int part, int64_t v, int sign) {
  for (int l = 0; l < PART_LOADS; l++)
    load[(int64_t)part * PART_LOADS + l] += sign * dist_parts_weight(p, l, v);
}

/* Collective. p->before becomes the sum of p->coming over the ranks below; p->coming is zero again. */
int dist_parts_before(struct dist_parts *p);

/* Whether part `to` may take the node where others, before[parts * PART_LOADS], come ahead of it; NULL: none
 * do. */
typedef int dist_parts_may(const struct dist_parts *p, int64_t v, int32_t to, const int64_t *before);

/* Collective. Nodes of a share, or of DIST_ALL, go where they want to (p->next), one after the other by their
 * ids over all ranks: whoever may not come behind those ahead of it, these being let in or not, stays. Adds
 * those that went on this rank to *moved; loads, and the parts of ghosts, are up to date then. */
int dist_parts_move(struct dist_parts *p, int share, dist_parts_may *may, int64_t *moved);

/* Collective. Nodes move until no more than a thousandth does, where more of their arcs lead; each part
 * within its limits, or with no more than the fullest that it relieves. */
int dist_parts_refine(struct dist_parts *p);

/* Collective. Nodes move where parts then receive fewer rows. For the finest level, and for at most 64 parts;
 * of more it does nothing. */
int dist_parts_lessen_volume(struct dist_parts *p);

/* Collective. Nodes leave parts above their limits, first those that lose the least weight of arcs for what
 * they relieve; ends where nothing relieves any more. */
int dist_parts_balance(struct dist_parts *p);

#endif
