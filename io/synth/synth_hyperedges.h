/* Hyperedges of a made hypergraph: each gathers around one vertex of a community. */
#ifndef IO_SYNTH_SYNTH_HYPEREDGES_H
#define IO_SYNTH_SYNTH_HYPEREDGES_H

#include <stdint.h>

#include "io/synth/synth_communities.h"

struct synth_hyperedges {
  int64_t count;
  double mean;  /* vertices a hyperedge; those of a hyperedge that its draws do not fill are fewer */
  double power; /* the size of hyperedge e is in proportion to (U_e + 1e-3)^-power */
  int64_t seed;
};

/* Rows start[count + 1] and vertex, ascending; new_id renames vertices (NULL: not, and hyperedges come in the
 * order of the vertex they gather around). c has weights. The caller frees both arrays, also after an error.
 * Errors: BAD_INPUT for a mean size below 1 or above the number of vertices. */
int synth_hyperedges_build(const struct synth_hyperedges *h, const struct synth_communities *c,
                           const int32_t *new_id, int64_t **start, int32_t **vertex);

#endif
