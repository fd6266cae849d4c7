/* synth_nodes: what the nodes of a made graph are, by row: class, label, features, the part of the split. */
#ifndef IO_SYNTH_SYNTH_NODES_H
#define IO_SYNTH_SYNTH_NODES_H

#include <stdint.h>

#include "io/dataset/dataset.h"
#include "io/synth/synth_features.h"
#include "io/synth/synth_options.h"

struct synth_nodes {
  struct synth_features features; /* which have the class of each row, and what it was before a shuffle */
  uint8_t *part;                  /* [nodes] that each row is in; SPLIT_COUNT: none */
  int64_t count[SPLIT_COUNT];
  double label_noise;
  struct philox_key label_key;
};

/* Nodes per class are as equal as communities allow. The caller frees it, also after an error. */
int synth_nodes_init(struct synth_nodes *n, const struct synth *synth);
void synth_nodes_free(struct synth_nodes *n);

/* Labels of rows [first, first + rows). */
void synth_nodes_label(const struct synth_nodes *n, int64_t first, int64_t rows, int32_t *label);
/* The rows of a part, ascending; the caller frees *node. */
int synth_nodes_split(const struct synth_nodes *n, enum split part, int64_t **node, int64_t *count);

/* The row of each node once the nodes are renamed, which the caller frees; NULL: they are not. */
int synth_nodes_rename(const struct synth *synth, int32_t **row);

#endif
