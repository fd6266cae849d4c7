/* Random datasets for tests: the same on every rank, written by rank 0 into the working directory. */
#ifndef TESTS_PARTITION_RANDOM_GRAPH_H
#define TESTS_PARTITION_RANDOM_GRAPH_H

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/dataset/dataset.h"
#include "partition/graph/graph.h"
#include "runtime/base/random.h"
#include "runtime/comm/comm.h"
#include "tests/datasets.h"

enum { RANDOM_FEATURES = 19, RANDOM_CLASSES = 4 };

struct random_graph {
  int64_t nodes;
  double density; /* of arcs; every seventh node has none */
  int directed, weighted, loops;
  enum task task;
  int sparse; /* features */
  int64_t seed;
  float *matrix; /* [nodes, nodes] weights, 0: no arc */
};

static inline float random_real(int64_t seed, int64_t i, int64_t j) {
  return random_unit(
      random_block(random_key((uint64_t)seed, 0, 0, RANDOM_IMPORT), (uint64_t)i, (uint64_t)j).word[0]);
}

/* Weights are k / 8, so that sums are exact. */
static inline void random_matrix(struct random_graph *g) {
  int64_t n = g->nodes;
  g->matrix = calloc((size_t)(n * n), sizeof *g->matrix);
  for (int64_t v = 0; v < n; v++) {
    for (int64_t u = 0; u < n; u++) {
      int64_t a = g->directed || v < u ? v : u, b = g->directed || v < u ? u : v;
      if (v % 7 == 3 || u % 7 == 3 || (v == u && !g->loops)) continue;
      if (random_real(g->seed, a, b) >= (float)g->density) continue;
      g->matrix[v * n + u] = g->weighted ? 1 + floorf(16 * random_real(g->seed + 1, a, b)) / 8 : 1;
    }
  }
}

static inline void random_rows(const struct random_graph *g, struct dataset_source *s) {
  int64_t n = g->nodes, edges = 0;
  s->start = calloc((size_t)n + 1, sizeof *s->start);
  s->col = calloc((size_t)(n * n), sizeof *s->col);
  if (g->weighted) s->weight = calloc((size_t)(n * n), sizeof *s->weight);
  for (int64_t v = 0; v < n; v++) {
    for (int64_t u = 0; u < n; u++) {
      if (g->matrix[v * n + u] == 0) continue;
      if (s->weight) s->weight[edges] = g->matrix[v * n + u];
      s->col[edges++] = (int32_t)u;
    }
    s->start[v + 1] = edges;
  }
}

static inline float random_feature(const struct random_graph *g, int64_t v, int64_t column) {
  if (g->sparse && (v + column) % RANDOM_FEATURES != 0) return 0;
  return floorf(16 * random_real(g->seed + 2, v, column)) / 8;
}

static inline int32_t random_label(int64_t v) {
  return (int32_t)(v * 3 % (RANDOM_CLASSES + 1)) - 1;
}

static inline uint8_t random_labels(int64_t v, int64_t c) {
  return (v * 3 + c) % 4 == 0;
}

/* Split k: every node with a label by (v + k) % 4; 3 is in none. */
static inline int random_in_split(int64_t v, int64_t k, int part) {
  return random_label(v) >= 0 && (v + k) % 4 == part;
}

static inline void random_splits(const struct random_graph *g, struct dataset_source *s) {
  s->splits = 2;
  s->split = calloc(2, sizeof *s->split);
  for (int64_t k = 0; k < 2; k++) {
    for (int part = 0; part < SPLIT_COUNT; part++) {
      int64_t *node = calloc((size_t)g->nodes, sizeof *node), count = 0;
      for (int64_t v = 0; v < g->nodes; v++)
        if (random_in_split(v, k, part)) node[count++] = v;
      s->split[k].node[part] = node;
      s->split[k].count[part] = count;
    }
  }
}

static inline void random_nodes(const struct random_graph *g, struct dataset_source *s) {
  size_t n = (size_t)g->nodes;
  s->features = RANDOM_FEATURES;
  s->feature = calloc(n * RANDOM_FEATURES, sizeof *s->feature);
  s->classes = RANDOM_CLASSES;
  if (g->task == TASK_MULTICLASS) s->label = calloc(n, sizeof *s->label);
  if (g->task == TASK_MULTILABEL) s->labels = calloc(n * RANDOM_CLASSES, 1);
  for (int64_t v = 0; v < g->nodes; v++) {
    for (int64_t c = 0; c < RANDOM_FEATURES; c++)
      s->feature[v * RANDOM_FEATURES + c] = random_feature(g, v, c);
    if (s->label) s->label[v] = random_label(v);
    for (int64_t c = 0; s->labels && c < RANDOM_CLASSES; c++)
      s->labels[v * RANDOM_CLASSES + c] = random_labels(v, c);
  }
}

/* Collective. Writes "<name>.<ranks>.h5" and opens it on every rank; arcs are drawn unless g->matrix has
 * them. */
static inline void random_dataset(struct comm *comm, struct random_graph *g, const char *name,
                                  struct dataset *dataset) {
  char path[256];
  snprintf(path, sizeof path, "%s.%d.h5", name, comm->size);
  if (!g->matrix) random_matrix(g);
  if (comm->rank == 0) {
    remove_all(path, ".parts"); /* of a run that was cut off */
    struct dataset_source s = {.nodes = g->nodes, .task = g->task, .directed = g->directed, .name = "random"};
    random_rows(g, &s);
    random_nodes(g, &s);
    random_splits(g, &s);
    assert_ok(dataset_write(&s, path));
    dataset_source_free(&s);
  }
  assert_ok(comm_barrier(comm));
  assert_ok(dataset_open(dataset, path));
}

static inline void random_end(struct comm *comm, struct random_graph *g, struct dataset *dataset) {
  char path[2100];
  snprintf(path, sizeof path, "%s", dataset->h5.path);
  assert_ok(comm_barrier(comm));
  dataset_close(dataset);
  if (comm->rank == 0) remove_all(path, ""), remove_all(path, ".parts");
  free(g->matrix);
  g->matrix = NULL;
}

/* Collective. This rank's block of rows. */
static inline void random_block_of_rows(struct comm *comm, struct dataset *dataset, struct graph *block) {
  int64_t first = graph_block(dataset->nodes, comm->size, comm->rank);
  int64_t last = graph_block(dataset->nodes, comm->size, comm->rank + 1);
  assert_ok(graph_read(dataset, first, last - first, block));
}

/* A test that runs twice: as always, and with rows that travel in many rounds and pieces. */
#define TEST_ALSO_IN_BLOCKS(name, bytes)       \
  static void name(void **);                   \
  static void name##_in_blocks(void **state) { \
    int64_t usual = row_shuffle_block;         \
    row_shuffle_block = (bytes);               \
    name(state);                               \
    row_shuffle_block = usual;                 \
  }                                            \
  REGISTER_TEST(name##_in_blocks)              \
  TEST(name)

#endif
