/* A small dataset for tests: a ring of 12 nodes with a chord, made in host memory. */
#ifndef TESTS_IO_TINY_H
#define TESTS_IO_TINY_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/dataset/dataset.h"

enum { TINY_NODES = 12, TINY_EDGES = 2 * TINY_NODES, TINY_FEATURES = 20, TINY_CLASSES = 3 };

static inline void *tiny_copy(const void *data, size_t bytes) {
  void *copy = malloc(bytes);
  memcpy(copy, data, bytes);
  return copy;
}

/* Every node v has neighbours v - 1 and v + 1; weights (u + v) / 8. */
static inline void tiny_graph(struct dataset_source *s) {
  s->start = calloc(TINY_NODES + 1, sizeof *s->start);
  s->col = calloc(TINY_EDGES, sizeof *s->col);
  s->weight = calloc(TINY_EDGES, sizeof *s->weight);
  for (int v = 0; v < TINY_NODES; v++) {
    int a = (v + TINY_NODES - 1) % TINY_NODES, b = (v + 1) % TINY_NODES;
    s->start[v + 1] = 2 * (v + 1);
    s->col[2 * v] = a < b ? a : b;
    s->col[2 * v + 1] = a < b ? b : a;
    for (int e = 2 * v; e < 2 * v + 2; e++) s->weight[e] = (float)(s->col[e] + v) / 8;
  }
}

/* Four hyperedges of three vertices: e, e + 1 and e + 5. */
static inline void tiny_hypergraph(struct dataset_source *s) {
  s->hyper.edges = 4;
  s->hyper.start = calloc(5, sizeof *s->hyper.start);
  s->hyper.vertex = calloc(12, sizeof *s->hyper.vertex);
  for (int e = 0; e < 4; e++) {
    s->hyper.start[e + 1] = 3 * (e + 1);
    s->hyper.vertex[3 * e] = e;
    s->hyper.vertex[3 * e + 1] = e + 1;
    s->hyper.vertex[3 * e + 2] = e + 5;
  }
}

/* filled: how many of the columns of a row are not zero. */
static inline void tiny_features(struct dataset_source *s, int filled) {
  s->features = TINY_FEATURES;
  s->feature = calloc(TINY_NODES * TINY_FEATURES, sizeof *s->feature);
  for (int v = 0; v < TINY_NODES; v++) {
    for (int c = 0; c < filled; c++)
      s->feature[v * TINY_FEATURES + (v + c) % TINY_FEATURES] = (float)(v + c + 1) / 8;
  }
}

static inline void tiny_splits(struct dataset_source *s, int64_t splits) {
  s->splits = splits;
  s->split = calloc((size_t)splits, sizeof *s->split);
  for (int64_t k = 0; k < splits; k++) {
    for (int p = 0; p < SPLIT_COUNT; p++) {
      s->split[k].count[p] = TINY_NODES / SPLIT_COUNT;
      s->split[k].node[p] = calloc(TINY_NODES, sizeof(int64_t));
      for (int i = 0; i < TINY_NODES / SPLIT_COUNT; i++)
        s->split[k].node[p][i] = SPLIT_COUNT * i + (p + k) % 3;
    }
  }
}

static inline struct dataset_source tiny_source(enum task task, int filled, int64_t splits) {
  struct dataset_source s = {.name = "tiny", .nodes = TINY_NODES, .classes = TINY_CLASSES, .task = task};
  tiny_graph(&s);
  tiny_features(&s, filled);
  tiny_splits(&s, splits);
  if (task == TASK_MULTICLASS) s.label = calloc(TINY_NODES, sizeof *s.label);
  if (task == TASK_MULTILABEL) s.labels = calloc(TINY_NODES * TINY_CLASSES, sizeof *s.labels);
  for (int v = 0; v < TINY_NODES && s.label; v++) s.label[v] = v % TINY_CLASSES;
  for (int i = 0; i < TINY_NODES * TINY_CLASSES && s.labels; i++) s.labels[i] = i % 5 == 0;
  s.names.id = calloc(TINY_NODES, sizeof *s.names.id);
  for (int v = 0; v < TINY_NODES; v++) s.names.id[v] = 1000 - v;
  return s;
}

/* Of a source with one split: two rings of six nodes, each a graph; the first trains, the second validates.
 */
static inline void tiny_graphs(struct dataset_source *s) {
  enum { RING = TINY_NODES / 2 };
  s->graphs.count = 2;
  s->graphs.start = calloc(3, sizeof *s->graphs.start);
  for (int g = 0; g <= 2; g++) s->graphs.start[g] = g * RING;
  for (int v = 0; v < TINY_NODES; v++) {
    int first = v / RING * RING, a = first + (v + RING - 1) % RING, b = first + (v + 1) % RING;
    s->col[2 * v] = a < b ? a : b;
    s->col[2 * v + 1] = a < b ? b : a;
    for (int e = 2 * v; e < 2 * v + 2; e++) s->weight[e] = (float)(s->col[e] + v) / 8;
    if (s->label && v != first) s->label[v] = -1;
  }
  for (int p = 0; p < SPLIT_COUNT; p++) s->split[0].count[p] = p < 2;
  for (int p = 0; p < 2; p++) s->split[0].node[p][0] = p * RING;
}

/* A command of the shell with the folder in place of %1$s. */
static inline int tiny_shell(const char *format, const char *folder) {
  char command[600];
  snprintf(command, sizeof command, format, folder);
  return system(command) == 0 ? OK : FAILED;
}

/* Tests may write to `folder`, an empty one of this process in the working directory. */
static char folder[64];

static inline int tiny_setup(const char *name) {
  snprintf(folder, sizeof folder, "%s.%ld", name, (long)getpid());
  return tiny_shell("rm -rf '%1$s' && mkdir '%1$s'", folder);
}

#define IN_TINY_FOLDER(name)             \
  AFTER_ALL {                            \
    tiny_shell("rm -rf '%1$s'", folder); \
  }                                      \
  BEFORE_ALL {                           \
    return tiny_setup(name);             \
  }                                      \
  struct test

/* The same; `path`, an array of char, becomes that of one file there. */
#define IN_TINY_FILE(name, path)                       \
  AFTER_ALL {                                          \
    tiny_shell("rm -rf '%1$s'", folder);               \
  }                                                    \
  BEFORE_ALL {                                         \
    TRY(tiny_setup(name));                             \
    snprintf(path, sizeof path, "%s/tiny.h5", folder); \
    return OK;                                         \
  }                                                    \
  struct test

#endif
