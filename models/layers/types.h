/* types: the types of models by name. A new one comes into the list of types.c. */
#ifndef MODELS_LAYERS_TYPES_H
#define MODELS_LAYERS_TYPES_H

#include <stdio.h>

#include "models/layers/layers.h"

extern const struct model_type agnn_model, appnp_model, gat_model, gatv2_model, gcn_model, gcnii_model,
    gin_model, hgnn_model, mlp_model, sage_model, sgc_model, unigcnii_model, unigin_model;

/* The type of that name. Errors: BAD_INPUT, naming those there are. */
int model_type_of(const char *name, const struct model_type **type);
/* Whether that type takes these settings, and a dataset with such a header (NULL: not read yet). Errors:
 * BAD_INPUT. */
int model_type_check(const struct config *config, const struct dataset *dataset);
/* A line each: name, what it is. */
void model_types_print(FILE *out);
/* Where its products want self loops: among the arcs when every node has exactly one. */
enum self_loops model_type_loops(const struct model_type *type, const struct config *config);
/* Whether all that passes over arcs treats each column by itself: then ranks can share the columns. */
int model_type_slices(const struct model_type *type, const struct config *config);
/* The sums over the arcs in an epoch, from the loss downwards. */
struct model_sums {
  int64_t count;
  double top;    /* width of the topmost over that of the others */
  int64_t width; /* of these, in columns */
  int levels; /* of rows (partition/shard/levels.h) that an epoch may tell apart; 0: it computes all anyhow */
};

/* constant: of features whose aggregate is computed once; classes: as wide as logits are. */
struct model_sums model_type_sums(const struct model_type *type, const struct config *config, int constant,
                                  int64_t classes);

#endif
