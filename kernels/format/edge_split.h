/* edge_split: a hypergraph cut so that one thread block can sum hyperedges and hand the sums back to its
 * vertices at once. (Edge split and groups that share sums: Yu et al., HyperGef, MLSys 2023; there hyperedges
 * are grouped and vertices are added to, here vertices are grouped, so that each row has one owner.)
 *
 * A block owns rows of vertices and sums every hyperedge that these are in, all of its vertices, once. A
 * hyperedge is cut into pieces of `limit` vertices, or so long that they take a quarter of the slots and 64
 * at most; each piece's sum lies in a slot of the block's shared memory. Then the pieces of a hyperedge are
 * joined in the first one's slot, and each row adds up the slots of its hyperedges. A block does that in one
 * round of at most `slots` pieces, or has one row alone whose hyperedges take several. Hyperedges never cross
 * rounds; those in several blocks are read again by each.
 *
 * It depends on the hypergraph alone, not on threads. */
#ifndef KERNELS_FORMAT_EDGE_SPLIT_H
#define KERNELS_FORMAT_EDGE_SPLIT_H

#include "runtime/base/csr.h"

enum {
  SPLIT_SLOTS_LEAST = 64,
  /* With 128 bytes a slot two blocks share a multiprocessor of an H200, or there is one. */
  SPLIT_SLOTS_HALF = 768,
  SPLIT_SLOTS_MOST = 1536
};

/* Entries [first, first + count) of the hyperedges. */
struct split_piece {
  int64_t first;
  int32_t count;
  int32_t edge; /* whose only piece it is; -1: of one that has several */
};

/* The pieces in slots [slot, slot + pieces) are those of one hyperedge. */
struct split_join {
  int32_t edge;
  uint16_t slot, pieces;
};

/* Where a round's pieces, joins, uses and the starts of its rows' uses begin. */
struct split_round {
  int64_t piece, join, use, row_use;
  int32_t pieces, joins;
};

/* Where a block's rows and rounds begin. */
struct split_block {
  int64_t row, round;
};

struct split_counts {
  int64_t blocks, rows, rounds, pieces, joins, uses, row_uses;
  int64_t entries, longest; /* rows of X that are read, by all blocks and by the one that reads most */
};

struct edge_split {
  int32_t limit, slots;
  struct split_counts count;
  struct split_block *block; /* [blocks + 1] */
  struct split_round *round; /* [rounds]; a piece lies in the slot of its number in the round */
  struct split_piece *piece;
  struct split_join *join;
  uint16_t *use;    /* slots of a row's hyperedges */
  int32_t *row_use; /* of a round with n rows n + 1: uses from the round's first on */
  int32_t *row;     /* [rows] vertices, block after block; NULL: in their order */
};

/* edges and vertices: both views of the incidences; hyperedges without vertices count nothing. threads: that
 * build it. Errors: FAILED when memory is short; a half-built one may be freed. */
int edge_split_init(const struct csr *edges, const struct csr *vertices, int threads,
                    struct edge_split *split);
void edge_split_free(struct edge_split *split);

/* Pieces of a hyperedge at most. */
static inline int32_t split_pieces_most(int32_t slots) {
  return slots < 4 * 64 ? slots / 4 : 64;
}

/* Vertices of a piece as the cost rule chooses them. */
int32_t edge_split_limit(const struct csr *edges);

#endif
