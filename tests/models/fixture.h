/* A small dataset and a job over it, for the tests of models. */
#ifndef TESTS_MODELS_FIXTURE_H
#define TESTS_MODELS_FIXTURE_H

#include <unistd.h>

#include "models/session/job.h"
#include "runtime/base/log.h"
#include "runtime/base/memory.h"
#include "tests/datasets.h"
#include "tests/ranks.h"

struct fixture {
  int directed, weighted, sparse, multilabel;
  int64_t nodes, features, classes;
  int64_t hyperedges; /* 0: a graph */
  int wide;           /* hyperedges of half of the vertices, not of a few */
  int twins;          /* so many nodes each have equal features and neighbours; 0 or 1: one */
  int thirds;         /* weights and features are floats that no short sum of them is */
  int train;          /* percent of the nodes that train; 0: a third */
  int asked;          /* percent of the others that validate or test; 0: all */
  int graphs;         /* the nodes are those of so many graphs, which get larger; labels are theirs. 0: one */
  int arcs;           /* percent of the pairs of nodes with an arc; 0: 12. Of the vertices in a hyperedge */
};

static inline uint32_t draw(uint64_t index, uint32_t what) {
  return random_block(random_key(99, 0, what, RANDOM_IMPORT), index, 0).word[0];
}

/* The first of a node's twins. */
static inline int64_t twin_of(const struct fixture *f, int64_t v) {
  return f->twins > 1 ? v - v % f->twins : v;
}

/* The node that a graph begins with; behind the last one, how many there are. */
static inline int64_t graph_begin(const struct fixture *f, int64_t g) {
  return g + (f->nodes - f->graphs) * g * (g + 1) / (f->graphs * (f->graphs + 1));
}

/* The graph of a node. */
static inline int64_t graph_of(const struct fixture *f, int64_t v) {
  int64_t g = 0;
  while (f->graphs > 0 && graph_begin(f, g + 1) <= v) g++;
  return g;
}

/* Whether the node has a label: the first one of its graph, or any. */
static inline int is_labelled(const struct fixture *f, int64_t v) {
  return f->graphs == 0 || graph_begin(f, graph_of(f, v)) == v;
}

/* Whether the arc (v <- u) is there; every tenth node has a stored self loop, every 13th no arcs at all. Half
 * of these loops have weight 0. */
static inline int has_arc(const struct fixture *f, int64_t v, int64_t u) {
  int64_t a = twin_of(f, v), b = twin_of(f, u);
  if (graph_of(f, v) != graph_of(f, u)) return 0;
  if (f->twins > 1) return a != b && draw((uint64_t)((a < b ? a : b) * f->nodes + a + b), 1) % 100 < 20;
  if (v % 13 == 5 || u % 13 == 5) return 0;
  if (u == v) return v % 10 == 3;
  if (!f->directed && a > b) a = u, b = v;
  return draw((uint64_t)(a * f->nodes + b), 1) % 100 < (uint32_t)(f->arcs ? f->arcs : 12);
}

static inline float arc_weight(const struct fixture *f, int64_t v, int64_t u) {
  int64_t low = f->directed || v < u ? v : u, high = f->directed || v < u ? u : v;
  if (u == v && v % 20 == 3) return 0;
  if (f->thirds) return (float)(1 + draw((uint64_t)(low * f->nodes + high), 2) % 8) / 3;
  return .25f + (float)(draw((uint64_t)(low * f->nodes + high), 2) % 8) / 8;
}

static inline void fill_graph(const struct fixture *f, struct dataset_source *s) {
  s->start = calloc((size_t)f->nodes + 1, sizeof *s->start);
  s->col = calloc((size_t)(f->nodes * f->nodes), sizeof *s->col);
  if (f->weighted) s->weight = calloc((size_t)(f->nodes * f->nodes), sizeof *s->weight);
  int64_t edges = 0;
  for (int64_t v = 0; v < f->nodes; v++) {
    for (int64_t u = 0; u < f->nodes; u++) {
      if (!has_arc(f, v, u)) continue;
      if (f->weighted) s->weight[edges] = arc_weight(f, v, u);
      s->col[edges++] = (int32_t)u;
    }
    s->start[v + 1] = edges;
  }
}

/* Whether hyperedge e has vertex v: every fifth has one vertex alone; every 13th vertex is in none. */
static inline int has_member(const struct fixture *f, int64_t e, int64_t v) {
  if (v % 13 == 5) return 0;
  if (e % 5 == 2) return v == (3 * e) % f->nodes;
  uint32_t percent = f->wide ? 50 : f->arcs ? (uint32_t)f->arcs : e == 0 ? 40 : 6;
  return draw((uint64_t)(e * f->nodes + v), 9) % 100 < percent;
}

static inline void fill_hypergraph(const struct fixture *f, struct dataset_source *s) {
  int64_t filled = 0;
  s->hyper.start = calloc((size_t)f->hyperedges + 1, sizeof *s->hyper.start);
  s->hyper.vertex = calloc((size_t)(f->hyperedges * f->nodes), sizeof *s->hyper.vertex);
  for (int64_t e = 0; e < f->hyperedges; e++) {
    for (int64_t v = 0; v < f->nodes; v++)
      if (has_member(f, e, v)) s->hyper.vertex[filled++] = (int32_t)v;
    s->hyper.start[e + 1] = filled;
  }
  s->hyper.edges = f->hyperedges;
}

static inline float feature_of(const struct fixture *f, int64_t v, int64_t j) {
  uint64_t i = (uint64_t)(twin_of(f, v) * f->features + j);
  int kept = !f->sparse || draw(i, 3) % 100 < 6;
  if (f->thirds) return kept ? (float)(1 + draw(i, 4) % 15) / 3 : 0;
  return kept ? (float)(1 + draw(i, 4) % 15) / 8 - (f->sparse ? 0 : 1) : 0;
}

static inline void fill_nodes(const struct fixture *f, struct dataset_source *s) {
  s->feature = calloc((size_t)(f->nodes * f->features), sizeof *s->feature);
  for (int64_t i = 0; i < f->nodes * f->features; i++)
    s->feature[i] = feature_of(f, i / f->features, i % f->features);
  if (f->multilabel)
    s->labels = calloc((size_t)(f->nodes * f->classes), 1);
  else
    s->label = calloc((size_t)f->nodes, sizeof *s->label);
  for (int64_t v = 0; v < f->nodes; v++) {
    const int labelled = is_labelled(f, v);
    if (!f->multilabel) s->label[v] = labelled ? (int32_t)(draw((uint64_t)v, 5) % (uint32_t)f->classes) : -1;
    for (int64_t c = 0; c < f->classes && f->multilabel && labelled; c++)
      s->labels[v * f->classes + c] = draw((uint64_t)(v * f->classes + c), 6) % 2;
  }
}

/* A third of the nodes trains, or so many percent and one at least; half of the others validates, the rest
 * tests. */
static inline uint32_t part_of(const struct fixture *f, int64_t v) {
  const uint32_t part = draw((uint64_t)v, 7) % 3;
  if (f->train == 0) return part;
  return v == 1 || draw((uint64_t)v, 8) % 100 < (uint32_t)f->train ? SPLIT_TRAIN : 1 + part % 2;
}

static inline void fill_split(const struct fixture *f, struct dataset_source *s) {
  s->splits = 1;
  s->split = calloc(1, sizeof *s->split);
  for (int part = 0; part < SPLIT_COUNT; part++)
    s->split->node[part] = calloc((size_t)f->nodes, sizeof(int64_t));
  for (int64_t v = 0; v < f->nodes; v++) {
    const uint32_t part = part_of(f, v);
    if (!is_labelled(f, v)) continue;
    if (part != SPLIT_TRAIN && f->asked && draw((uint64_t)v, 10) % 100 >= (uint32_t)f->asked) continue;
    s->split->node[part][s->split->count[part]++] = v;
  }
}

static inline void fill_graphs(const struct fixture *f, struct dataset_source *s) {
  if (f->graphs == 0) return;
  s->graphs.count = f->graphs;
  s->graphs.start = calloc((size_t)f->graphs + 1, sizeof *s->graphs.start);
  for (int64_t g = 0; g <= f->graphs; g++) s->graphs.start[g] = graph_begin(f, g);
}

static inline void fixture_write(const struct fixture *f, const char *path) {
  struct dataset_source s = {.name = "fixture",
                             .nodes = f->nodes,
                             .features = f->features,
                             .classes = f->classes,
                             .task = f->multilabel ? TASK_MULTILABEL : TASK_MULTICLASS,
                             .directed = f->directed};
  if (f->hyperedges)
    fill_hypergraph(f, &s);
  else
    fill_graph(f, &s);
  fill_nodes(f, &s);
  fill_graphs(f, &s);
  fill_split(f, &s);
  assert_ok(dataset_write(&s, path));
  dataset_source_free(&s);
}

/* What a test changes of a job that is set up, before it starts. */
static void (*fixture_change)(struct job *job);

/* A started job on the fixture with the default settings and those of `settings` (TOML lines). comm is open.
 */
static inline void fixture_open(struct job *job, const struct fixture *f, const char *settings) {
  static char text[4096], path[256];
  struct comm comm = job->comm;
  memset(job, 0, sizeof *job);
  job->comm = comm;
  long id = (long)getpid();
  assert_ok(comm_broadcast(&job->comm, &id, sizeof id, 0));
  snprintf(path, sizeof path, "/tmp/gnntrain-fixture-%ld.h5", id);
  if (job->comm.rank == 0) fixture_write(f, path);
  snprintf(text, sizeof text, "dataset.path = \"%s\"\nlog.dir = \"%s.run\"\n%s\n", path, path, settings);
  assert_ok(config_parse(&job->config, text, "test"));
  log_open(0);
  assert_ok(job_setup(job));
  if (fixture_change) fixture_change(job);
  assert_ok(trainer_start(&job->trainer, &job->run));
  assert_ok(model_reset(&job->trainer.model, &job->run));
}

static inline void fixture_close(struct job *job) {
  char path[CONFIG_TEXT];
  snprintf(path, sizeof path, "%s", job->config.dataset.path);
  int rank = job->comm.rank;
  assert_ok(comm_barrier(&job->comm));
  job_free(job);
  if (rank == 0) remove_all(path, ""), remove_all(path, ".parts"), remove_all(path, ".run");
  assert_ok(comm_barrier(&job->comm));
}

/* An epoch without evaluation. loss: this rank's share of the mean training loss before the step. */
static inline int epoch_train(struct epoch *pass, struct run *run, int64_t epoch, double *loss) {
  struct result result;
  TRY(epoch_queue(pass, run, epoch));
  TRY(epoch_queue_result(pass, run));
  TRY(epoch_collect(pass, run, epoch, &result));
  *loss = result.outcome.loss;
  return OK;
}

#endif
