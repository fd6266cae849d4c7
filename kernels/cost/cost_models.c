#include "kernels/cost/cost_models.h"

#include <math.h>

#include "runtime/base/base.h"
#include "runtime/file/atomic_write.h"
#include "runtime/file/input.h"

enum { MODELS = 4, NAME = 128 };

static struct {
  struct cost_model model[MODELS];
  char name[MODELS][NAME];
  int count;
} known;

static const int width_of[COST_WIDTHS] = {32, 64, 128, 256, 512};
static const char *const element_name[COST_ELEMENTS] = {"bf16", "fp32"};

/* Constants of a model as a whole, and tables by element and width. */
#define FIELD(name) #name, offsetof(struct cost_model, name)
#define PART(name, field) #name, offsetof(struct cost_model, field)
static const struct constant {
  const char *name;
  size_t offset;
} whole[] = {{FIELD(memory_bytes)},
             {FIELD(cached_bytes)},
             {FIELD(distant_bytes)},
             {FIELD(plane_byte)},
             {PART(row, result.row)},
             {PART(row_byte_cached, result.byte_cached)},
             {PART(row_byte, result.byte)},
             {PART(merge_byte, result.merge_byte)},
             {PART(launch, start.launch)},
             {PART(kernel, start.kernel)},
             {PART(pieces, start.pieces)},
             {PART(entry, start.entry)},
             {PART(block_start, start.block)},
             {PART(pass_start, pass.start)},
             {PART(pass_byte, pass.byte)},
             {PART(flop_bf16, pass.flop_bf16)},
             {PART(flop_tf32, pass.flop_tf32)},
             {PART(flop_fp32, pass.flop_fp32)},
             {PART(ends, pass.ends)},
             {PART(scores, pass.scores)},
             {PART(weight, pass.weight)},
             {PART(cosine, pass.cosine)},
             {PART(exchange_start, exchange.start)},
             {PART(exchange_byte, exchange.byte)},
             {PART(reduce_start, exchange.reduce_start)},
             {PART(reduce_byte, exchange.reduce_byte)},
             {PART(exchange_beside, exchange.beside)},
             {PART(store_start, stores.start)},
             {PART(store_byte, stores.byte)},
             {PART(between_start, between.start)},
             {PART(between_byte, between.byte)},
             {PART(between_reduce_start, between.reduce_start)},
             {PART(between_reduce_byte, between.reduce_byte)}},
  tables[] = {{FIELD(tile)},  {FIELD(near)},          {FIELD(cached)},       {FIELD(distant)},
              {FIELD(block)}, {FIELD(tile_weighted)}, {FIELD(arc_weighted)}, {FIELD(block_weighted)}};
#undef FIELD
#undef PART
enum { WHOLE = sizeof whole / sizeof whole[0], TABLES = sizeof tables / sizeof tables[0] };

static double *constant_of(struct cost_model *model, const struct constant *constant) {
  return (double *)(void *)((char *)model + constant->offset);
}

/* The source's; the first stands in for GPUs that it does not know. */
static const struct cost_model *const built_in[] = {&cost_model_h200, &cost_model_h100};
enum { BUILT_IN = sizeof built_in / sizeof built_in[0] };

static const struct cost_model *built_in_of(const char *device) {
  for (int i = 1; i < BUILT_IN; i++)
    if (strcmp(built_in[i]->name, device) == 0) return built_in[i];
  return built_in[0];
}

const struct cost_model *cost_model_of(const char *device) {
  for (int i = 0; i < known.count; i++)
    if (strcmp(known.name[i], device) == 0) return &known.model[i];
  return built_in_of(device);
}

int cost_model_is_own(const char *device) {
  return strcmp(cost_model_of(device)->name, device) == 0;
}

int cost_model_named(const char *device, const struct cost_model **model) {
  char names[(BUILT_IN + MODELS) * (NAME + 2)];
  *model = cost_model_of(device);
  if (cost_model_is_own(device)) return OK;
  size_t used = (size_t)snprintf(names, sizeof names, "%s", built_in[0]->name);
  for (int i = 1; i < BUILT_IN; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, ", %s", built_in[i]->name);
  for (int i = 0; i < known.count; i++)
    used += (size_t)snprintf(names + used, sizeof names - used, ", %s", known.name[i]);
  FAIL(BAD_INPUT, "nothing is known of a GPU \"%s\"; allowed: %s", device, names);
}

void cost_models_forget(void) {
  known.count = 0;
}

/* The model of that name, made from the source's when it is new; NULL: there is no room. */
static struct cost_model *add_model(const char *name, size_t length) {
  for (int i = 0; i < known.count; i++)
    if (strlen(known.name[i]) == length && memcmp(known.name[i], name, length) == 0) return &known.model[i];
  if (known.count == MODELS || length >= NAME) return NULL;
  struct cost_model *model = &known.model[known.count];
  char *copy = known.name[known.count++];
  memcpy(copy, name, length);
  copy[length] = '\0';
  *model = *built_in_of(copy);
  model->name = copy;
  return model;
}

/* The constant with that name: "row", or "bf16.near_128". NULL: none. */
static double *find_constant(struct cost_model *model, const char *name) {
  for (int i = 0; i < WHOLE; i++)
    if (strcmp(name, whole[i].name) == 0) return constant_of(model, &whole[i]);
  for (int e = 0; e < COST_ELEMENTS; e++) {
    for (int t = 0; t < TABLES; t++) {
      for (int w = 0; w < COST_WIDTHS; w++) {
        char key[64];
        snprintf(key, sizeof key, "%s.%s_%d", element_name[e], tables[t].name, width_of[w]);
        if (strcmp(name, key) == 0) return constant_of(model, &tables[t]) + e * COST_WIDTHS + w;
      }
    }
  }
  return NULL;
}

static int set_constant(struct cost_model *model, const char *constant, const struct config_value *value,
                        const char *file) {
  double *to = find_constant(model, constant);
  double number = value->type == VALUE_INTEGER ? (double)value->integer : value->real;
  if (!to && strstr(constant, ".selector_")) return OK; /* version 0.1 had them */
  if (!to) FAIL(BAD_INPUT, "%s:%d: unknown constant %s", file, value->line, constant);
  if ((value->type != VALUE_INTEGER && value->type != VALUE_REAL) || !(number >= 0 && number < 1e18))
    FAIL(BAD_INPUT, "%s:%d: %s must be a number from 0 to 1e18", file, value->line, constant);
  *to = number;
  return OK;
}

/* key: "NAME" or NAME, then .constant or .element.constant; tables by themselves say nothing. */
static int visit(const struct config_value *value, void *context) {
  const char *file = context, *name = value->key, *end;
  int quoted = name[0] == '"';
  if (quoted) name++;
  end = quoted ? strchr(name, '"') : strchr(name, '.');
  size_t length = end ? (size_t)(end - name) : strlen(name);
  const char *rest = name + length + quoted;
  if (value->type == VALUE_TABLE) return OK;
  if (*rest != '.') FAIL(BAD_INPUT, "%s:%d: %s stands in no section of a GPU", file, value->line, value->key);
  struct cost_model *model = add_model(name, length);
  if (!model)
    FAIL(BAD_INPUT, "%s:%d: at most %d GPUs, with names of at most %d bytes", file, value->line, MODELS,
         NAME - 1);
  return set_constant(model, rest + 1, value, file);
}

/* Logarithms of sizes are taken between these two. */
static int check_sizes(const char *name) {
  for (int i = 0; i < known.count; i++) {
    if (!(known.model[i].cached_bytes > 0 && known.model[i].distant_bytes > known.model[i].cached_bytes))
      FAIL(BAD_INPUT, "%s: %s: cached_bytes must be above 0 and below distant_bytes", name, known.name[i]);
  }
  return OK;
}

int cost_models_read(const char *text, const char *name) {
  union {
    const char *in;
    void *out;
  } context = {.in = name};
  cost_models_forget();
  int code = config_toml_walk(text, name, visit, context.out);
  if (code == OK) code = check_sizes(name);
  if (code != OK) cost_models_forget();
  return code;
}

int cost_constants_find(const char *setting, struct cost_constants *constants) {
  int named = strcmp(setting, "auto") != 0;
  *constants = (struct cost_constants){0};
  if (strcmp(setting, "none") == 0) return OK;
  if (named)
    snprintf(constants->path, sizeof constants->path, "%s", setting);
  else
    cost_models_path(constants->path, sizeof constants->path);
  if (constants->path[0]) TRY(input_check_settings(constants->path));
  FILE *file = constants->path[0] ? input_open(constants->path) : NULL;
  int error = errno;
  if (!file) {
    if (named || (constants->path[0] && input_code(error) == FAILED))
      FAIL(input_code(error), "runtime.constants: %s: %s", named ? setting : constants->path,
           strerror(error));
    constants->path[0] = '\0';
    return OK;
  }
  errno = 0;
  size_t length = fread(constants->text, 1, sizeof constants->text, file);
  error = ferror(file) ? (errno ? errno : EIO) : 0;
  fclose(file);
  if (error) FAIL(input_code(error), "%s: cannot be read: %s", constants->path, strerror(error));
  if (length > CONFIG_TOML_BYTES)
    FAIL(BAD_INPUT, "%s: longer than %d bytes", constants->path, CONFIG_TOML_BYTES);
  constants->text[length] = '\0';
  if (strlen(constants->text) != length)
    FAIL(BAD_INPUT, "%s: not a text: byte %zu is NUL", constants->path, strlen(constants->text) + 1);
  return OK;
}

static void write_model(struct cost_model *model, FILE *out) {
  fprintf(out, "[\"%s\"]\n", model->name);
  for (int i = 0; i < WHOLE; i++) fprintf(out, "%s = %.6e\n", whole[i].name, *constant_of(model, &whole[i]));
  for (int e = 0; e < COST_ELEMENTS; e++) {
    fprintf(out, "[\"%s\".%s]\n", model->name, element_name[e]);
    for (int t = 0; t < TABLES; t++) {
      for (int w = 0; w < COST_WIDTHS; w++)
        fprintf(out, "%s_%d = %.6e\n", tables[t].name, width_of[w],
                constant_of(model, &tables[t])[e * COST_WIDTHS + w]);
    }
  }
}

int cost_models_take(const struct cost_model *model) {
  struct cost_model *kept = add_model(model->name, strlen(model->name));
  if (!kept) FAIL(FAILED, "constants of %d GPUs are known; there is no room for another", MODELS);
  const char *name = kept->name;
  *kept = *model;
  kept->name = name;
  return OK;
}

int cost_models_write(const char *path) {
  ENDED_BY(atomic_write_drop) struct atomic_write p = {0};
  FILE *out;
  TRY(make_folder_of(path));
  TRY(atomic_write_open(&p, path));
  TRY(atomic_write_stream(&p, &out));
  fprintf(out, "# Constants of sparse products, measured by gnnbench calibrate: picoseconds and bytes.\n");
  for (int i = 0; i < known.count; i++) write_model(&known.model[i], out);
  return atomic_write_commit(&p);
}

void cost_models_path(char *path, size_t size) {
  const char *config = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
  path[0] = '\0';
  if (config && config[0])
    snprintf(path, size, "%s/gnntrain/constants.toml", config);
  else if (home && home[0])
    snprintf(path, size, "%s/.config/gnntrain/constants.toml", home);
}
