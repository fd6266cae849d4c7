#include "models/layers/types.h"

#include "runtime/base/base.h"

static const struct model_type *const types[] = {
    &agnn_model, &appnp_model, &gat_model,  &gatv2_model, &gcn_model,      &gcnii_model, &gin_model,
    &hgnn_model, &mlp_model,   &sage_model, &sgc_model,   &unigcnii_model, &unigin_model};
enum { TYPES = sizeof types / sizeof types[0] };

int model_type_of(const char *name, const struct model_type **type) {
  char names[256] = "";
  for (int i = 0; i < TYPES; i++) {
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", types[i]->name);
    if (strcmp(types[i]->name, name) != 0) continue;
    *type = types[i];
    return OK;
  }
  FAIL(BAD_INPUT, "model.type = \"%s\" is unknown; allowed: %s", name, names);
}

enum self_loops model_type_loops(const struct model_type *type, const struct config *config) {
  int self_mean = type == &sage_model && config->model.aggregator == AGGREGATOR_GCN;
  return type->self_loops || self_mean ? LOOPS_WITHIN : LOOPS_APART;
}
