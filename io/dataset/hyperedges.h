/* hyperedges: lists of vertices in any order become the rows of a dataset's /hypergraph.
 *
 * The incidence matrix is binary (Feng et al. 2019): a vertex that stands several times in a hyperedge counts
 * once. An empty hyperedge says nothing and is left out. Hyperedges of one vertex stay, and so do equal ones:
 * each weighs by itself. Rows ascend. */
#ifndef IO_DATASET_HYPEREDGES_H
#define IO_DATASET_HYPEREDGES_H

#include <stdint.h>

struct hyperedges {
  int64_t count, capacity;         /* hyperedges that were ended */
  int64_t *start;                  /* [count + 1] */
  int64_t filled, room;            /* vertices in all */
  int64_t *vertex;                 /* [filled] as they were read */
  int64_t lowest, highest;         /* of them; lowest > highest: none */
  int64_t empty, repeated, single; /* found by hyperedges_build: left out, merged, of one vertex */
};

void hyperedges_init(struct hyperedges *h);
/* Adds a vertex (>= 0) to the hyperedge that is open; ends it, which opens the next. */
int hyperedges_add(struct hyperedges *h, int64_t vertex);
int hyperedges_end(struct hyperedges *h);
void hyperedges_free(struct hyperedges *h);

/* Rows of vertices - base, each in [0, nodes): start [rows + 1] and vertex, which the caller frees also after
 * an error; rows is the number of hyperedges that are not empty. Errors: BAD_INPUT for a vertex outside. */
int hyperedges_build(struct hyperedges *h, int64_t base, int64_t nodes, int64_t *rows, int64_t **start,
                     int32_t **vertex);

#endif
