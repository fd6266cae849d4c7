/* R-MAT edges (Chakrabarti, Zhan, Faloutsos, SDM 2004): each bit of both ends at once falls into one of four
 * quadrants with probabilities .57, .19, .19, .05. Ends beyond the number of nodes draw no edge. */
#ifndef IO_SYNTH_SYNTH_RMAT_H
#define IO_SYNTH_SYNTH_RMAT_H

#include <stdint.h>

#include "io/synth/synth_edges.h"
#include "runtime/base/random.h"

struct synth_rmat {
  int64_t nodes;
  int levels; /* bits of an id */
  struct philox_key key;
};

void synth_rmat_init(struct synth_rmat *r, int64_t nodes, int64_t seed);

/* The model; borrows r. */
struct synth_model synth_rmat_model(const struct synth_rmat *r);

#endif
