/* partition: which rank owns which node, and the order of the nodes inside each shard; made once, kept
 * beside the dataset. What is of every node is divided among the ranks, until a directory
 * (partition/graph/directory.h) has it as a training wants it. METIS: Karypis and Kumar, SIAM J. Sci. Comput.
 * 20 (1998). */
#ifndef PARTITION_GRAPH_PARTITION_H
#define PARTITION_GRAPH_PARTITION_H

#include <stdint.h>

#include "kernels/cost/cost_model.h"
#include "partition/graph/graph.h"
#include "partition/graph/grid.h"
#include "runtime/comm/comm.h"
#include "runtime/config/config.h"

/* How often an epoch sums the arcs of a node's row, where rows differ in it: times[level[v]]. */
enum { ROW_WORK_LEVELS = 17 };
struct row_work {
  const uint8_t *level; /* [nodes] */
  int64_t times[ROW_WORK_LEVELS];
};

struct partition {
  int parts;
  struct grid grid; /* of the ranks; those of a row share a part, whose halo and nnz each of them has */
  int64_t nodes;
  int64_t graphs;      /* that parts leave whole; 0: parts may cut anything */
  int32_t *part;       /* owners of this rank's block of the nodes (graph_block); NULL: known no more */
  int64_t *order;      /* global ids of the nodes at this rank's places (partition_place), shard after shard,
                          each in its local order; NULL on all ranks: as the file has them */
  int64_t *offset;     /* [parts + 1] shard p owns order[offset[p] .. offset[p + 1]) */
  int64_t edge_cut;    /* arcs between different parts */
  int64_t *halo;       /* [parts] rows each part receives */
  int64_t *nnz;        /* [parts] non-zeros of each part's rows */
  int64_t *vertices;   /* [parts] of a star, vertices of each part, which come first */
  double work_balance; /* imbalance of row_work; 0: unknown */
  enum node_order chosen; /* the order that auto took, else the one asked for */
  int tried;              /* bit o: auto has made order o */
  struct density density; /* of the order; all zero where it was not rated. Rank 0 */
  double seconds;         /* that making it took ... */
  double order_seconds;   /* ... and of these the order */
  int64_t memory;         /* rank 0's peak until it was made, where it was */
  int cached;             /* read from a file */
  char path[1200];        /* that file, "" when there is none */
};

/* Collective. Reads the cached partition that matches (method, parts, seed, balance, order, graph hash) or
 * makes it (progress lines meanwhile), and rank 0 writes it to <dataset>.parts/ (or to
 * `run_dir`/parts when that place is not writable; NULL: nowhere else). One that does not match is ignored
 * with a line; owners are taken over from one of another order. Every rank receives what is of parts, and its
 * share of what is of nodes, unless they stand as the file has them. hash: of the whole graph. block: this
 * rank's rows, which spare a reading where they are all, or where the parts are the ranks' blocks in the
 * order given (then nothing is read or written); NULL: none at hand. work: parts of METIS that share it badly
 * are made anew, with it in place of the non-zeros; it wants the blocks; NULL: rows are alike. A dataset of
 * many graphs is cut between them, whatever the settings say. Errors: BAD_INPUT when there are more parts
 * than nodes, or than graphs. */
int partition_make(struct comm *comm, const struct config *config, struct dataset *dataset, uint64_t hash,
                   const struct graph *block, const struct row_work *work, int parts, const char *run_dir,
                   struct partition *partition);
/* Makes the order of nodes that stand as the file has them, of a rank that has all. Errors: FAILED when
 * memory is short. */
int partition_want_order(struct partition *partition);
void partition_free(struct partition *partition);
/* Of parts all stays. */
void partition_forget_nodes(struct partition *partition);

/* Deals the nodes of each part among so many ranks, in consecutive pieces of its order, as equal as can be:
 * a grid with so many columns. */
int partition_deal(struct partition *partition, int cols);

/* ", made in 1.2 s" or ", read from a file"; into text[size]. */
void partition_how(const struct partition *partition, char *text, size_t size);
/* ", 1.2 s, 530 MiB on rank 0" or ", 0.0 s, read from FILE", into text[size]. */
void partition_origin(const struct partition *partition, char *text, size_t size);

/* Method, order, where it came from, what is cut and how evenly, in one line of text[size]. */
void partition_text(const struct partition *partition, const struct config *config, int64_t edges, char *text,
                    size_t size);

/* Imbalance (largest / mean) of owned nodes and of non-zeros. */
double partition_node_balance(const struct partition *partition);
double partition_edge_balance(const struct partition *partition);

/* Details: the table: method and order, edge cut, then rows, non-zeros and halo rows per rank, balances.
 * dense: also how densely the order packs the arcs, and what a GPU makes of that. */
void partition_print(const struct partition *partition, const struct config *config, int64_t edges,
                     int dense);

/* Zeroed arrays of that shape, of a rank that has all nodes; those of parts alone; and these with the owners
 * of the rank's block of the nodes. */
int partition_init(struct partition *partition, int parts, int64_t nodes);
int partition_init_parts(struct partition *partition, int parts, int64_t nodes);
int partition_init_block(const struct comm *comm, struct partition *partition, int parts, int64_t nodes);

/* Collective. Every rank gets what rank 0 has of parts, and of the whole. */
int partition_share(struct comm *comm, struct partition *partition);

/* part[count] of nodes [first, first + count) of so many, the same whatever piece is asked for: blocks of
 * consecutive ids, as equal as can be; and blocks of the ids in a random order, that is, a permutation that
 * is computed node by node (J. Black and P. Rogaway, Ciphers with arbitrary finite domains, CT-RSA 2002). */
void partition_assign_blocks(int parts, int64_t nodes, int64_t first, int64_t count, int32_t *part);
void partition_assign_random(int parts, int64_t nodes, int64_t seed, int64_t first, int64_t count,
                             int32_t *part);

/* Counts offset from part, of a rank that has all nodes; collective: of all ranks. */
void partition_count(struct partition *partition);
int partition_count_all(struct comm *comm, struct partition *partition);

/* Parts are dealt among the ranks to be ordered and listed, in consecutive pieces, as equal in number as can
 * be. The first part of rank r, and its place among all nodes; those of rank comm->size are behind the last.
 */
int partition_part(const struct comm *comm, const struct partition *partition, int r);
int64_t partition_place(const struct comm *comm, const struct partition *partition, int r);

/* Names as they stand in the configuration. */
extern const char *const partition_method_name[];

#endif
