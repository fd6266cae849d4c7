/* sage: the layers of GraphSAGE, by what neighbours become. */
#ifndef MODELS_SAGE_H
#define MODELS_SAGE_H

#include "models/layer.h"

extern const struct layer_ops sage_pool_layer; /* model.aggregator = "max" */

#endif
