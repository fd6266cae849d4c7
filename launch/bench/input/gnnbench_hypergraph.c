/* Hypergraphs to measure on: of a dataset, or made; each with one huge hyperedge more, where that is asked
 * for. */
#include <stdlib.h>

#include "io/file/h5.h"
#include "io/synth/synth.h"
#include "launch/bench/bench.h"
#include "runtime/base/error.h"

static int read_hyperedges(struct dataset *d, const char *path, struct csr *edges) {
  TRY(h5_probe(path));
  TRY(dataset_open(d, path));
  if (d->hyperedges == 0) FAIL(BAD_INPUT, "%s: no /hypergraph to sum over", path);
  TRY(csr_init(edges, d->hyperedges, d->nodes, d->incidences, 0));
  TRY(dataset_read_hyper_starts(d, 0, d->hyperedges, edges->start));
  return dataset_read_hyper_vertices(d, 0, d->incidences, edges->col);
}

static int dataset_hyperedges(const char *path, struct csr *edges) {
  struct dataset dataset = {0};
  int code = read_hyperedges(&dataset, path, edges);
  dataset_close(&dataset);
  return code;
}

static int take_hyperedges(const struct dataset_source *source, struct csr *edges) {
  TRY(csr_init(edges, source->hyperedges, source->nodes, source->hyper_start[source->hyperedges], 0));
  for (int64_t e = 0; e <= edges->rows; e++) edges->start[e] = source->hyper_start[e];
  for (int64_t i = 0; i < edges->nnz; i++) edges->col[i] = source->hyper_vertex[i];
  return OK;
}

/* Sizes by a power law, their vertices drawn evenly from all: the worst case for caches. */
static int synthetic_hyperedges(const struct bench_options *options, struct csr *edges) {
  struct dataset_source source = {0};
  struct synth_features features = {0};
  struct synth synth;
  synth_default(&synth);
  synth.nodes = options->nodes;
  synth.hyperedges = options->hyper.hyperedges;
  synth.degree = (double)options->hyper.incidences / (double)options->nodes;
  synth.features = 1;
  synth.classes = 2;
  synth.inside = synth.power = 0;
  int code = synth_make(&synth, &source, &features);
  if (code == OK) code = take_hyperedges(&source, edges);
  synth_features_free(&features);
  dataset_source_free(&source);
  return code;
}

/* One more hyperedge behind the others, of `size` vertices at equal distances. */
static int add_huge(int64_t size, struct csr *edges) {
  struct csr more = {0};
  if (size > edges->cols)
    FAIL(BAD_INPUT, "--huge %lld: there are %lld vertices", (long long)size, (long long)edges->cols);
  TRY(csr_init(&more, edges->rows + 1, edges->cols, edges->nnz + size, 0));
  for (int64_t e = 0; e <= edges->rows; e++) more.start[e] = edges->start[e];
  for (int64_t i = 0; i < edges->nnz; i++) more.col[i] = edges->col[i];
  for (int64_t i = 0; i < size; i++) more.col[edges->nnz + i] = (int32_t)(i * edges->cols / size);
  more.start[more.rows] = more.nnz;
  csr_free(edges);
  *edges = more;
  return OK;
}

int bench_hypergraph(const struct bench_options *options, struct csr *edges) {
  TRY(options->dataset ? dataset_hyperedges(options->dataset, edges) : synthetic_hyperedges(options, edges));
  return options->hyper.huge > 0 ? add_huge(options->hyper.huge, edges) : OK;
}
