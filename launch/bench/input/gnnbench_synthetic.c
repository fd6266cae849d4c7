/* Graphs that benchmarks make for themselves: of the sizes of published ones, a union of cliques, and small
 * ones of each size, degree and kind. */
#include "io/synth/synth.h"
#include "launch/bench/bench.h"
#include "launch/bench/input/gnnbench_cliques.h"

static const struct synthetic {
  const char *name;
  int64_t nodes;
  double degree;
  int64_t community_size;
  double inside, community_power;
  double power; /* of the weights of nodes */
  int rmat, shuffle;
} synthetic[] = {
    {"arxiv-like", 169343, 14.65, 1000, .65, 0, .45, 0, 0},
    {"amazon0601-like", 403394, 12.6, 300, .70, 0, .45, 0, 0},
    {"reddit-like", 232965, 492.3, 4000, .75, 0, .45, 0, 0},
    {"products-like", 2449029, 53.5, 2000, .80, 0, .45, 0, 0},
    {"rmat", 1 << 20, 30.52, 1000, .75, 0, .45, 1, 0},
    {"community-power", 1000000, 50, 1000, .75, 2, .45, 0, 1},
};
/* 24.2 M arcs; the collaborations of COLLAB (Yanardag and Vishwanathan, KDD 2015) are so many and so large.
 */
static const struct cliques cliques = {5000, 20, 500, 2.53};

/* Small graphs: arcs drawn evenly from all nodes, mostly from a community of near ones, or by weights that
 * make hubs. */
static const struct {
  const char *name;
  double inside, power;
} kinds[] = {{"even", 0, 0}, {"near", .8, 0}, {"hubs", 0, .45}};
static const struct {
  const char *name;
  int64_t arcs;
} sizes[] = {{"10k", 10000}, {"30k", 30000}, {"100k", 100000}, {"300k", 300000}, {"1m", 1000000}};
static const int64_t degrees[] = {4, 16, 64};
enum {
  MADE = sizeof synthetic / sizeof synthetic[0],
  CLIQUES = MADE,
  SMALL, /* the first of them */
  KINDS = sizeof kinds / sizeof kinds[0],
  DEGREES = sizeof degrees / sizeof degrees[0],
  ALL = SMALL + KINDS * DEGREES * (int)(sizeof sizes / sizeof sizes[0])
};

static const char *name_of_small(int which) {
  static char name[ALL - SMALL][32];
  int i = which - SMALL;
  snprintf(name[i], sizeof name[i], "%s-%s-%d", kinds[i % KINDS].name, sizes[i / KINDS / DEGREES].name,
           (int)degrees[i / KINDS % DEGREES]);
  return name[i];
}

static struct synthetic small_graph(int which) {
  enum { COMMUNITY = 64 };
  int i = which - SMALL;
  int64_t degree = degrees[i / KINDS % DEGREES], arcs = sizes[i / KINDS / DEGREES].arcs;
  int64_t nodes = arcs / degree > 3 * degree ? arcs / degree : 3 * degree;
  return (struct synthetic){.nodes = nodes,
                            .degree = (double)arcs / (double)nodes,
                            .community_size = 4 * degree > COMMUNITY ? 4 * degree : COMMUNITY,
                            .inside = kinds[i % KINDS].inside,
                            .power = kinds[i % KINDS].power};
}

const char *bench_synthetic_name(int which) {
  if (which >= ALL) return NULL;
  if (which >= SMALL) return name_of_small(which);
  return which == CLIQUES ? "cliques" : synthetic[which].name;
}

/* Its number; ALL: there is none of that name. */
static int find(const char *name) {
  int which = 0;
  while (which < ALL && strcmp(bench_synthetic_name(which), name) != 0) which++;
  return which;
}

int bench_is_synthetic(const char *name) {
  return find(name) < ALL;
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

static int make(const struct synthetic *of, struct csr *m) {
  ENDED_BY(dataset_source_free) struct dataset_source source = {0};
  ENDED_BY(synth_features_free) struct synth_features features = {0};
  struct synth synth;
  synth_default(&synth);
  synth.nodes = of->nodes;
  synth.degree = of->degree;
  synth.features = synth.classes = 1;
  synth.community_size = of->community_size;
  synth.community_power = of->community_power;
  synth.inside = of->inside;
  synth.power = of->power;
  synth.rmat = of->rmat;
  synth.shuffle = of->shuffle;
  TRY(synth_make(&synth, &source, &features));
  return take_rows(&source, m);
}

int bench_synthetic_graph(const char *name, struct csr *m) {
  int which = find(name);
  if (which == CLIQUES) return bench_cliques(&cliques, m);
  const struct synthetic of = which < MADE ? synthetic[which] : small_graph(which);
  return make(&of, m);
}
