/* stack: of which layers a model of each type is made, from its input to its logits. */
#ifndef MODELS_STACK_H
#define MODELS_STACK_H

#include "models/layer.h"

/* One a type of model, in the file of its layers. stack lists the layers by stack_begin and stack_push; only
 * shapes and settings are known then. Errors: BAD_INPUT for settings that do not fit. */
struct model_type {
  const char *name;
  int (*stack)(struct model *model, const struct run *run);
};

extern const struct model_type agnn_model, gat_model, gcn_model, gcnii_model, gin_model, hgnn_model,
    mlp_model, sage_model, unigcnii_model, unigin_model;

/* The type of that name. Errors: BAD_INPUT, naming those there are. */
int stack_type(const char *name, const struct model_type **type);
/* Whether it runs on a dataset's /hypergraph in place of its /graph. */
int stack_on_hypergraph(const struct model_type *type);

/* Where its products want self loops: among the arcs when every node has exactly one. */
enum self_loops stack_loops(const struct model_type *type, const struct config *config);

/* Room for that many layers; then one after the other, from below. */
int stack_begin(struct model *model, int64_t layers);
void stack_push(struct model *model, const struct run *run, const struct layer_ops *ops, int64_t out,
                struct layer_end ending);

/* How hidden layers end, as the configuration has it; and the last one, which leaves logits. */
struct layer_end stack_hidden(const struct run *run);
struct layer_end stack_last(const struct run *run);

/* model.layers layers of one kind. */
int stack_alike(struct model *model, const struct run *run, const struct layer_ops *ops);

#endif
