#include "models/stack.h"

#include <stdio.h>
#include <string.h>

#include "models/model.h"
#include "runtime/error.h"
#include "runtime/memory.h"

static const struct model_type *const types[] = {&agnn_model,     &gat_model,   &gcn_model, &gcnii_model,
                                                 &gin_model,      &hgnn_model,  &mlp_model, &sage_model,
                                                 &unigcnii_model, &unigin_model};
enum { TYPES = sizeof types / sizeof types[0] };

int stack_type(const char *name, const struct model_type **type) {
  for (int i = 0; i < TYPES; i++) {
    if (strcmp(types[i]->name, name) != 0) continue;
    *type = types[i];
    return OK;
  }
  char names[256] = "";
  for (int i = 0; i < TYPES; i++) {
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", types[i]->name);
  }
  FAIL(BAD_INPUT, "model.type = \"%s\" is unknown; allowed: %s", name, names);
}

int stack_on_hypergraph(const struct model_type *type) {
  return type == &hgnn_model || type == &unigcnii_model || type == &unigin_model;
}

enum self_loops stack_loops(const struct model_type *type, const struct config *config) {
  int self_mean = type == &sage_model && config->model.aggregator == AGGREGATOR_GCN;
  return type == &gcn_model || type == &gcnii_model || self_mean ? LOOPS_WITHIN : LOOPS_APART;
}

int stack_begin(struct model *model, int64_t layers) {
  model->first_end = 1;
  return memory_alloc(&model->layer, layers * (int64_t)sizeof *model->layer, "layers");
}

void stack_push(struct model *model, const struct run *run, const struct layer_ops *ops, int64_t out,
                struct layer_end ending) {
  int index = model->layers++;
  model->layer[index] = (struct layer){.ops = ops,
                                       .index = index,
                                       .in = index ? model->layer[index - 1].out : run->shard->features,
                                       .out = out,
                                       .ending = ending};
}

struct layer_end stack_hidden(const struct run *run) {
  const struct config *config = run->config;
  return (struct layer_end){.bias = config->model.bias,
                            .residual = config->model.residual,
                            .norm = config->model.norm,
                            .activation = config->model.activation,
                            .dropout = config->model.dropout};
}

struct layer_end stack_last(const struct run *run) {
  return (struct layer_end){
      .bias = run->config->model.bias, .norm = NORM_NONE, .activation = ACTIVATION_NONE};
}

int stack_alike(struct model *model, const struct run *run, const struct layer_ops *ops) {
  int64_t layers = run->config->model.layers;
  TRY(stack_begin(model, layers));
  for (int64_t l = 0; l < layers - 1; l++)
    stack_push(model, run, ops, run->config->model.hidden, stack_hidden(run));
  stack_push(model, run, ops, run->shard->classes, stack_last(run));
  return OK;
}
