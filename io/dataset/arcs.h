/* arcs: a list of arcs in the order of a file, in blocks. Threads make blocks and go through them at once; an
 * arc takes 8 bytes while ids fit in 32 bits, else 16. */
#ifndef IO_DATASET_ARCS_H
#define IO_DATASET_ARCS_H

#include "io/dataset/spill.h"

enum { ARCS_BLOCK = 1 << 16 }; /* arcs of a block, at most */

struct arc {
  int64_t source, target; /* ids, >= 0 */
};

/* A block, unpacked. */
struct arc_room {
  int64_t count;
  struct arc *arc; /* [ARCS_BLOCK]; NULL: no room yet */
  float *weight;   /* likewise; NULL unless weighted */
  char *packed;    /* as it comes from a file */
};

struct arc_block {
  int64_t first, count; /* number of its first arc in the list; how many it has */
  int wide;             /* ids of 64 bits */
  struct spilled place; /* pairs of ids, then weights */
};

/* Zeroed: an empty list without weights. */
struct arcs {
  int weighted;
  int64_t count;                          /* of all arcs */
  int64_t largest_source, largest_target; /* ids */
  struct arc_block *block;
  int64_t blocks, capacity;
  struct arc_room last; /* arcs that are in no block yet */
  struct spill spill;
};

void arcs_free(struct arcs *arcs);

/* Errors: FAILED: out of memory. */
int arcs_add(struct arcs *arcs, int64_t source, int64_t target, float weight);

/* Packs the last arcs into a block. Needed before blocks are gone through. */
int arcs_pack(struct arcs *arcs);

/* Moves all arcs of `more`, which is packed, to the end of the list. */
int arcs_join(struct arcs *arcs, struct arcs *more);

/* All arcs as an array, which the caller frees; the list is empty then. */
int arcs_take(struct arcs *arcs, struct arc **arc);

/* What follows any thread may call, for a block that no other is at. Room for a block of the list; to be
 * ended by arc_room_free. */
int arc_room_make(const struct arcs *arcs, struct arc_room *room);
void arc_room_free(struct arc_room *room);

/* Unpacks a block; packs `room`, whose ids fit in 32 bits and are as many as the block's or fewer, in its
 * place. */
int arcs_unpack(const struct arcs *arcs, int64_t block, struct arc_room *room);
int arcs_repack(struct arcs *arcs, int64_t block, const struct arc_room *room);

/* The block is needed no more. */
void arcs_drop(struct arcs *arcs, int64_t block);

#endif
