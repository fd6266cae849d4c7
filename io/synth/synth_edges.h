/* Edges of a made graph: a model says which pair of nodes each edge number draws; what is built is symmetric,
 * sorted, without duplicates and has the mean degree that was asked for. */
#ifndef IO_SYNTH_SYNTH_EDGES_H
#define IO_SYNTH_SYNTH_EDGES_H

#include <stdint.h>

#include "io/synth/synth_pairs.h"
#include "runtime/base/random.h"

/* How many draws leave `wanted` different pairs on average. Of the pairs of the first draws, each stands for
 * 1/p others: sum over pairs of 1 - exp(-draws p) = mean of (1 - exp(-draws p)) / p. Errors: BAD_INPUT when
 * even 16 times `wanted` draws leave fewer. */
int synth_edges_draws(const struct synth_model *model, int64_t nodes, double wanted, int64_t *draws);

/* Fills the rows that it names of a graph of all these draws. comm NULL: alone, as synth_pairs_draw; else
 * collective, as synth_pairs_exchange. The caller frees the arrays, also after an error. */
int synth_edges_build(struct comm *comm, const struct synth_drawing *drawing, struct synth_rows *rows);

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
