/* synth: graphs made to order, with planted labels and features that speak of them.
 *
 * Degree-corrected communities: node u weighs (U_u + 1e-3)^-power, communities are ranges of ids, a share of
 * the edges ends inside the source's community, both ends drawn in proportion to weight. Or R-MAT
 * (Chakrabarti et al., SDM 2004). Symmetric, no self loops, no duplicates. Communities map to classes; a
 * label is the class of its community, wrong with probability label_noise; features are the class's mean plus
 * unit noise.
 *
 * Every number is keyed by seed and by the node or edge it belongs to, and sums that decide something are
 * integer or sequential: the result is equal on any number of threads. Shuffling renames nodes, no more. */
#ifndef IO_SYNTH_SYNTH_H
#define IO_SYNTH_SYNTH_H

#include <stdint.h>

#include "io/dataset/dataset.h"
#include "io/synth/synth_features.h"

struct synth {
  char name[256];
  int64_t nodes, features, classes;
  double degree; /* mean arcs a node, once duplicates are gone */
  int64_t seed;
  int64_t community_size; /* 0: nodes / (4 classes), between 2 and 1000 */
  double community_power; /* 0: equal sizes; B: sizes from s^-B between community_size / 10 and 10 times it */
  double inside;          /* share of the edges inside the source's community */
  double power;           /* of the weights, in [0, 1] */
  int rmat, shuffle;
  int64_t hyperedges; /* 0: a graph; else `degree` is the mean of a vertex's hyperedges */
  double size_power;  /* sizes of hyperedges are in proportion to (U + 1e-3)^-size_power */
  double signal;      /* length of each class mean */
  double label_noise;
  double train, val, test; /* shares of the nodes, drawn at random; test at most the rest */
};

/* Every option at its default; nodes, degree, features and classes are the caller's. */
void synth_default(struct synth *synth);

/* Fills a zeroed source with graph, labels and split; its features come in blocks from `features`, which must
 * outlive the source. The caller frees both, also after an error. Errors: BAD_INPUT for options that do not
 * go together (more classes than communities, more edges than the graph has room for), FAILED for memory. */
int synth_make(const struct synth *synth, struct dataset_source *source, struct synth_features *features);

#endif
