/* The state as a checkpoint file: what belongs in it, by name, and what must agree before it is used. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/checkpoint.h"
#include "models/state.h"
#include "runtime/error.h"
#include "runtime/log.h"
#include "runtime/memory.h"

enum { VALUES = 9, TEXT = 16384 };

/* The tables that checkpoint_write and checkpoint_read walk; they point into the state. */
struct manifest {
  struct checkpoint checkpoint;
  struct checkpoint_item *item;
  struct checkpoint_value value[VALUES];
  char config[TEXT], hash[32];
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

/* What identifies a checkpoint and says where it stands. */
static void add_header(struct manifest *m, struct state *state) {
  add_text(m, "config", m->config, sizeof m->config);
  add_text(m, "dataset_hash", m->hash, sizeof m->hash);
  add_int(m, "run", &state->run);
  add_int(m, "epoch", &state->epoch);
  add_int(m, "step", &state->step);
  add_int(m, "best_epoch", &state->best.epoch);
  add_real(m, "best_val", &state->best.val);
  add_real(m, "best_loss", &state->best.loss);
  add_real(m, "best_test", &state->best.test);
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
  for (int l = 0; l < model->layers; l++) {
    const struct layer *layer = &model->layer[l];
    if (layer->statistics == 0) continue;
    char name[32];
    snprintf(name, sizeof name, "layer%d", l);
    add_item(m, "statistics", name, 2, layer->out, running); /* mean, variance */
    add_item(m, "best/statistics", name, 2, layer->out, best_running);
    running += layer->statistics;
    best_running += layer->statistics;
  }
  if (state->run > 0) {
    add_item(m, "runs", "val", state->run, 0, state->run_val);
    add_item(m, "runs", "test", state->run, 0, state->run_test);
  }
}

static int manifest_init(struct manifest *m, struct state *state, const struct model *model) {
  int64_t most = 4 * model->parameters.length + 2 * model->layers + 2;
  TRY(memory_alloc(&m->item, most * (int64_t)sizeof *m->item, "the list of arrays in a checkpoint"));
  m->checkpoint.item = m->item;
  m->checkpoint.value = m->value;
  add_header(m, state);
  return OK;
}

static int write_file(struct state *state, const struct model *model, struct run *run, struct manifest *m,
                      const char *path, int best) {
  TRY(manifest_init(m, state, model));
  add_arrays(m, state, model, best);
  snprintf(m->hash, sizeof m->hash, "%016llx", (unsigned long long)run->dataset_hash);
  char *text = NULL;
  TRY(config_text(run->config, &text));
  snprintf(m->config, sizeof m->config, "%s", text);
  free(text);
  return checkpoint_write(&m->checkpoint, path);
}

static int manifest_open(struct manifest **m) {
  return memory_alloc(m, (int64_t)sizeof **m, "a checkpoint's manifest");
}

static void manifest_close(struct manifest *m) {
  if (m) free(m->item);
  free(m);
}

int state_write(struct state *state, const struct model *model, struct run *run, const char *path, int best) {
  int code = OK;
  if (run->comm->rank == 0) {
    struct manifest *m = NULL;
    code = manifest_open(&m);
    if (code == OK) code = write_file(state, model, run, m, path, best);
    manifest_close(m);
  }
  return comm_agree(run->comm, code);
}

struct difference {
  const char *path;
  int code;
};

/* A changed model is an error (the first is kept); anything else is only said. */
static int note_difference(const char *path, const char *key, const char *was, const char *is) {
  if (strncmp(key, "model.", 6) == 0)
    FAIL(BAD_INPUT,
         "%s: was written with %s = %s, this run has %s; a checkpoint goes on only with the same model", path,
         key, was, is);
  int quiet = strncmp(key, "log.", 4) == 0 || strcmp(key, "train.epochs") == 0;
  if (!quiet) log_info("note: %s was %s in the checkpoint and is %s now", key, was, is);
  return OK;
}

static void on_difference(const char *key, const char *was, const char *is, void *context) {
  struct difference *difference = context;
  if (difference->code == OK) difference->code = note_difference(difference->path, key, was, is);
}

static int check_origin(const struct manifest *m, const struct run *run, const char *path) {
  char hash[32];
  snprintf(hash, sizeof hash, "%016llx", (unsigned long long)run->dataset_hash);
  struct config *old = NULL;
  TRY(memory_alloc(&old, (int64_t)sizeof *old, "the checkpoint's configuration"));
  struct difference difference = {.path = path, .code = config_parse(old, m->config, path)};
  if (difference.code == OK) config_compare(old, run->config, on_difference, &difference);
  free(old);
  TRY(difference.code);
  if (strcmp(hash, m->hash) != 0)
    FAIL(BAD_INPUT, "%s: was trained on another dataset than %s (hash %s, not %s)", path,
         run->config->dataset.path, m->hash, hash);
  return OK;
}

static int read_file(struct state *state, const struct model *model, struct run *run, struct manifest *m,
                     const char *path) {
  TRY(manifest_init(m, state, model));
  TRY(checkpoint_read(&m->checkpoint, path)); /* the header first: it says whether the rest can be of use */
  TRY(check_origin(m, run, path));
  if (state->run < 0 || state->run >= run->config->train.runs)
    FAIL(BAD_INPUT, "%s: stands in run %lld, but train.runs = %lld", path, (long long)state->run,
         (long long)run->config->train.runs);
  add_arrays(m, state, model, 0);
  return checkpoint_read(&m->checkpoint, path);
}

int state_read(struct state *state, const struct model *model, struct run *run, const char *path) {
  struct manifest *m = NULL;
  int code = manifest_open(&m);
  if (code == OK) code = read_file(state, model, run, m, path);
  manifest_close(m);
  return comm_agree(run->comm, code);
}
