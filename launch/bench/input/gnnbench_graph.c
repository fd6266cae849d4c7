#include <stdlib.h>

#include "io/file/h5.h"
#include "launch/bench/bench.h"
#include "partition/graph/graph.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"
#include "runtime/base/random.h"

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

static int read_graph(struct dataset *dataset, struct graph *graph, const char *path) {
  TRY(h5_probe(path));
  TRY(dataset_open(dataset, path));
  if (!dataset->has_graph) FAIL(BAD_INPUT, "%s: no /graph to multiply with", path);
  return graph_read(dataset, 0, dataset->nodes, graph);
}

static int dataset_graph(const char *path, struct csr *m) {
  struct dataset dataset = {0};
  struct graph graph = {0};
  int code = read_graph(&dataset, &graph, path);
  dataset_close(&dataset);
  if (code == OK) {
    *m = (struct csr){.rows = graph.rows, .cols = graph.nodes, .nnz = graph.edges};
    m->start = graph.start;
    m->col = graph.col;
    m->weight = graph.weight;
  } else {
    graph_free(&graph);
  }
  return code;
}

int bench_weigh(struct csr *m) {
  if (m->weight) return OK;
  TRY(memory_alloc(&m->weight, m->nnz * (int64_t)sizeof *m->weight, "weights"));
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < m->nnz; e++)
    m->weight[e] = (float)((int64_t)((uint64_t)e * 0x9E3779B97F4A7C15 >> 40) % 4095 - 2047) / 2048;
  return OK;
}

int bench_graph_of(const char *name, struct csr *m) {
  return bench_is_synthetic(name) ? bench_synthetic_graph(name, m) : dataset_graph(name, m);
}

int bench_graph(const struct bench_options *options, struct csr *m) {
  return options->dataset ? dataset_graph(options->dataset, m)
                          : random_graph(options->nodes, options->degree, m);
}
