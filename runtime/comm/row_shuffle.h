/* row_shuffle: records of equal size on their way to the ranks that own them, in rounds.
 *
 * A round takes at most row_shuffle_block / 2 bytes out of a rank and brings at most as many in, however the
 * records are spread, so that memory stays bounded while everything of a dataset moves. */
#ifndef RUNTIME_COMM_ROW_SHUFFLE_H
#define RUNTIME_COMM_ROW_SHUFFLE_H

#include <stdint.h>

#include "runtime/comm/comm.h"

/* Bytes that are read at a time, and that a round moves: 64 MiB; tests make it small. The same on
 * every rank. */
extern int64_t row_shuffle_block;

struct row_shuffle {
  struct comm *comm;
  int64_t bytes;    /* of a record */
  int64_t room;     /* records to each rank in a round */
  char *out, *in;   /* [size][room] records */
  int64_t *queued;  /* [size] records waiting for each rank */
  int64_t *notices; /* [size + 1][size + 1] what every rank says before a round; the last is ours */
  int ended;        /* set by fill: no record is left */
};

/* Puts records until row_shuffle_put gives NULL or until none is left, then sets shuffle->ended. */
typedef int row_shuffle_fill(struct row_shuffle *shuffle, void *context);
/* Takes `count` records that one rank sent; called rank by rank, in order. */
typedef int row_shuffle_take(const void *records, int64_t count, void *context);

/* Collective. Runs rounds until every rank has ended; records from one rank arrive in the order in which
 * they were put. An error of fill or take on any rank is agreed on by all. */
int row_shuffle_exchange(struct comm *comm, int64_t bytes, row_shuffle_fill *fill, row_shuffle_take *take,
                         void *context);

/* Room for one record to `rank`; NULL when this round has no more for that rank. */
void *row_shuffle_put(struct row_shuffle *shuffle, int rank);

#endif
