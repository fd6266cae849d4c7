/* synth_pairs: drawn pairs of nodes, each number drawn by one rank, on their way to the ranks whose rows they
 * belong to. */
#ifndef IO_SYNTH_SYNTH_PAIRS_H
#define IO_SYNTH_SYNTH_PAIRS_H

#include <stdint.h>

#include "io/synth/synth_rows.h"
#include "runtime/comm/comm.h"

struct synth_pair {
  int32_t u, v; /* equal: this number draws no edge */
};

struct synth_model {
  const void *context;
  struct synth_pair (*draw)(const void *context, uint64_t edge);
  /* That one draw gives the pair, in either order. */
  double (*probability)(const void *context, struct synth_pair pair);
};

/* What is drawn: numbers [0, draws); new_id renames nodes (NULL: not). Borrowed. */
struct synth_drawing {
  const struct synth_model *model;
  int64_t nodes, draws;
  const int32_t *new_id;
};

/* Pairs in lists, which threads can share out among them; their order says nothing. */
struct synth_pairs {
  struct synth_list {
    struct synth_pair *pair;
    int64_t count, room;
  } * list;
  int64_t lists;
};

/* All pairs with an end in the rows. This process draws all numbers and keeps what is wanted. The caller
 * frees them, also after an error. */
int synth_pairs_draw(const struct synth_drawing *d, const struct synth_rows *rows, struct synth_pairs *pairs);

/* Collective. The same where every rank asks for the rows behind those of the rank before it, and all do for
 * all rows: each draws its share of the numbers and sends them. */
int synth_pairs_exchange(struct comm *comm, const struct synth_drawing *d, const struct synth_rows *rows,
                         struct synth_pairs *pairs);

void synth_pairs_free(struct synth_pairs *pairs);

#endif
