#include "models/session/needs.h"

#include "models/program/program.h"
#include "runtime/base/base.h"
#include "runtime/base/tensor.h"

/* Headers may claim anything: products that no memory has end here. */
static int64_t bytes_of(int64_t rows, int64_t cols, int64_t each) {
  const double most = (double)(INT64_MAX >> 8), bytes = (double)rows * (double)cols * (double)each;
  return bytes < most ? rows * cols * each : INT64_MAX >> 8;
}

static enum dtype dtype_of(enum precision precision) {
  return precision == PRECISION_FP64 ? F64 : precision == PRECISION_BF16 ? BF16 : F32;
}

/* Of sparse rows columns and values, where all are computed on the host also of their transpose, on a GPU in
 * whichever width. Dense ones on a host become what the processor computes in: the file's floats are given
 * back, or are it. */
static void add_features(const struct dataset *d, enum dtype dtype, int all, struct estimate *host,
                         struct estimate *device) {
  int64_t each = dtype_bytes(dtype), wide = host == device && each > 4 ? each : 4;
  estimate_add(host, "features",
               d->sparse ? bytes_of(d->rows[FEATURE_ROWS].entries, all ? 2 : 1, 8)
                         : bytes_of(d->nodes, d->features, wide));
  if (host == device) return;
  estimate_add(device, "features",
               d->sparse ? bytes_of(d->rows[FEATURE_ROWS].entries, 1, all ? 6 : 0)
                         : bytes_of(d->nodes, d->features, each));
}

/* Columns, row offsets and weights; on a GPU dense tiles may need a bit an arc, but keep weights. */
static void add_graph(const struct dataset *d, int hypergraph, struct estimate *host,
                      struct estimate *device) {
  int weighted = d->weighted && !hypergraph;
  int64_t arcs = hypergraph ? d->incidences : d->edges;
  estimate_add(host, "the graph", bytes_of(arcs, 1, weighted ? 8 : 4) + bytes_of(d->nodes, 1, 8));
  if (weighted && host != device) estimate_add(device, "the graph", bytes_of(arcs, 1, 4));
}

/* Hidden layers whose outputs are there at once in all rows: for the backward those of all; where they may
 * wait elsewhere, what a layer reads and writes; in an evaluation the last one's. */
static int64_t outputs_at_once(const struct config *config, int on_host) {
  const int64_t hidden = config->model.layers - 1;
  const int waits = !on_host && config->runtime.offload != OFFLOAD_NONE;
  return config->runtime.rows != ROWS_ALL ? smaller(hidden, 1) : waits ? smaller(hidden, 2) : hidden;
}

/* What every layer leaves for the one above it; values, gradients and moments of the first layer's weight,
 * and their copies for checkpoints. */
void needs_add(const struct config *config, const struct dataset *d, int hypergraph, int ranks,
               struct estimate *host, struct estimate *device) {
  enum dtype dtype = dtype_of(config->runtime.precision);
  int64_t real = dtype == F64 ? 8 : 4,
          hidden = outputs_at_once(config, host == device) * config->model.hidden;
  int64_t weights = bytes_of(d->features, config->model.layers > 1 ? config->model.hidden : d->classes,
                             ranks);
  add_features(d, dtype, config->runtime.rows == ROWS_ALL, host, device);
  add_graph(d, hypergraph, host, device);
  estimate_add(device, "outputs of layers",
               bytes_of(d->nodes, hidden, dtype_bytes(dtype)) +
                   smaller(bytes_of(d->nodes, d->classes, real), ranks * chunk_bytes));
  estimate_add(device, "parameters and optimiser", bytes_of(weights, 4, real));
  estimate_add(host, "parameters and optimiser", bytes_of(weights, 5, 8));
}

int needs_check(const struct estimate *least, const char *kind, int ranks, int64_t there) {
  int64_t total = estimate_total(least);
  char parts[512], needed[16], present[16];
  if (total <= there) return OK;
  estimate_text(least, 0, parts, sizeof parts);
  FAIL(FAILED,
       "out of %s: training takes at least %s on %d rank%s together (%s), but %s are there; use more %s, "
       "a smaller model.hidden or fewer model.layers",
       kind, memory_text(total, needed), ranks, ranks == 1 ? "" : "s", parts, memory_text(there, present),
       strcmp(kind, "memory") == 0 ? "nodes" : "ranks, runtime.precision = \"bf16\"");
}
