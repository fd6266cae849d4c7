/* Graphs that benchmarks make for themselves, of the sizes of published ones. */
#include <stdlib.h>
#include <string.h>

#include "io/synth/synth.h"
#include "launch/bench/bench.h"
#include "runtime/base/error.h"

static const struct synthetic {
  const char *name;
  int64_t nodes;
  double degree;
  int64_t community_size;
  double inside, community_power;
  int rmat, shuffle;
} synthetic[] = {
    {"arxiv-like", 169343, 14.65, 1000, .65, 0, 0, 0},  {"amazon0601-like", 403394, 12.6, 300, .70, 0, 0, 0},
    {"reddit-like", 232965, 492.3, 4000, .75, 0, 0, 0}, {"products-like", 2449029, 53.5, 2000, .80, 0, 0, 0},
    {"rmat", 1 << 20, 30.52, 1000, .75, 0, 1, 0},       {"community-power", 1000000, 50, 1000, .75, 2, 0, 1},
};
enum { MADE = sizeof synthetic / sizeof synthetic[0] };

const char *bench_synthetic_name(int which) {
  return which < MADE ? synthetic[which].name : NULL;
}

static const struct synthetic *find(const char *name) {
  for (int i = 0; i < MADE; i++)
    if (strcmp(synthetic[i].name, name) == 0) return &synthetic[i];
  return NULL;
}

int bench_is_synthetic(const char *name) {
  return find(name) != NULL;
}

/* The rows alone are kept of what is made. */
static int take_rows(struct dataset_source *source, struct csr *m) {
  *m = (struct csr){.rows = source->nodes, .cols = source->nodes, .nnz = source->start[source->nodes]};
  m->start = source->start;
  m->col = source->col;
  source->start = NULL;
  source->col = NULL;
  return OK;
}

int bench_synthetic_graph(const char *name, struct csr *m) {
  const struct synthetic *of = find(name);
  struct dataset_source source = {0};
  struct synth_features features = {0};
  struct synth synth;
  synth_default(&synth);
  synth.nodes = of->nodes;
  synth.degree = of->degree;
  synth.features = 1;
  synth.classes = 2;
  synth.community_size = of->community_size;
  synth.community_power = of->community_power;
  synth.inside = of->inside;
  synth.rmat = of->rmat;
  synth.shuffle = of->shuffle;
  int code = synth_make(&synth, &source, &features);
  if (code == OK) code = take_rows(&source, m);
  synth_features_free(&features);
  dataset_source_free(&source);
  return code;
}
