/* Hypergraphs to measure on: of a dataset, or made; each with one huge hyperedge more, where that is asked
 * for. */
#include "io/dataset_path.h"
#include "io/synth/synth.h"
#include "launch/bench/bench.h"

/* The matrix of so many hyperedges and vertices, with room for the huge one behind the others, of vertices at
 * equal distances. */
static int take_room(struct bench *bench, int64_t hyperedges, int64_t vertices, int64_t incidences,
                     struct csr **edges) {
  int64_t huge = bench->options->hyper.huge;
  if (huge > vertices)
    FAIL(BAD_INPUT, "--huge %lld: there are %lld vertices", (long long)huge, (long long)vertices);
  TRY(bench_csr(bench, hyperedges + (huge > 0), vertices, incidences + huge, 0, edges));
  for (int64_t i = 0; i < huge; i++) (*edges)->col[incidences + i] = (int32_t)(i * vertices / huge);
  (*edges)->start[(*edges)->rows] = incidences + huge;
  return OK;
}

static int read_hyperedges(struct bench *bench, struct dataset *d, const char *path, struct csr **edges) {
  TRY(dataset_path_open_whole(d, path));
  if (d->hyperedges == 0) FAIL(BAD_INPUT, "%s: no /hypergraph to sum over", path);
  TRY(take_room(bench, d->hyperedges, d->nodes, d->incidences, edges));
  TRY(dataset_read_starts(d, HYPER_ROWS, 0, d->hyperedges, (*edges)->start));
  return dataset_read_entries(d, HYPER_ROWS, 0, d->incidences, (*edges)->col, NULL);
}

/* Sizes by a power law, their vertices drawn evenly from all: the worst case for caches. */
static int make_hyperedges(const struct bench_options *options, struct dataset_source *source) {
  ENDED_BY(synth_features_free) struct synth_features features = {0};
  struct synth synth;
  synth_default(&synth);
  synth.nodes = options->nodes;
  synth.hyperedges = options->hyper.hyperedges;
  synth.degree = (double)options->hyper.incidences / (double)options->nodes;
  synth.features = 1;
  synth.classes = 2;
  synth.inside = synth.power = 0;
  return synth_make(&synth, source, &features);
}

static int copy_hyperedges(struct bench *bench, const struct dataset_source *source, struct csr **edges) {
  int64_t incidences = source->hyper.start[source->hyper.edges];
  TRY(take_room(bench, source->hyper.edges, source->nodes, incidences, edges));
  memcpy((*edges)->start, source->hyper.start, (size_t)(source->hyper.edges + 1) * sizeof(int64_t));
  memcpy((*edges)->col, source->hyper.vertex, (size_t)incidences * sizeof(int32_t));
  return OK;
}

int bench_hypergraph(struct bench *bench, struct csr **edges) {
  ENDED_BY(dataset_close) struct dataset dataset = {0};
  ENDED_BY(dataset_source_free) struct dataset_source source = {0};
  const struct bench_options *options = bench->options;
  if (options->dataset) return read_hyperedges(bench, &dataset, options->dataset, edges);
  TRY(make_hyperedges(options, &source));
  return copy_hyperedges(bench, &source, edges);
}
