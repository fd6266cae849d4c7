/* graph_set: many graphs as a reader finds them, on their way into a dataset. Nodes are numbered graph after
 * graph. */
#ifndef IO_IMPORT_GRAPH_SET_H
#define IO_IMPORT_GRAPH_SET_H

#include "io/import/import.h"

/* Zeroed: none. */
struct graph_set {
  int64_t graphs, nodes;
  int64_t *start; /* [graphs + 1] nodes that graphs begin with */
  int64_t *label; /* [graphs] any whole numbers of 32 bits */
  int64_t tags;   /* labels that each node has, */
  int64_t *tag;   /* [nodes, tags] likewise */
  int64_t attributes;
  float *attribute; /* [nodes, attributes] */
};

void graph_set_free(struct graph_set *set);

/* Gives the source its graphs, with a label at the first node of each, and features: the attributes, then a
 * column for each different value of each tag, ascending, of which a node's has 1. Different labels in
 * ascending order become classes, which keep them as names where they are not 0, 1, ... Uses up the set.
 * label, tag: what messages call them, file and all. Errors: BAD_INPUT: too many columns or classes. */
int graph_set_take(struct graph_set *set, struct import *import, const char *label, const char *tag);

/* Once the adjacency is there. Errors: BAD_INPUT: an arc leads from one graph to another. */
int graph_set_check(const struct import *import);

/* What has labels and stands in splits: graphs where there are many, else nodes; and the node where those of
 * an item stand. */
static inline int64_t source_items(const struct dataset_source *source) {
  return source->graphs.start ? source->graphs.count : source->nodes;
}

static inline int64_t source_node_of(const struct dataset_source *source, int64_t item) {
  return source->graphs.start ? source->graphs.start[item] : item;
}

#endif
