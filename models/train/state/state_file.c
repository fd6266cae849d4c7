/* The state as a checkpoint file: what belongs in it, by name, and what must agree before it is used. */
#include <math.h>

#include "io/dataset/checkpoint.h"
#include "io/file/h5.h"
#include "models/train/state/state_check.h"
#include "runtime/base/base.h"

enum { VALUES = 14, HASH = 32 };

/* The tables that checkpoint_write and checkpoint_read walk; they point into the state. */
struct manifest {
  struct checkpoint checkpoint;
  struct checkpoint_item *item;
  struct checkpoint_value value[VALUES];
  char config[CHECKPOINT_CONFIG], hash[HASH], data[DATA_KINDS][HASH];
  char weights[16]; /* whose parameters/ are: "latest" or "best"; "" in files of older programs */
};

static void add_item(struct manifest *m, const char *group, const char *name, int64_t rows, int64_t cols,
                     double *data) {
  struct checkpoint_item *item = &m->item[m->checkpoint.items++];
  *item = (struct checkpoint_item){.type = H5_DOUBLE, .rows = rows, .cols = cols, .data = data};
  snprintf(item->name, sizeof item->name, "%s/%s", group, name);
}

static void add_int(struct manifest *m, const char *name, int64_t *value) {
  struct checkpoint_value *added = &m->value[m->checkpoint.values++];
  *added = (struct checkpoint_value){.kind = CHECKPOINT_INT, .integer = value};
  snprintf(added->name, sizeof added->name, "%s", name);
}

static void add_real(struct manifest *m, const char *name, double *value) {
  struct checkpoint_value *added = &m->value[m->checkpoint.values++];
  *added = (struct checkpoint_value){.kind = CHECKPOINT_REAL, .real = value};
  snprintf(added->name, sizeof added->name, "%s", name);
}

static void add_text(struct manifest *m, const char *name, char *text, int64_t size) {
  struct checkpoint_value *added = &m->value[m->checkpoint.values++];
  *added = (struct checkpoint_value){.kind = CHECKPOINT_TEXT, .text = text, .text_size = size};
  snprintf(added->name, sizeof added->name, "%s", name);
}

/* Files of older programs lack what was added last. */
static void make_optional(struct manifest *m) {
  m->value[m->checkpoint.values - 1].optional = 1;
}

/* What identifies a checkpoint and says where it stands. */
static void add_header(struct manifest *m, struct state *state) {
  static const char *const hash_name[] = {"features_hash", "labels_hash", "splits_hash"};
  add_text(m, "config", m->config, sizeof m->config);
  add_text(m, "dataset_hash", m->hash, sizeof m->hash);
  add_int(m, "run", &state->run);
  add_int(m, "epoch", &state->epoch);
  add_int(m, "step", &state->step);
  add_int(m, "best_epoch", &state->best.epoch);
  add_real(m, "best_val", &state->best.val);
  add_real(m, "best_loss", &state->best.loss);
  add_real(m, "best_test", &state->best.test);
  for (int kind = 0; kind < DATA_KINDS; kind++) {
    add_text(m, hash_name[kind], m->data[kind], HASH);
    make_optional(m);
  }
  add_real(m, "seconds", &state->seconds);
  make_optional(m);
  add_text(m, "weights", m->weights, sizeof m->weights);
  make_optional(m);
}

static void add_arrays(struct manifest *m, struct state *state, const struct model *model, int best) {
  const struct parameters *p = &model->parameters;
  for (int i = 0; i < p->length; i++) {
    const struct parameter *piece = &p->list[i];
    int64_t at = piece->first;
    add_item(m, "parameters", piece->name, piece->rows, piece->cols, (best ? state->best_w : state->w) + at);
    add_item(m, "moments/first", piece->name, piece->rows, piece->cols, state->m + at);
    add_item(m, "moments/second", piece->name, piece->rows, piece->cols, state->v + at);
    add_item(m, "best/parameters", piece->name, piece->rows, piece->cols, state->best_w + at);
  }
  double *running = best ? state->best_statistics : state->statistics, *best_running = state->best_statistics;
  for (int i = 0; i < model->program.norms; i++) {
    const struct norm_state *norm = &model->program.norm[i];
    if (norm->statistics == 0) continue;
    char name[32];
    snprintf(name, sizeof name, "layer%d", norm->layer);
    add_item(m, "statistics", name, 2, norm->cols, running); /* mean, variance */
    add_item(m, "best/statistics", name, 2, norm->cols, best_running);
    running += norm->statistics;
    best_running += norm->statistics;
  }
}

static void add_results(struct manifest *m, struct state *state) {
  if (state->run == 0) return;
  add_item(m, "runs", "val", state->run, 0, state->run_val);
  add_item(m, "runs", "test", state->run, 0, state->run_test);
}

static int manifest_init(struct manifest *m, struct state *state, const struct model *model) {
  int64_t most = 4 * model->parameters.length + 2 * model->program.norms + 2;
  TRY(memory_arrays("the list of arrays in a checkpoint", ROOM(&m->item, most)));
  m->checkpoint.item = m->item;
  m->checkpoint.value = m->value;
  add_header(m, state);
  return OK;
}

static void manifest_free(struct manifest *m) {
  free(m->item);
}

static void hash_text(uint64_t hash, char text[HASH]) {
  snprintf(text, HASH, "%016llx", (unsigned long long)hash);
}

static int write_file(struct state *state, const struct model *model, struct run *run, const char *path,
                      int best) {
  ENDED_BY(manifest_free) struct manifest m = {0};
  FREED char *text = NULL;
  TRY(manifest_init(&m, state, model));
  add_arrays(&m, state, model, best);
  add_results(&m, state);
  hash_text(run->dataset_hash, m.hash);
  for (int kind = 0; kind < DATA_KINDS; kind++) hash_text(run->shard->data_hash[kind], m.data[kind]);
  snprintf(m.weights, sizeof m.weights, "%s", best ? "best" : "latest");
  TRY(config_text(run->config, &text));
  snprintf(m.config, sizeof m.config, "%s", text);
  return checkpoint_write(&m.checkpoint, path);
}

int state_write(struct state *state, const struct model *model, struct run *run, const char *path, int best) {
  return comm_agree(run->comm, run->comm->rank == 0 ? write_file(state, model, run, path, best) : OK);
}

struct difference {
  const char *path;
  const struct run *run;
  int64_t of_run; /* that the checkpoint stands in */
  enum state_use use;
  int code;
};

/* What training goes on with must be what it began with: runs of a job, and what they are told apart by. */
static int check_training(const struct difference *difference, const char *key, const char *was,
                          const char *is) {
  if (strcmp(key, "dataset.split") == 0 || strcmp(key, "dataset.normalize") == 0)
    FAIL(BAD_INPUT, "%s: was trained with %s = %s, this run has %s; training goes on only with the same data",
         difference->path, key, was, is);
  if (strcmp(key, "train.epochs") == 0 && difference->of_run > 0)
    FAIL(BAD_INPUT,
         "%s: stands in run %lld, and the runs before it were asked for %s epochs, not %s; leave "
         "train.epochs as it was or start anew",
         difference->path, (long long)difference->of_run, was, is);
  if (strcmp(key, "train.epochs") == 0 && difference->run->config->train.schedule == SCHEDULE_COSINE)
    log_info("note: the cosine of the learning rates ends at epoch %s now, not %s", is, was);
  return OK;
}

/* A changed model is an error (the first is kept), and other data is where training goes on; anything else is
 * only said, where it matters. */
static int note_difference(const struct difference *difference, const char *key, const char *was,
                           const char *is) {
  enum state_use use = difference->use;
  if (use == STATE_RESUME) TRY(check_training(difference, key, was, is));
  if (strncmp(key, "model.", 6) == 0)
    FAIL(BAD_INPUT,
         "%s: was written with %s = %s, this run has %s; a checkpoint goes on only with the same model",
         difference->path, key, was, is);
  int quiet = strncmp(key, "log.", 4) == 0 || strcmp(key, "train.epochs") == 0 || use == STATE_COPY;
  if (use == STATE_EVALUATE && strncmp(key, "train.", 6) == 0) quiet = 1;
  if (!quiet) log_info("note: %s was %s in the checkpoint and is %s now", key, was, is);
  return OK;
}

static void on_difference(const char *key, const char *was, const char *is, void *context) {
  struct difference *difference = context;
  if (difference->code == OK) difference->code = note_difference(difference, key, was, is);
}

/* Training goes on with the same graph only; weights may be tried on another one, of as many features and
 * classes, as one that has got new nodes. *is_same: what it is. */
static int check_graph(const struct manifest *m, const struct run *run, const char *path, enum state_use use,
                       int *is_same) {
  char hash[HASH];
  hash_text(run->dataset_hash, hash);
  *is_same = strcmp(hash, m->hash) == 0;
  if (!*is_same && use != STATE_EVALUATE)
    FAIL(BAD_INPUT, "%s: was trained on another dataset than %s (hash %s, not %s)", path,
         run->config->dataset.path, m->hash, hash);
  if (!*is_same) log_info("note: %s was trained on another graph than %s", path, run->config->dataset.path);
  return OK;
}

/* Likewise of one graph with other data. */
static int check_data(const struct manifest *m, const struct run *run, const char *path, enum state_use use) {
  static const char *const name[] = {"features", "labels", "splits"};
  char hash[HASH];
  for (int kind = 0; kind < DATA_KINDS; kind++) {
    hash_text(run->shard->data_hash[kind], hash);
    if (m->data[kind][0] == '\0' || strcmp(hash, m->data[kind]) == 0) continue;
    if (use == STATE_RESUME)
      FAIL(BAD_INPUT,
           "%s: was trained with other %s than those of %s (hash %s, not %s); training goes on only with the "
           "same dataset",
           path, name[kind], run->config->dataset.path, m->data[kind], hash);
    if (use == STATE_EVALUATE)
      log_info("note: %s was trained with other %s than those of %s", path, name[kind],
               run->config->dataset.path);
  }
  if (use == STATE_RESUME && m->data[0][0] == '\0')
    log_info("note: %s is of an older program: whether features, labels and splits are the same is unknown",
             path);
  return OK;
}

/* The numbers at the head, and the configuration beside them. */
static int check_head(const struct manifest *m, const struct state *state, struct config *old,
                      const char *path) {
  TRY(state_check_values(&m->checkpoint, INFINITY, path));
  TRY(config_parse(old, m->config, path));
  return state_check_place(state, old, path);
}

static int check_origin(const struct manifest *m, const struct state *state, const struct run *run,
                        const char *path, enum state_use use) {
  int is_same;
  FREED struct config *old = NULL;
  TRY(memory_arrays("the checkpoint's configuration", ROOM(&old, 1)));
  struct difference difference = {path, run, state->run, use, check_head(m, state, old, path)};
  if (difference.code == OK) config_compare(old, run->config, on_difference, &difference);
  TRY(difference.code);
  TRY(check_graph(m, run, path, use, &is_same));
  return is_same ? check_data(m, run, path, use) : OK;
}

/* Older programs did not say that they wrote the best weights in place of the latest. */
static int holds_best(const struct manifest *m, const struct state *state) {
  if (m->weights[0] != '\0') return strcmp(m->weights, "best") == 0;
  return state->best.epoch != state->epoch &&
         memcmp(state->w, state->best_w, (size_t)state->count * sizeof *state->w) == 0;
}

static int check_weights(const struct manifest *m, const struct state *state, const char *path) {
  if (m->weights[0] && strcmp(m->weights, "latest") != 0 && strcmp(m->weights, "best") != 0)
    FAIL(BAD_INPUT, "%s: the attribute \"weights\" is neither \"latest\" nor \"best\"", path);
  if (strcmp(m->weights, "best") == 0 && state->best.epoch == 0)
    FAIL(BAD_INPUT, "%s: the attribute \"weights\" is \"best\", but best_epoch is 0", path);
  return OK;
}

static int check_place(const struct state *state, const struct run *run, const char *path) {
  if (state->run >= run->config->train.runs)
    FAIL(BAD_INPUT, "%s: stands in run %lld, but train.runs = %lld", path, (long long)state->run,
         (long long)run->config->train.runs);
  if (state->epoch > run->config->train.epochs)
    log_info("note: %s stands at epoch %lld, beyond the %lld of train.epochs: run %lld ends there", path,
             (long long)state->epoch, (long long)run->config->train.epochs, (long long)state->run);
  return OK;
}

static int read_file(struct state *state, const struct model *model, struct run *run, const char *path,
                     enum state_use use) {
  ENDED_BY(manifest_free) struct manifest m = {.checkpoint = {.probed = 1}};
  state->seconds = 0;
  TRY(manifest_init(&m, state, model));
  TRY(checkpoint_read(&m.checkpoint, path)); /* the header first: it says whether the rest can be of use */
  TRY(check_origin(&m, state, run, path, use));
  TRY(check_weights(&m, state, path));
  if (use == STATE_RESUME) TRY(check_place(state, run, path));
  add_arrays(&m, state, model, 0);
  if (use == STATE_RESUME) add_results(&m, state);
  TRY(checkpoint_read(&m.checkpoint, path));
  TRY(state_check_values(&m.checkpoint, state_largest(run->config->runtime.precision), path));
  if (state->best.epoch == 0) state->best = (struct best){0, NAN, NAN, NAN}; /* older programs wrote zeros */
  state->holds_best = holds_best(&m, state);
  if (use == STATE_RESUME && state->holds_best)
    FAIL(BAD_INPUT,
         "%s: holds the best weights, of epoch %lld, and not what training goes on from; resume a file of "
         "checkpoints/ beside it, or the newest with --resume",
         path, (long long)state->best.epoch);
  return OK;
}

int state_read(struct state *state, const struct model *model, struct run *run, const char *path,
               enum state_use use) {
  TRY(comm_agree(run->comm, run->comm->rank == 0 ? h5_probe(path) : OK)); /* one child is enough */
  return comm_agree(run->comm, read_file(state, model, run, path, use));
}

int state_place(const char *path, int64_t *of_run, int64_t *epoch) {
  struct checkpoint_value value[] = {{.name = "run", .kind = CHECKPOINT_INT, .integer = of_run},
                                     {.name = "epoch", .kind = CHECKPOINT_INT, .integer = epoch}};
  struct checkpoint checkpoint = {.value = value, .values = 2};
  TRY(checkpoint_read(&checkpoint, path));
  return state_check_values(&checkpoint, INFINITY, path);
}
