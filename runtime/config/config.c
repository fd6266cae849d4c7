#include "runtime/config/config.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>

#include "runtime/base/base.h"
#include "runtime/config/config_key.h"
#include "runtime/file/atomic_write.h"
#include "runtime/file/input.h"

_Static_assert(sizeof(enum norm) == sizeof(int), "choices are stored as int");

/* clang-format off */
#define FIELD(field) \
  .name = #field, .offset = offsetof(struct config, field), .size = sizeof(((struct config *)0)->field)
#define INTEGER(field, default_, min_, max_, help_) \
  { FIELD(field), .kind = KEY_INTEGER, .number = default_, .min = min_, .max = max_, .help = help_ }
#define REAL(field, default_, min_, max_, help_) \
  { FIELD(field), .kind = KEY_REAL, .number = default_, .min = min_, .max = max_, .help = help_ }
#define BOOLEAN(field, default_, help_) \
  { FIELD(field), .kind = KEY_BOOLEAN, .number = default_, .help = help_ }
#define TEXT(field, default_, help_) \
  { FIELD(field), .kind = KEY_TEXT, .text = default_, .help = help_ }
#define CHOICE(field, default_, help_, ...)                                         \
  {                                                                                 \
    FIELD(field), .kind = KEY_CHOICE, .number = default_,                           \
                  .choice = (const char *const[]){__VA_ARGS__, NULL}, .help = help_ \
  }

static const struct config_key table[] = {
    TEXT(dataset.path, "", "the dataset file, relative to the working directory, or \"synth:nodes=N,degree=D,...\", made in place by the options of gnndata synth; required"),
    INTEGER(dataset.split, 0, 0, 1e6, "which of the file's splits; run r uses split + r, modulo their number"),
    CHOICE(dataset.normalize, NORMALIZE_NONE, "scale each row of the features to sum 1", "none", "row"),

    TEXT(model.type, "gcn", "the kind of layer"),
    INTEGER(model.layers, 2, 1, 1000, "number of layers; sgc: of aggregations"),
    INTEGER(model.hidden, 16, 1, 1 << 20, "width of the hidden layers"),
    REAL(model.dropout, 0.5, 0, 0.999, "share of hidden values dropped in training"),
    REAL(model.dropout_input, 0, 0, 0.999, "share of input values dropped in training"),
    REAL(model.dropout_attention, 0, 0, 0.999, "gat, gatv2: share of the coefficients of attention dropped in training"),
    INTEGER(model.heads, 8, 1, 64, "gat, gatv2: heads of a hidden layer, side by side; they divide model.hidden"),
    INTEGER(model.heads_last, 1, 1, 64, "gat, gatv2: heads of the last layer, which gives their mean"),
    CHOICE(model.norm, NORM_NONE, "normalisation of hidden layers", "none", "batch", "layer"),
    CHOICE(model.norm_edges, EDGES_BOTH, "gcn: scale edges by the degrees of both ends, of the row, or not", "both", "row", "none"),
    CHOICE(model.aggregator, AGGREGATOR_MEAN, "sage: what neighbours become; gcn: their mean with the node itself; max: the largest of relu(H W + b), hidden wide; min: the smallest", "mean", "gcn", "sum", "max", "min"),
    CHOICE(model.readout, READOUT_SUM, "of datasets of many graphs: what the nodes of a graph become, ahead of the last linear layer", "sum", "mean", "max"),
    CHOICE(model.readout_layers, READOUT_LAYERS_LAST, "of datasets of many graphs: whose readout the logits come from: the last hidden layer's, or, each by a linear layer of its own, those of the features and of all layers", "last", "all"),
    REAL(model.eps, 0, -1e6, 1e6, "gin, unigin: the node itself counts 1 + eps times"),
    BOOLEAN(model.learn_eps, 0, "gin, unigin: train eps from there on, one a layer"),
    BOOLEAN(model.learn_first_beta, 1, "agnn: train beta of the first propagation, too; else it stays 1"),
    REAL(model.alpha, 0.1, 0, 0.999, "gcnii, unigcnii: share of the first layer's output in every convolution; appnp: of the mlp's in every step"),
    INTEGER(model.steps, 10, 1, 1000, "appnp: propagations behind the mlp of model.layers layers"),
    REAL(model.lambda, 0.5, 0, 1.718, "gcnii, unigcnii: convolution l has the identity and its weight in shares 1 - b and b = log(lambda / l + 1)"),
    BOOLEAN(model.self_hyperedges, 1, "hypergraphs: a vertex that no hyperedge has alone gets one of its own"),
    BOOLEAN(model.edge_weights, 0, "hgnn: train a weight for each hyperedge, from 1, in each layer"),
    BOOLEAN(model.residual, 0, "add the input of a layer to its output where the widths agree"),
    BOOLEAN(model.bias, 1, "learn a bias"),
    CHOICE(model.activation, ACTIVATION_RELU, "function between layers", "none", "relu", "elu", "leaky_relu"),

    INTEGER(train.epochs, 200, 0, CONFIG_EPOCHS, "epochs in all"),
    REAL(train.lr, 0.01, 0, 1e6, "learning rate"),
    CHOICE(train.optimizer, OPTIMIZER_ADAM, "adam couples weight decay to the gradient, adamw does not", "adam", "adamw", "sgd"),
    REAL(train.momentum, 0.9, 0, 0.9999, "momentum of sgd"),
    REAL(train.weight_decay, 0, 0, 1e6, "weight decay"),
    REAL(train.weight_decay_convolutions, -1, -1, 1e6, "gcnii, unigcnii: weight decay of the convolutions; negative: that of all"),
    BOOLEAN(train.weight_decay_first_only, 0, "decay the weights of the first layer only"),
    REAL(train.clip, 0, 0, INFINITY, "largest norm of the gradient; 0: any"),
    CHOICE(train.schedule, SCHEDULE_CONSTANT, "course of the learning rate", "constant", "cosine", "step"),
    INTEGER(train.warmup, 0, 0, 1e9, "epochs over which the learning rate first rises from 0"),
    INTEGER(train.step_every, 100, 1, 1e9, "epochs between the steps of schedule \"step\""),
    REAL(train.step_factor, 0.5, 0, 1, "factor of each step"),
    CHOICE(train.loss, LOSS_AUTO, "auto: bce for a multilabel dataset, else cross_entropy", "auto", "cross_entropy", "bce"),
    CHOICE(train.metric, METRIC_AUTO, "auto: micro_f1 for a multilabel dataset, else accuracy; roc_auc: of two classes", "auto", "accuracy", "micro_f1", "roc_auc"),
    INTEGER(train.seed, 1, 0, 0x1p53, "seed of weights and dropout; run r uses seed + r"),
    INTEGER(train.runs, 1, 1, CONFIG_RUNS, "trainings to do, for a mean and a deviation"),
    INTEGER(train.eval_every, 1, 1, 1e9, "epochs between evaluations"),
    INTEGER(train.patience, 0, 0, 1e9, "stop after so many epochs without a better validation metric, or an equal one at a smaller loss; 0: never"),
    CHOICE(train.recompute, RECOMPUTE_AUTO, "what the backward computes again rather than keep: the inside of as few layers as let the run fit into memory, of none, or of all; signs serve for outputs where a ReLU reads no more, first of all", "auto", "none", "layer"),

    CHOICE(partition.method, PARTITION_METIS, "who gets which nodes: what METIS finds, ranges of ids, a draw, what partition.file says, what PT-Scotch finds where the build has it", "metis", "block", "random", "file", "scotch"),
    TEXT(partition.file, "", "parts that were made elsewhere, for method \"file\": a text with a part a line, an .npy or the .h5 of a kept partition, one value a node in the order of the dataset's rows"),
    CHOICE(partition.order, ORDER_AUTO, "order of the nodes inside a rank; auto: what is predicted to pay", NODE_ORDER_NAMES),
    INTEGER(partition.loa_window, 512, 16, 1 << 20, "rows among which order \"loa-cluster\" looks for the next of a row window"),
    INTEGER(partition.seed, 1, 0, 0x7fffffff, "seed of the partition"),
    REAL(partition.balance, 1.05, 1.001, 2, "largest load of a rank over the average"),
    TEXT(partition.grid, "auto", "\"RxC\": R parts of the graph, in each C ranks that sum a slice of the columns each; R C is the number of ranks; auto: the one whose sums over arcs are predicted to take least"),

    TEXT(runtime.device, "auto", "auto, or the name of a device that --version lists"),
    CHOICE(runtime.precision, PRECISION_FP32, "numbers of the training: tf32 and bf16 on GPUs only, fp64 on the CPU only", PRECISION_NAMES),
    CHOICE(runtime.layout, LAYOUT_AUTO, "sparse products on GPUs: dense tiles and condensed windows on tensor cores and a gather of the rest, as a cost model says, or one forced; selector: condensed windows that HC-SpMM's regression takes; csr: compressed rows as they are, by GE-SpMM's kernel; vectors: column vectors as Libra chooses them. auto and tiles are for the arcs of gat and agnn, too, vectors for those of agnn, in bf16", LAYOUT_NAMES),
    INTEGER(runtime.vector_threshold, VECTOR_THRESHOLD, 1, VECTOR_ROWS, "layout \"vectors\": non-zeros of a column in 8 rows from which on tensor cores take it; fewer are gathered"),
    CHOICE(runtime.incidence, INCIDENCE_AUTO, "sums over hyperedges and back: in two steps, fused over pairs of vertices, or split among thread blocks that own vertices and share sums of hyperedges, as HyperGef has it; auto: as a cost rule says", INCIDENCE_NAMES),
    TEXT(runtime.constants, "auto", "constants of the cost model by gnnbench calibrate: a file, none, or auto: ~/.config/gnntrain/constants.toml if there"),
    BOOLEAN(runtime.overlap, 1, "compute own columns while the exchange is in flight"),
    REAL(runtime.late_rows, -1, -1, 1, "share of a rank's rows that wait for the halo and are then summed at once; the others' own columns are summed while it is in flight; negative: as many as that leaves time for, on GPUs"),
    INTEGER(runtime.halo_stages, 0, 0, 2, "stages in which halo rows arrive, among three parts or more; 2: rows of the first stage are summed while those of the second travel; 0: 2 on GPUs where that is predicted to be faster, else 1"),
    CHOICE(runtime.exchange, EXCHANGE_AUTO, "how rows of a halo come: GPUs of one host that reach each other's memory store them there, others send messages; messages alone", "auto", "messages"),
    BOOLEAN(runtime.once, 1, "aggregate the input once where it does not change"),
    CHOICE(runtime.rows, ROWS_NEEDED, "rows that an epoch computes: those that the loss needs, where that saves enough, or all", "needed", "all"),
    CHOICE(runtime.offload, OFFLOAD_AUTO, "what waits in the host's memory between forward and backward: on a GPU as little as lets the run fit, where recomputing does not suffice; nothing; the constant input of the first layer; that and all outputs of layers", "auto", "none", "features", "activations"),
    BOOLEAN(runtime.graph, 1, "on a GPU: record an epoch once and replay it"),
    REAL(runtime.timeout, 300, 0.1, 1e6, "seconds to wait for another rank before the job is ended"),
    INTEGER(runtime.threads, 0, 0, 4096, "threads of a rank; 0: from its binding"),

    INTEGER(checkpoint.every, 0, 0, 1e9, "epochs between checkpoints; 0: one at the end of a run alone"),
    INTEGER(checkpoint.keep, 2, 1, 1e6, "latest checkpoints that stay; the best stays beside them"),

    TEXT(log.dir, "", "where the run writes; empty: runs/ and the name of the configuration"),
    BOOLEAN(log.overwrite, 0, "replace an existing run"),
    INTEGER(log.progress, 0, 0, 1e9, "epochs between printed lines; 0: the first, the last and one every five seconds, with the best evaluation since"),
    BOOLEAN(log.tensorboard, 0, "write the curves for TensorBoard, too, in <log.dir>/tensorboard"),
};
/* clang-format on */

const char *const node_order_name[] = {NODE_ORDER_NAMES, NULL};

enum { KEYS = sizeof table / sizeof table[0], FILE_BYTES = CONFIG_TOML_BYTES };

static const struct config_key *find_key(const char *name) {
  for (int i = 0; i < KEYS; i++)
    if (strcmp(table[i].name, name) == 0) return &table[i];
  return NULL;
}

const char *config_key_of(const char *name) {
  for (int i = 0; i < KEYS; i++)
    if (strcmp(table[i].name + config_key_section(table[i].name) + 1, name) == 0) return table[i].name;
  return NULL;
}

static int is_section(const char *name) {
  for (int i = 0; i < KEYS; i++)
    if (config_key_section(table[i].name) == (int)strlen(name) &&
        strncmp(table[i].name, name, strlen(name)) == 0)
      return 1;
  return 0;
}

static int refuse_unknown(const char *name, int is_table, const char *place) {
  const struct config_key *nearest = config_key_nearest(table, KEYS, name, is_table);
  if (is_table)
    FAIL(BAD_INPUT, "%s: unknown section [%.80s]; the nearest allowed one is [%.*s]", place, name,
         config_key_section(nearest->name), nearest->name);
  FAIL(BAD_INPUT, "%s: unknown key %.80s; the nearest allowed one is %s (--help lists all)", place, name,
       nearest->name);
}

static int set_value(struct config *config, const struct config_value *value, const char *place) {
  const struct config_key *key = find_key(value->key);
  if (key) return config_key_set(key, config, value, place);
  int is_table = value->type == VALUE_TABLE;
  if (!is_section(value->key)) return refuse_unknown(value->key, is_table, place);
  if (!is_table) FAIL(BAD_INPUT, "%s: %s is a section; write [%s]", place, value->key, value->key);
  return OK;
}

static void set_defaults(struct config *config) {
  memset(config, 0, sizeof *config);
  for (int i = 0; i < KEYS; i++) config_key_default(&table[i], config);
}

static int visit_value(const struct config_value *value, void *context) {
  struct config *config = context;
  char place[CONFIG_TEXT + 16];
  snprintf(place, sizeof place, "%s:%d", config->path, value->line);
  return set_value(config, value, place);
}

int config_parse(struct config *config, const char *text, const char *name) {
  set_defaults(config);
  if (strlen(name) >= sizeof config->path)
    FAIL(BAD_INPUT, "%.80s...: the name is longer than %d bytes", name, CONFIG_TEXT - 1);
  strcpy(config->path, name);
  return config_toml_walk(text, config->path, visit_value, config);
}

struct assignment {
  struct config *config;
  const char *key, *place;
  int visited;
};

static int visit_assignment(const struct config_value *value, void *context) {
  struct assignment *assignment = context;
  if (assignment->visited++) FAIL(BAD_INPUT, "%s: one value is allowed", assignment->place);
  struct config_value named = *value;
  named.key = assignment->key;
  return set_value(assignment->config, &named, assignment->place);
}

/* What would stand in a file after "key = ": a bare word for a text or a choice gets its quotes. */
static int value_line(const struct config_key *key, const char *value, const char *place,
                      char line[CONFIG_VALUE + 8]) {
  char quoted[CONFIG_VALUE];
  if (strlen(value) >= CONFIG_TEXT)
    FAIL(BAD_INPUT, "%.80s...: the value is longer than %d bytes", place, CONFIG_TEXT - 1);
  int is_text = key->kind == KEY_TEXT || key->kind == KEY_CHOICE;
  int is_bare = is_text && value[0] != '"' && value[0] != '\'';
  snprintf(line, CONFIG_VALUE + 8, "value = %s", is_bare ? config_key_quote(value, quoted) : value);
  return OK;
}

int config_set(struct config *config, const char *assignment) {
  char name[128], line[CONFIG_VALUE + 8], allowed[256];
  int name_start = 0, name_end = -1, value_start = -1;
  sscanf(assignment, " %n%127[^= \t]%n = %n", &name_start, name, &name_end, &value_start);
  if (value_start < 0) FAIL(BAD_INPUT, "%.200s: an assignment is section.key=VALUE", assignment);
  const struct config_key *key = find_key(name);
  if (!key && is_section(name))
    FAIL(BAD_INPUT, "%.200s: %s is a section; an assignment is section.key=VALUE", assignment, name);
  if (!key) return refuse_unknown(name, 0, assignment);
  TRY(value_line(key, assignment + value_start, assignment, line));
  struct assignment state = {.config = config, .key = name, .place = assignment};
  int code = config_toml_walk(line, assignment, visit_assignment, &state);
  if (code == BAD_INPUT && !state.visited)
    FAIL(BAD_INPUT, "%s: not a TOML value; %s must be %s", assignment, name,
         config_key_allowed(key, allowed));
  return code;
}

/* What a file is that cannot be a configuration, by its first bytes. */
static int check_kind(const char *path, const char *text, size_t length) {
  if (length >= 4 && memcmp(text, "\x89HDF", 4) == 0)
    FAIL(BAD_INPUT,
         "%s is a dataset, not a configuration, which is a text that names it: dataset.path = \"%s\"", path,
         path);
  if (length >= 4 && memcmp(text, "PK\3\4", 4) == 0)
    FAIL(BAD_INPUT, "%s is an archive, not a configuration", path);
  return OK;
}

/* The whole file, with a NUL at the end. */
static int read_text(const char *path, char text[FILE_BYTES + 1]) {
  TRY(input_check_settings(path));
  FILE *file = input_open(path);
  if (!file) FAIL(input_code(errno), "%s: cannot open the configuration: %s", path, strerror(errno));
  errno = 0;
  size_t length = fread(text, 1, FILE_BYTES, file);
  int reason = ferror(file) ? (errno ? errno : EIO) : 0, longer = fgetc(file) != EOF;
  fclose(file);
  if (reason == EISDIR) FAIL(BAD_INPUT, "%s is a folder, not a configuration", path);
  if (reason) FAIL(input_code(reason), "%s: cannot read the configuration: %s", path, strerror(reason));
  TRY(check_kind(path, text, length));
  if (longer) FAIL(BAD_INPUT, "%s: a configuration has at most %d bytes", path, FILE_BYTES);
  text[length] = '\0';
  if (strlen(text) != length) FAIL(BAD_INPUT, "%s: not a text: byte %zu is NUL", path, strlen(text) + 1);
  return OK;
}

static int visit_nothing(const struct config_value *value, void *context) {
  (void)value, (void)context;
  return OK;
}

/* runs/ and the name of the file, as far as a configuration can hold that: checkpoints have a copy. */
static int default_log_dir(struct config *config) {
  char stem[CONFIG_TEXT];
  stem_of(config->path, stem, sizeof stem);
  if (snprintf(config->log.dir, sizeof config->log.dir, "runs/%s", stem) >= (int)sizeof config->log.dir)
    FAIL(BAD_INPUT, "log.dir: the name of %s is too long", config->path);
  char quoted[CONFIG_VALUE], line[CONFIG_VALUE + 8];
  snprintf(line, sizeof line, "value = %s", config_key_quote(config->log.dir, quoted));
  int code = config_toml_walk(line, config->path, visit_nothing, NULL);
  if (code == BAD_INPUT)
    FAIL(BAD_INPUT, "%s: the name is not valid UTF-8, and log.dir cannot be made of it; set log.dir",
         config->path);
  return code;
}

int config_read(struct config *config, const char *path, const char *const *set, int set_count) {
  char text[FILE_BYTES + 1];
  TRY(read_text(path, text));
  TRY(config_parse(config, text, path));
  for (int i = 0; i < set_count; i++) TRY(config_set(config, set[i]));
  if (config->dataset.path[0] == '\0')
    FAIL(BAD_INPUT, "%s: dataset.path: missing; name the dataset file", path);
  if (config->log.dir[0] == '\0') TRY(default_log_dir(config));
  return OK;
}

void config_write(const struct config *config, FILE *out) {
  char text[CONFIG_VALUE];
  for (int i = 0; i < KEYS; i++) {
    const char *name = table[i].name;
    int section = config_key_section(name);
    if (i == 0 || strncmp(name, table[i - 1].name, (size_t)section + 1) != 0)
      fprintf(out, "%s[%.*s]\n", i ? "\n" : "", section, name);
    fprintf(out, "%s = %s\n", name + section + 1, config_key_text(&table[i], config, text));
  }
}

int config_text(const struct config *config, char **text) {
  size_t size = 0;
  *text = NULL;
  FILE *out = open_memstream(text, &size);
  if (!out) FAIL(FAILED, "out of memory: no room for the configuration as text");
  config_write(config, out);
  if (fclose(out) != 0) FAIL(FAILED, "out of memory: no room for the configuration as text");
  return OK;
}

int config_help(FILE *out, const char *topic) {
  struct config defaults;
  char text[CONFIG_VALUE], allowed[256];
  int found = 0;
  set_defaults(&defaults);
  for (int i = 0; i < KEYS; i++) {
    if (topic && strncmp(table[i].name, topic, strlen(topic)) != 0) continue;
    found = 1;
    config_key_text(&table[i], &defaults, text);
    fprintf(out, "  %-30s %s\n  %-30s   %s; default %s\n", table[i].name, table[i].help, "",
            config_key_allowed(&table[i], allowed), text);
  }
  return found ? OK : refuse_unknown(topic, !strchr(topic, '.'), "--help");
}

void config_compare(const struct config *old, const struct config *new_,
                    void (*differ)(const char *key, const char *was, const char *is, void *context),
                    void *context) {
  char was[CONFIG_VALUE], is[CONFIG_VALUE];
  for (int i = 0; i < KEYS; i++) {
    config_key_text(&table[i], old, was);
    config_key_text(&table[i], new_, is);
    if (strcmp(was, is) != 0) differ(table[i].name, was, is, context);
  }
}
