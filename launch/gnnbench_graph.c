#include <stdlib.h>

#include "launch/gnnbench.h"
#include "runtime/error.h"
#include "runtime/random.h"

static int by_value(const void *a, const void *b) {
  int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
  return (x > y) - (x < y);
}

/* Every row has `degree` neighbours, drawn evenly from all nodes: the worst case for caches. */
static int random_graph(int64_t nodes, int64_t degree, struct csr *m) {
  const struct philox_key key = random_key(1, 0, 0, RANDOM_SYNTH_EDGE);
  TRY(csr_init(m, nodes, nodes, nodes * degree, 0));
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < nodes; v++) {
    int32_t *row = m->col + v * degree;
    m->start[v + 1] = (v + 1) * degree;
    for (int64_t e = 0; e < degree; e++) {
      struct philox_block block = random_block(key, (uint64_t)v, (uint64_t)e);
      row[e] = (int32_t)random_below(block.word[0], block.word[1], (uint64_t)nodes);
    }
    qsort(row, (size_t)degree, sizeof *row, by_value);
  }
  return OK;
}

int bench_graph(const struct bench_options *options, struct csr *m) {
  return random_graph(options->nodes, options->degree, m);
}
