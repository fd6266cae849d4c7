/* arrival: one direction of the adjacency on its way to the owners of its rows. */
#ifndef PARTITION_SHARD_ARRIVAL_H
#define PARTITION_SHARD_ARRIVAL_H

#include "partition/graph/graph.h"
#include "partition/graph/id_map.h"
#include "partition/halo/halo.h"
#include "runtime/comm/comm.h"

enum { ARRIVAL_RUNS = 8 }; /* of ascending global ids, at most */

/* The nodes whose rows have entries in the block: its own ones, or its columns. */
struct arrival_rows {
  struct id_set set; /* columns; without bits they are ids from `first` on */
  int64_t first, count;
  const int32_t *position; /* [count] in the directory ... */
  int32_t *asked;          /* ... or as other ranks say */
  int32_t *leaving;        /* [count] entries that this rank sends */
  int leave;               /* some of them do; else all rows of the block stay */
};

/* What arrives, and how far sending got. */
struct arrival {
  const struct directory *directory;
  const struct graph *block;
  int transposed, weighted, keeps_block; /* the block is read once more */
  int64_t own; /* nodes of this rank's row of the grid, all ranks of which hold their rows */
  int whole;   /* all own rows lie in the block: they are taken from there */
  int64_t run[ARRIVAL_RUNS + 1]; /* where global ids begin to ascend, as a level's do; then own */
  int runs;                      /* 0: there are more */
  struct arrival_rows rows;      /* until all have been sent */
  struct id_map local;           /* of own nodes and those of the halo, once these are known */
  int64_t *start;                /* [own + 1] where rows begin in col, unless whole */
  int64_t *filled;               /* [own] entries there so far */
  int64_t *in_halo;              /* [own] entries with halo columns */
  uint8_t *has_loop;             /* [own] 1: the row has a self loop */
  int32_t *col;                  /* global ids */
  float *weight;                 /* NULL: binary */
  int64_t longest;               /* entries of the longest row */
  struct {
    int64_t row, edge; /* of `rows`, or of the block */
    int copies;        /* how many ranks of its row of the grid have got it */
  } next;              /* to send */
  struct {
    int64_t block, rows; /* entries of the block, and of `col`: those before have gone back to the system */
    int64_t staying;     /* entries of the block in own rows */
    int64_t most;        /* bytes of entries while rows came */
  } memory;
};

/* Entries of a row, by global ids or by local ones. */
struct arrival_row {
  int64_t count;
  const int32_t *col;  /* [count] */
  const float *weight; /* [count]; NULL: binary */
};

/* Collective. Brings this rank's rows here, numbers the halo and counts its entries; the caller has set
 * directory, block, transposed, weighted, keeps_block and own. The block is needed further on if they are
 * `whole`. */
int arrival_receive(struct comm *comm, struct arrival *a, struct halo *halo);
/* An own row as it came, by global ids. */
struct arrival_row arrival_find(const struct arrival *a, int64_t v);
/* So many entries, 32 MiB of columns, go back to the system at a time. */
int64_t arrival_piece(void);
/* The first own rows in the order in which they lie are not needed any more: the memory of their entries goes
 * back to the system, so that what is made of them does not lie beside all. */
void arrival_leave(struct arrival *a, int64_t rows);
/* The most bytes that are there at a time, from the block to `made` of what own rows become. Where the order
 * of rows is no few runs, what they become is touched all over from the beginning. */
int64_t arrival_most_bytes(const struct arrival *a, int64_t made);
void arrival_free(struct arrival *a);

#endif
