#include "io/synth/synth_dataset.h"

#include <math.h>

#include "io/synth/synth.h"
#include "io/synth/synth_nodes.h"
#include "runtime/base/base.h"

static const char SCHEME[] = "synth:";

struct made {
  struct synth synth;
  struct synth_nodes nodes;
  int has_nodes, has_said;
};

static int make_rows(void *context, struct comm *comm, int64_t first, int64_t count, int64_t **start,
                     int32_t **id) {
  struct made *made = context;
  struct synth_rows rows = {.first = first, .rows = count};
  int code = synth_make_rows(comm, &made->synth, &rows);
  *start = rows.start;
  *id = rows.id;
  if (code == OK && count == synth_row_count(&made->synth) && !made->has_said) {
    made->has_said = 1;
    synth_say(&made->synth, &rows);
  }
  return code;
}

static int need_nodes(struct made *made) {
  if (made->has_nodes) return OK;
  synth_nodes_free(&made->nodes);
  TRY(synth_nodes_init(&made->nodes, &made->synth));
  made->has_nodes = 1;
  return OK;
}

static int make_features(void *context, int64_t first, int64_t rows, float *values) {
  struct made *made = context;
  TRY(need_nodes(made));
  return synth_features_rows(&made->nodes.features, first, rows, values);
}

static int make_label(void *context, int64_t first, int64_t rows, int32_t *label) {
  struct made *made = context;
  TRY(need_nodes(made));
  synth_nodes_label(&made->nodes, first, rows, label);
  return OK;
}

static int make_split(void *context, int part, int64_t **node, int64_t *count) {
  struct made *made = context;
  TRY(need_nodes(made));
  return synth_nodes_split(&made->nodes, (enum split)part, node, count);
}

static void close_made(void *context) {
  struct made *made = context;
  synth_nodes_free(&made->nodes);
  free(made);
}

static const struct dataset_maker maker = {make_rows, make_features, make_label, make_split, close_made};

int synth_dataset_is(const char *path) {
  return strncmp(path, SCHEME, strlen(SCHEME)) == 0;
}

static int read_options(struct synth *synth, const char *list) {
  struct options options = {
      .command = "gnndata synth", .option = synth_options, .into = synth, .lead = SCHEME};
  synth_default(synth);
  TRY(options_read_list(&options, list));
  TRY(synth_options_check(&options));
  return synth_check(synth);
}

/* What a file's header says. */
static void fill_header(struct dataset *d, const struct synth *synth) {
  const enum rows_kind kind = synth->hyperedges ? HYPER_ROWS : GRAPH_ROWS;
  snprintf(d->name, sizeof d->name, "%s", synth->name);
  d->nodes = synth->nodes;
  d->features = synth->features;
  d->classes = synth->classes;
  d->hyperedges = synth->hyperedges;
  d->task = TASK_MULTICLASS;
  d->splits = d->plain_split = 1;
  d->has_features = 1;
  d->has_graph = kind == GRAPH_ROWS;
  d->rows[kind] = dataset_rows_names[kind];
  d->rows[kind].values = NULL;
  d->rows[kind].rows = synth_row_count(synth);
  d->rows[kind].most = synth->nodes;
  dataset_set_entries(d, kind, llround(synth->degree * (double)synth->nodes));
}

int synth_dataset_open(struct dataset *d, const char *path) {
  struct made *made = NULL;
  memset(d, 0, sizeof *d);
  TRY(memory_arrays("a made dataset", ROOM(&made, 1)));
  d->made = (struct dataset_made){.maker = &maker, .context = made};
  snprintf(d->h5.path, sizeof d->h5.path, "%s", path);
  TRY(read_options(&made->synth, path + strlen(SCHEME)));
  fill_header(d, &made->synth);
  return OK;
}
