#include "launch/bench/input/gnnbench_cliques.h"

#include <math.h>

#include "runtime/base/base.h"
#include "runtime/base/random.h"

/* By inverting the distribution of s^-power between the bounds. */
static int64_t size_of(const struct cliques *c, int64_t clique) {
  const struct philox_key key = random_key(1, 0, 2, RANDOM_SYNTH_DEGREE);
  struct philox_block block = random_block(key, (uint64_t)clique, 0);
  double unit = random_unit_double(block.word[0], block.word[1]), least = pow((double)c->least, 1 - c->power);
  double most = pow((double)c->most, 1 - c->power);
  return (int64_t)(pow(least + unit * (most - least), 1 / (1 - c->power)) + .5);
}

/* The clique of nodes [first, end): each has an arc to all others. Its arcs begin at `arcs`. */
static void fill_clique(struct csr *m, int64_t first, int64_t end, int64_t arcs) {
  for (int64_t v = first; v < end; v++) {
    for (int64_t u = first; u < end; u++)
      if (u != v) m->col[arcs++] = (int32_t)u;
    m->start[v + 1] = arcs;
  }
}

/* node, arc: [count + 1] where each clique begins. */
static int fill(const struct cliques *c, const int64_t *node, const int64_t *arc, struct csr *m) {
  TRY(csr_init(m, node[c->count], node[c->count], arc[c->count], 0));
#pragma omp parallel for schedule(dynamic, 16)
  for (int64_t i = 0; i < c->count; i++) fill_clique(m, node[i], node[i + 1], arc[i]);
  return OK;
}

int bench_cliques(const struct cliques *c, struct csr *m) {
  FREED int64_t *node = NULL, *arc = NULL;
  TRY(memory_arrays("nodes and arcs of cliques", ROOM(&node, c->count + 1), ROOM(&arc, c->count + 1)));
  for (int64_t i = 0; i < c->count; i++) {
    int64_t size = size_of(c, i);
    node[i + 1] = node[i] + size;
    arc[i + 1] = arc[i] + size * (size - 1);
  }
  return fill(c, node, arc, m);
}
