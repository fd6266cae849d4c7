/* weights_names: what parameters of a model are called in modules of PyTorch Geometric's layers, and how they
 * lie there. python/gnntrain/weights.py has the same names. */
#ifndef MODELS_SESSION_WEIGHTS_NAMES_H
#define MODELS_SESSION_WEIGHTS_NAMES_H

#include "io/file/named_arrays.h"
#include "runtime/config/config.h"

/* How an array [rows, cols] becomes another's. */
enum weights_form {
  WEIGHTS_AS_IS,
  WEIGHTS_TRANSPOSED, /* [cols, rows]: PyTorch's linear layers */
  WEIGHTS_ROW,        /* [cols], of one row */
  WEIGHTS_STACKED     /* [1, rows, cols] */
};

/* Whether modules have names of their own for models of that type. */
int weights_has_names(const struct config *config);

/* Name and form of parameter `what` of layer `layer`; "running_mean" and "running_var" are a batch norm's.
 * Errors: BAD_INPUT: no model of that type has it. */
int weights_name(const struct config *config, int layer, const char *what, char name[64],
                 enum weights_form *form);

#endif
