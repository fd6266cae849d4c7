/* synth_options: what can be said of a graph made to order; `gnndata synth` and datasets named "synth:..."
 * take the same. */
#ifndef IO_SYNTH_SYNTH_OPTIONS_H
#define IO_SYNTH_SYNTH_OPTIONS_H

#include <stdint.h>

#include "runtime/config/options.h"

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

/* Into a struct synth. */
extern const struct option synth_options[];

/* Errors: BAD_INPUT for what is missing, or would be passed over. */
int synth_options_check(const struct options *options);

/* Errors: BAD_INPUT for options that do not go together, as far as that is known before anything is drawn. */
int synth_check(const struct synth *synth);

/* Nodes of a community, or what their sizes are drawn around. */
int64_t synth_community_size(const struct synth *synth);

#endif
