#include "io/dataset_path.h"
#include "launch/bench/bench.h"
#include "partition/graph/graph.h"
#include "runtime/base/random.h"

/* Every row has `degree` neighbours, drawn evenly from all nodes: the worst case for caches. */
static int random_graph(struct bench *bench, int64_t nodes, int64_t degree, struct csr **made) {
  const struct philox_key key = random_key(1, 0, 0, RANDOM_SYNTH_EDGE);
  TRY(bench_csr(bench, nodes, nodes, nodes * degree, 0, made));
  const struct csr *m = *made;
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < nodes; v++) {
    int32_t *row = m->col + v * degree;
    m->start[v + 1] = (v + 1) * degree;
    for (int64_t e = 0; e < degree; e++) {
      struct philox_block block = random_block(key, (uint64_t)v, (uint64_t)e);
      row[e] = (int32_t)random_below(block.word[0], block.word[1], (uint64_t)nodes);
    }
    qsort(row, (size_t)degree, sizeof *row, compare_int32);
  }
  return OK;
}

static int read_graph(struct dataset *dataset, struct graph *graph, const char *path) {
  TRY(dataset_path_open_whole(dataset, path));
  if (!dataset->has_graph) FAIL(BAD_INPUT, "%s: no /graph to multiply with", path);
  return graph_read(dataset, 0, dataset->nodes, graph);
}

static int dataset_graph(const char *path, struct csr *m) {
  struct dataset dataset = {0};
  struct graph graph = {0};
  int code = read_graph(&dataset, &graph, path);
  dataset_close(&dataset);
  *m = (struct csr){.rows = graph.rows,
                    .cols = graph.nodes,
                    .nnz = graph.edges,
                    .start = graph.start,
                    .col = graph.col,
                    .weight = graph.weight};
  return code;
}

int bench_weigh(struct csr *m) {
  if (m->weight) return OK;
  TRY(memory_arrays("weights", ROOM(&m->weight, m->nnz)));
#pragma omp parallel for schedule(static)
  for (int64_t e = 0; e < m->nnz; e++)
    m->weight[e] = (float)((int64_t)((uint64_t)e * 0x9E3779B97F4A7C15 >> 40) % 4095 - 2047) / 2048;
  return OK;
}

const char *bench_graph_name(const struct bench_options *options, int which) {
  if (options->sparse.graphs == 0) return bench_synthetic_name(which);
  return which < options->sparse.graphs ? options->sparse.graph[which] : NULL;
}

int bench_graph_of(struct bench *bench, const char *name, struct csr **m) {
  TRY(bench_new_csr(bench, m));
  return bench_is_synthetic(name) ? bench_synthetic_graph(name, *m) : dataset_graph(name, *m);
}

int bench_graph(struct bench *bench, struct csr **m) {
  const struct bench_options *options = bench->options;
  if (!options->dataset) return random_graph(bench, options->nodes, options->degree, m);
  TRY(bench_new_csr(bench, m));
  return dataset_graph(options->dataset, *m);
}
