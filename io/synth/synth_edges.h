/* Edges of a made graph: a model says which pair of nodes each edge number draws; what is built is symmetric,
 * sorted, without duplicates and has the mean degree that was asked for. */
#ifndef IO_SYNTH_SYNTH_EDGES_H
#define IO_SYNTH_SYNTH_EDGES_H

#include <stdint.h>

#include "io/synth/synth_rows.h"
#include "runtime/base/random.h"

struct synth_pair {
  int32_t u, v; /* equal: this number draws no edge */
};

struct synth_model {
  const void *context;
  struct synth_pair (*draw)(const void *context, uint64_t edge);
  /* That one draw gives the pair, in either order. */
  double (*probability)(const void *context, struct synth_pair pair);
};

/* How many draws leave `wanted` different pairs on average. Of the pairs of the first draws, each stands for
 * 1/p others: sum over pairs of 1 - exp(-draws p) = mean of (1 - exp(-draws p)) / p. Errors: BAD_INPUT when
 * even 16 times `wanted` draws leave fewer. */
int synth_edges_draws(const struct synth_model *model, int64_t nodes, double wanted, int64_t *draws);

/* Fills the rows that it names of a graph of that many draws; new_id renames nodes (NULL: not). All numbers
 * are drawn, and of the pairs 8 bytes each are kept of those with an end in these rows. The caller frees the
 * arrays, also after an error. */
int synth_edges_build(const struct synth_model *model, int64_t nodes, int64_t draws, const int32_t *new_id,
                      struct synth_rows *rows);

/* R-MAT edges (Chakrabarti, Zhan, Faloutsos, SDM 2004): each bit of both ends at once falls into one of four
 * quadrants with probabilities .57, .19, .19, .05. Ends beyond the number of nodes draw no edge. */
struct synth_rmat {
  int64_t nodes;
  int levels; /* bits of an id */
  struct philox_key key;
};

void synth_rmat_init(struct synth_rmat *r, int64_t nodes, int64_t seed);

/* The model; borrows r. */
struct synth_model synth_rmat_model(const struct synth_rmat *r);

#endif
