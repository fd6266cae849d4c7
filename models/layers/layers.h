/* layers: the types of models. Each file writes the forward steps of its layers, and no more: gradients, the
 * order of work, fusions and memory follow from the steps (models/program/step.h). */
#ifndef MODELS_LAYERS_LAYERS_H
#define MODELS_LAYERS_LAYERS_H

#include "models/program/build_head.h"

struct dataset;

/* build: all layers, from the features to the logits, once `check` has passed. */
struct model_type {
  const char *name, *about; /* about: for --help, and who published it */
  void (*build)(struct build *b);
  /* What it asks of the settings, and of the dataset's header (NULL: not read yet). NULL: nothing. Errors:
   * BAD_INPUT. */
  int (*check)(const struct config *config, const struct dataset *dataset);
  int on_hypergraph; /* it runs on a dataset's /hypergraph in place of its /graph */
  int self_loops;    /* its products want exactly one self loop a node */
};

/* Layers that several types share. */
build_layer gcn_layer;       /* y = P x W */
build_layer gin_aggregation; /* y = ((1 + eps) x + P x) W */
/* Convolutions between two linear layers. */
void gcnii_build(struct build *b, enum adjacency_norm adjacency_norm);
int gcnii_check(const struct config *config, const struct dataset *dataset);
/* Whether attention fits. Errors: BAD_INPUT for a graph with weights. */
int attention_check(const struct config *config, const struct dataset *dataset);
/* The same of attention in heads, side by side in hidden layers. Errors: BAD_INPUT also for model.heads that
 * do not divide model.hidden. */
int attention_check_heads(const struct config *config, const struct dataset *dataset);
/* Sets b->propagation up for them. */
void attention_of_heads(struct build *b);

#endif
