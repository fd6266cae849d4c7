/* part_rows: the rows of the parts that a rank orders and measures, between the moment when it is known which
 * part has which node and the moment when ranks own them. partition_part() says which parts these are. */
#ifndef PARTITION_CUT_PART_ROWS_H
#define PARTITION_CUT_PART_ROWS_H

#include "partition/graph/partition.h"
#include "partition/halo/halo.h"

struct part_rows {
  int first;                  /* of the parts that this rank has: as many as own.parts */
  struct directory directory; /* its nodes by ascending ids, and the others' ranks; empty where the block at
                                 hand serves as it is */
  struct halo halo;           /* nodes of other ranks that the rows list */
  struct graph graph;         /* the rows: columns are own nodes, from 0 on, then the halo's */
  struct partition own;       /* of own nodes, from 0 on: part, order, offset, halo and nnz */
  int borrowed;               /* graph and own are others' */
};

/* Collective. held: this rank's rows of the graph, each row being one rank's. Makes partition->order, whose
 * part and offset are known. One rank that holds all rows has them already: then own is the partition itself,
 * and the graph the one held. Errors: FAILED, agreed on by all ranks. */
int part_rows_init(struct comm *comm, const struct graph *held, struct partition *partition,
                   struct part_rows *rows);
/* Collective. All rows of a graph, at rank 0; no parts. */
int part_rows_gather(struct comm *comm, const struct graph *held, struct part_rows *rows);
void part_rows_free(struct part_rows *rows);

/* Collective. The same rows of another graph on the same nodes, by columns that are own nodes or, behind
 * them, anything. The caller frees `local`. */
int part_rows_bring(struct comm *comm, const struct graph *held, const struct part_rows *rows,
                    struct graph *local);

/* Collective. What own parts are goes to the partition, on every rank: this one's order, all halo, nnz and
 * edge_cut, and what is of the order that was chosen. */
int part_rows_return(struct comm *comm, const struct part_rows *rows, struct partition *partition);

/* How many own nodes are below `node` of all. */
int64_t part_rows_below(const struct part_rows *rows, int64_t node);

#endif
