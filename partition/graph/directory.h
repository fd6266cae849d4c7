/* directory: which rank owns which node, divided among the ranks: a distributed directory, as in Zoltan
 * (Devine et al., CiSE 4, 2002).
 *
 * Every node has a position: those of a rank follow each other in its order, behind those of the ranks before
 * it. A rank knows the nodes of its own positions, and the positions of its block of all nodes (graph_block),
 * which are those that it reads of a file. It asks the other ranks for any others. A rank alone
 * (runtime/comm/comm_lone.h) reads all nodes and knows all positions. */
#ifndef PARTITION_GRAPH_DIRECTORY_H
#define PARTITION_GRAPH_DIRECTORY_H

#include <stdint.h>

#include "partition/graph/partition.h"

struct directory {
  struct grid grid;
  int rank;
  int64_t nodes;
  int64_t *offset;         /* [ranks + 1] rank r owns positions [offset[r], offset[r + 1]) */
  int64_t row_first, rows; /* positions of the part that this rank shares with its row of the grid */
  int64_t *id;             /* [rows] their nodes */
  int64_t first, count;    /* the block of nodes ... */
  int32_t *position;       /* [count] ... and their positions */
};

/* Collective. Of a partition into as many parts as there are ranks, whose order these list, or nobody: then
 * it is the file's. A rank alone has all of it by itself. Errors: FAILED for another number of parts, or when
 * memory is short. */
int directory_init(struct comm *comm, const struct partition *partition, struct directory *directory);
/* Collective. Rank r owns positions [offset[r], offset[r + 1]) of offset[ranks], at which this one's nodes
 * are id[]. Both are copied. */
int directory_init_ids(struct comm *comm, const int64_t *offset, const int64_t *id,
                       struct directory *directory);
/* Collective. Of the nodes [0, nodes) alone, which come first on every rank: the vertices of a star. */
int directory_init_first(struct comm *comm, const struct directory *all, int64_t nodes,
                         struct directory *directory);
void directory_free(struct directory *directory);
int64_t directory_bytes(const struct directory *directory);

/* Collective. The ids of this rank have been put into another order: the ranks that read them get to know. */
int directory_tell(struct comm *comm, struct directory *directory);

/* Collective. position[count] of any nodes id[count]. */
int directory_ask(struct comm *comm, const struct directory *directory, const int32_t *id, int64_t count,
                  int32_t *position);

/* The rank that owns a position. */
static inline int directory_owner(const struct directory *directory, int64_t position) {
  int low = 0, behind = directory->grid.rows * directory->grid.cols;
  while (behind - low > 1) {
    const int middle = low + (behind - low) / 2;
    if (directory->offset[middle] <= position)
      low = middle;
    else
      behind = middle;
  }
  return low;
}

/* The first rank of the row of the grid that `rank` stands in; and the one of that row in this rank's column.
 */
static inline int directory_row_of_grid(const struct directory *directory, int rank) {
  return rank / directory->grid.cols * directory->grid.cols;
}

static inline int directory_peer(const struct directory *directory, int64_t position) {
  return directory_row_of_grid(directory, directory_owner(directory, position)) +
         directory->rank % directory->grid.cols;
}

/* Whether this rank's row of the grid has that position. */
static inline int directory_has(const struct directory *directory, int64_t position) {
  return position >= directory->row_first && position < directory->row_first + directory->rows;
}

/* Nodes that this rank owns by itself: so many of its ids, and which come first. */
static inline int64_t directory_own(const struct directory *directory) {
  return directory->offset[directory->rank + 1] - directory->offset[directory->rank];
}

static inline const int64_t *directory_own_ids(const struct directory *directory) {
  return directory->id + (directory->offset[directory->rank] - directory->row_first);
}

#endif
