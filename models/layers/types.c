#include "models/layers/types.h"

#include "io/dataset/dataset.h"
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

/* A readout stands ahead of a linear layer; these end in sums over arcs, or have no graph. */
static int check_graphs(const struct model_type *type, const struct config *config,
                        const struct dataset *dataset) {
  const int ends_in_sums = type == &appnp_model || type == &sgc_model;
  if (!dataset || dataset->graphs == 0) return OK;
  if (ends_in_sums || type->on_hypergraph)
    FAIL(BAD_INPUT, "%s: labels are of its %lld graphs, which model.type = \"%s\" does not classify",
         config->dataset.path, (long long)dataset->graphs, type->name);
  if (config->model.readout == READOUT_MAX && config->model.readout_layers == READOUT_LAYERS_ALL &&
      dataset->sparse)
    FAIL(BAD_INPUT,
         "%s: its features are sparse rows, of which model.readout = \"max\" with model.readout_layers = "
         "\"all\" has no maximum; take \"sum\" or \"mean\", or the last layer",
         config->dataset.path);
  return OK;
}

int model_type_check(const struct config *config, const struct dataset *dataset) {
  const struct model_type *type = NULL;
  TRY(model_type_of(config->model.type, &type));
  TRY(check_graphs(type, config, dataset));
  return type->check ? type->check(config, dataset) : OK;
}

void model_types_print(FILE *out) {
  for (int i = 0; i < TYPES; i++) fprintf(out, "  %-9s %s\n", types[i]->name, types[i]->about);
}

enum self_loops model_type_loops(const struct model_type *type, const struct config *config) {
  int self_mean = type == &sage_model && config->model.aggregator == AGGREGATOR_GCN;
  return type->self_loops || self_mean ? LOOPS_WITHIN : LOOPS_APART;
}

static int attends(const struct model_type *type) {
  return type == &gat_model || type == &gatv2_model || type == &agnn_model;
}

/* Maxima or minima. */
static int takes_extremes(const struct model_type *type, const struct config *config) {
  const enum aggregator aggregator = config->model.aggregator;
  return type == &sage_model && (aggregator == AGGREGATOR_MAX || aggregator == AGGREGATOR_MIN);
}

int model_type_slices(const struct model_type *type, const struct config *config) {
  return !attends(type) && !takes_extremes(type, config) && !type->on_hypergraph;
}

/* A layer sums what its product leaves, in the topmost one once for each head. */
static struct model_sums sums_of_attention(const struct config *config, int64_t classes) {
  const double top = (double)(config->model.heads_last * classes) / (double)config->model.hidden;
  return (struct model_sums){.count = config->model.layers, .top = top};
}

/* Whether P itself is trained, so that no sum stays what it was. */
static int trains_sums(const struct model_type *type, const struct config *config) {
  if (type == &gin_model || type == &unigin_model) return config->model.learn_eps;
  return type == &hgnn_model && config->model.edge_weights;
}

/* A layer has a sum of what its product leaves, which are the logits in the topmost one; the lowest may be
 * computed once. */
static struct model_sums sums_of_layers(const struct model_type *type, const struct config *config,
                                        int constant, int64_t classes) {
  return (struct model_sums){.count = config->model.layers - (constant && !trains_sums(type, config)),
                             .top = (double)classes / (double)config->model.hidden};
}

/* A batch norm takes all rows, and so does what is below: of gin and gcnii, which end in a product, hardly
 * anything is left. */
struct model_sums model_type_sums(const struct model_type *type, const struct config *config, int constant,
                                  int64_t classes) {
  const int64_t layers = config->model.layers, steps = config->model.steps;
  const int norms = config->model.norm == NORM_BATCH,
            ends_in_product = type == &gcnii_model || type == &unigcnii_model;
  const int extremes = takes_extremes(type, config);
  struct model_sums sums = type == &mlp_model            ? (struct model_sums){.count = 0, .top = 1}
                           : type == &appnp_model        ? (struct model_sums){.count = steps, .top = 1}
                           : ends_in_product || extremes ? (struct model_sums){.count = layers, .top = 1}
                           : type == &agnn_model         ? (struct model_sums){.count = layers - 2, .top = 1}
                           : attends(type)               ? sums_of_attention(config, classes)
                           : type == &sgc_model
                               ? (struct model_sums){.count = constant ? 0 : layers, .top = 1}
                               : sums_of_layers(type, config, constant, classes);
  sums.width = type == &appnp_model || type == &sgc_model ? classes : config->model.hidden;
  if (type == &gin_model) sums.top = 1;
  if (type == &gin_model || (norms && ends_in_product)) return sums;
  sums.levels = (int)sums.count + 1;
  if (norms && layers > 1 && type != &appnp_model && type != &sgc_model) sums.levels = 1;
  return sums;
}
