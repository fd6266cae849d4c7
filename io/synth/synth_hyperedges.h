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

/* Fills the hyperedges that the rows name, with the vertices of each; new_id renames vertices (NULL: not, and
 * hyperedges come in the order of the vertex they gather around). c has weights. The caller frees the arrays,
 * also after an error. */
int synth_hyperedges_build(const struct synth_hyperedges *h, const struct synth_communities *c,
                           const int32_t *new_id, struct synth_rows *rows);
/* A warning where all hyperedges have another mean size than was asked for. */
void synth_hyperedges_say(const struct synth_hyperedges *h, const struct synth_rows *rows);

#endif
