#include "io/synth/synth.h"

#include "io/synth/synth_communities.h"
#include "io/synth/synth_edges.h"
#include "io/synth/synth_hyperedges.h"
#include "io/synth/synth_nodes.h"
#include "runtime/base/base.h"

static struct synth_hyperedges hyperedges_of(const struct synth *synth) {
  double mean = synth->degree * (double)synth->nodes / (double)synth->hyperedges;
  return (struct synth_hyperedges){synth->hyperedges, mean, synth->size_power, synth->seed};
}

static int make_hyperedges(const struct synth *synth, struct synth_communities *c, const int32_t *new_id,
                           struct synth_rows *rows) {
  struct synth_hyperedges h = hyperedges_of(synth);
  TRY(synth_communities_weigh(c, synth->power, synth->inside, synth->seed));
  return synth_hyperedges_build(&h, c, new_id, rows);
}

static int make_edges(struct comm *comm, const struct synth *synth, struct synth_communities *c,
                      const int32_t *new_id, struct synth_rows *rows) {
  struct synth_rmat rmat;
  struct synth_model model;
  if (synth->rmat) {
    synth_rmat_init(&rmat, synth->nodes, synth->seed);
    model = synth_rmat_model(&rmat);
  } else {
    TRY(synth_communities_weigh(c, synth->power, synth->inside, synth->seed));
    model = synth_communities_model(c);
  }
  int64_t draws;
  TRY(synth_edges_draws(&model, synth->nodes, synth->degree * (double)synth->nodes / 2, &draws));
  const struct synth_drawing drawing = {&model, synth->nodes, draws, new_id};
  return synth_edges_build(comm, &drawing, rows);
}

/* What is certainly held at once: of a node its community, label, class and offset; of an arc of the rows
 * what was drawn and what is stored. A degree that the graph has no room for is refused later. */
static int check_memory(const struct synth *synth, double share) {
  char text[16];
  double arc = synth->hyperedges ? sizeof(int32_t) : 2.0 * sizeof(int32_t);
  double degree = synth->degree < (double)synth->nodes ? synth->degree : (double)synth->nodes;
  double bytes = (double)synth->nodes * (3.0 * sizeof(int32_t) + sizeof(int64_t) + share * degree * arc);
  if (bytes > (double)memory_total())
    FAIL(FAILED, "out of memory: %lld nodes of mean degree %g take more than %s, and this machine has less",
         (long long)synth->nodes, synth->degree, memory_text((int64_t)bytes, text));
  return OK;
}

int64_t synth_row_count(const struct synth *synth) {
  return synth->hyperedges ? synth->hyperedges : synth->nodes;
}

void synth_say(const struct synth *synth, const struct synth_rows *rows) {
  struct synth_hyperedges h = hyperedges_of(synth);
  if (synth->hyperedges) synth_hyperedges_say(&h, rows);
}

int synth_make_rows(struct comm *comm, const struct synth *synth, struct synth_rows *rows) {
  ENDED_BY(synth_communities_free) struct synth_communities c = {0};
  FREED int32_t *new_id = NULL;
  TRY(check_memory(synth, (double)rows->rows / (double)synth_row_count(synth)));
  TRY(synth_communities_init(&c, synth->nodes, synth_community_size(synth), synth->community_power,
                             synth->seed));
  TRY(synth_nodes_rename(synth, &new_id));
  return synth->hyperedges ? make_hyperedges(synth, &c, new_id, rows)
                           : make_edges(comm, synth, &c, new_id, rows);
}

/* Labels and split; the features are the caller's. */
static int fill_nodes(const struct synth *synth, struct synth_nodes *nodes, struct dataset_source *source) {
  TRY(synth_nodes_init(nodes, synth));
  TRY(memory_arrays("labels", ROOM(&source->label, synth->nodes), ROOM(&source->split, 1)));
  source->splits = 1;
  synth_nodes_label(nodes, 0, synth->nodes, source->label);
  for (int part = 0; part < SPLIT_COUNT; part++)
    TRY(synth_nodes_split(nodes, (enum split)part, &source->split->node[part], &source->split->count[part]));
  return OK;
}

static int make_nodes(const struct synth *synth, struct dataset_source *source,
                      struct synth_features *features) {
  ENDED_BY(synth_nodes_free) struct synth_nodes nodes = {0};
  TRY(fill_nodes(synth, &nodes, source));
  *features = nodes.features;
  nodes.features = (struct synth_features){0};
  return OK;
}

int synth_make(const struct synth *synth, struct dataset_source *source, struct synth_features *features) {
  struct synth_rows rows = {.rows = synth_row_count(synth)};
  memcpy(source->name, synth->name, sizeof source->name);
  source->nodes = synth->nodes;
  source->features = synth->features;
  source->classes = synth->classes;
  source->hyper.edges = synth->hyperedges;
  source->task = TASK_MULTICLASS;
  source->made.rows = synth_features_rows;
  source->made.context = features;
  TRY(check_memory(synth, 1));
  TRY(synth_check(synth));
  TRY(make_nodes(synth, source, features));
  int code = synth_make_rows(NULL, synth, &rows);
  if (code == OK) synth_say(synth, &rows);
  *(synth->hyperedges ? &source->hyper.start : &source->start) = rows.start;
  *(synth->hyperedges ? &source->hyper.vertex : &source->col) = rows.id;
  return code;
}
