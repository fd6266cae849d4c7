/* types: the types of models by name. A new one comes into the list of types.c. */
#ifndef MODELS_LAYERS_TYPES_H
#define MODELS_LAYERS_TYPES_H

#include "models/layers/layers.h"

extern const struct model_type agnn_model, appnp_model, gat_model, gatv2_model, gcn_model, gcnii_model,
    gin_model, hgnn_model, mlp_model, sage_model, sgc_model, unigcnii_model, unigin_model;

/* The type of that name. Errors: BAD_INPUT, naming those there are. */
int model_type_of(const char *name, const struct model_type **type);
/* Where its products want self loops: among the arcs when every node has exactly one. */
enum self_loops model_type_loops(const struct model_type *type, const struct config *config);

#endif
