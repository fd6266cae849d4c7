#include "models/session/weights_names.h"

#include "runtime/base/base.h"

/* A parameter by the kind of its layer, and its name around the number of the convolution. */
struct naming {
  const char *kind, *what, *before, *after;
  enum weights_form form;
};

/* clang-format off */
static const struct naming table[] = {
    {"gcn", "weight", "convs.", ".lin.weight", WEIGHTS_TRANSPOSED},
    {"gcn", "bias", "convs.", ".bias", WEIGHTS_ROW},
    {"sage", "weight", "convs.", ".lin_l.weight", WEIGHTS_TRANSPOSED},
    {"sage", "bias", "convs.", ".lin_l.bias", WEIGHTS_ROW},
    {"sage", "self", "convs.", ".lin_r.weight", WEIGHTS_TRANSPOSED},
    {"sage", "pool", "convs.", ".lin.weight", WEIGHTS_TRANSPOSED},
    {"sage", "pool_bias", "convs.", ".lin.bias", WEIGHTS_ROW},
    {"gat", "weight", "convs.", ".lin.weight", WEIGHTS_TRANSPOSED},
    {"gat", "bias", "convs.", ".bias", WEIGHTS_ROW},
    {"gat", "left", "convs.", ".att_src", WEIGHTS_STACKED},
    {"gat", "right", "convs.", ".att_dst", WEIGHTS_STACKED},
    {"gin sum", "weight", "convs.", ".nn.0.weight", WEIGHTS_TRANSPOSED},
    {"gin sum", "gain", "convs.", ".nn.1.weight", WEIGHTS_ROW},
    {"gin sum", "shift", "convs.", ".nn.1.bias", WEIGHTS_ROW},
    {"gin sum", "running_mean", "convs.", ".nn.1.running_mean", WEIGHTS_ROW},
    {"gin sum", "running_var", "convs.", ".nn.1.running_var", WEIGHTS_ROW},
    {"gin sum", "eps", "convs.", ".eps", WEIGHTS_ROW},
    {"gin linear", "weight", "convs.", ".nn.3.weight", WEIGHTS_TRANSPOSED},
    {"gin linear", "bias", "convs.", ".nn.3.bias", WEIGHTS_ROW},
    {"gcnii", "weight", "convs.", ".weight1", WEIGHTS_AS_IS},
    {"gcnii end", "weight", "lins.", ".weight", WEIGHTS_TRANSPOSED},
    {"gcnii end", "bias", "lins.", ".bias", WEIGHTS_ROW},
    {"", "readout", "readouts.", ".weight", WEIGHTS_TRANSPOSED},
    {"", "readout_bias", "readouts.", ".bias", WEIGHTS_ROW},
    {"", "gain", "norms.", ".weight", WEIGHTS_ROW},
    {"", "shift", "norms.", ".bias", WEIGHTS_ROW},
    {"", "running_mean", "norms.", ".running_mean", WEIGHTS_ROW},
    {"", "running_var", "norms.", ".running_var", WEIGHTS_ROW},
};
/* clang-format on */
enum { NAMINGS = sizeof table / sizeof table[0] };

/* Where a layer stands in the module. */
struct place {
  const char *kind;
  int convolution, norm;
};

static struct place place_of(const struct config *config, int layer) {
  const char *type = config->model.type;
  const int last = (int)config->model.layers + 1; /* of gcnii */
  if (strcmp(type, "gin") == 0)
    return (struct place){layer % 2 ? "gin linear" : "gin sum", layer / 2, layer / 2};
  if (strcmp(type, "gcnii") == 0 && (layer == 0 || layer == last))
    return (struct place){"gcnii end", layer == last, layer};
  return (struct place){type, layer - (strcmp(type, "gcnii") == 0), layer};
}

int weights_has_names(const struct config *config) {
  static const char *const types[] = {"gcn", "sage", "gat", "gin", "gcnii"};
  for (int i = 0; i < (int)(sizeof types / sizeof types[0]); i++)
    if (strcmp(config->model.type, types[i]) == 0) return 1;
  return 0;
}

/* A layer's own names come before those that all have. */
static const struct naming *naming_of(const char *kind, const char *what) {
  for (int i = 0; i < NAMINGS; i++)
    if ((table[i].kind[0] == '\0' || strcmp(table[i].kind, kind) == 0) && strcmp(table[i].what, what) == 0)
      return &table[i];
  return NULL;
}

int weights_name(const struct config *config, int layer, const char *what, char name[64],
                 enum weights_form *form) {
  const struct place place = place_of(config, layer);
  const struct naming *naming = naming_of(place.kind, what);
  if (!naming)
    FAIL(BAD_INPUT, "layer%d.%s: no model of model.type = \"%s\" has such a parameter", layer, what,
         config->model.type);
  const int number = naming->kind[0] ? place.convolution : place.norm;
  snprintf(name, 64, "%s%d%s", naming->before, number, naming->after);
  *form = naming->form;
  return OK;
}
