#include "models/core/propagation/forecast.h"

#include <math.h>

#include "kernels/cost/cost_attention.h"
#include "kernels/format/row_segments.h"
#include "kernels/format/tiles.h"
#include "partition/graph/grid_cost.h"
#include "runtime/base/base.h"

enum { SAMPLES = 16, SAMPLE = 1 << 17 /* entries of each that are looked at */ };

/* The density of m, taken from that of a few of its rows. */
static int sample_density(const struct csr *m, int threads, struct density *density) {
  const int64_t rows = larger(m->rows / SAMPLES / TILE_ROWS * TILE_ROWS, 1);
  const int64_t wanted = larger((int64_t)SAMPLE * m->rows / larger(m->nnz, 1) / TILE_ROWS, 1) * TILE_ROWS;
  double looked_at = 0;
  *density = (struct density){.rows = m->rows, .cols = m->cols};
  for (int64_t first = 0; first < m->rows; first += rows) {
    const int64_t end = smaller(first + smaller(rows, wanted), m->rows);
    const struct csr part = {
        .rows = end - first, .cols = m->cols, .start = m->start + first, .col = m->col, .near = m->near};
    struct density here;
    TRY(tiles_density(&part, threads, &here));
    density_add(density, &here);
    looked_at += (double)(m->start[end] - m->start[first]);
  }
  const double times = looked_at > 0 ? (double)m->nnz / looked_at : 0;
  for (int b = 0; b < DENSITY_BINS; b++) {
    density->cells[b] = llround(times * (double)density->cells[b]);
    density->arcs[b] = llround(times * (double)density->arcs[b]);
    density->windows[b] = llround(times * (double)density->windows[b]);
  }
  return OK;
}

int forecast_product(const struct propagation *p, const struct run *run, const struct csr *m,
                     const struct layout_plan *plan, struct forecast *forecast) {
  const int threads = run->device->threads;
  struct density density;
  forecast->product = (struct cost_case){.model = cost_model_of(run->device->name),
                                         .precision = run->config->runtime.precision,
                                         .width = plan->width,
                                         .weighted = m->weight != NULL};
  if (p->attends.on) {
    forecast->attention = cost_attention(forecast->product.model, larger(plan->scores.heads, 1));
    forecast->product.model = &forecast->attention;
  }
  TRY(sample_density(m, threads, &density));
  const struct cost_case *c = &forecast->product;
  forecast->choice = plan->tiers == LAYOUT_AUTO    ? choose(c, &density)
                     : plan->tiers == LAYOUT_TILES ? cost_divided(c, &density, cost_tile_least(c, m->cols))
                                                   : cost_divided(c, &density, TILE_CELLS + 1);
  return OK;
}

int64_t forecast_row_bytes(const struct run *run, int64_t width) {
  return tensor_bytes(tensor_packed((struct tensor){.dtype = run->kernels->dtype, .rows = 1}, width));
}

/* Of one exchange, rows of so many bytes. */
static double exchange_seconds(const struct network *network, int rank, const struct halo *halo,
                               int64_t row) {
  for (int p = 0; p < halo->peers; p++) {
    const struct halo_peer *peer = &halo->peer[p];
    halo->send[p] = (struct message){peer->rank, NULL, row * peer->sent.count};
    halo->recv[p] = (struct message){peer->rank, NULL, row * peer->came.count};
  }
  return network_exchange_seconds(network, rank, halo->send, halo->peers, halo->recv, halo->peers);
}

double forecast_hiding(const struct run *run, const struct halo *halo, int64_t width) {
  struct network network = grid_cost_network(cost_model_of(run->device->name), run->comm->local_size);
  const struct halo_relay *relay = halo->relay;
  const int64_t row = forecast_row_bytes(run, width);
  const int rank = run->comm->rank;
  if (network.stored.byte > 0) network.within = network.stored; /* by messages the same rows are late */
  const double seconds = relay ? exchange_seconds(&network, rank, &relay->first, row) +
                                     exchange_seconds(&network, rank, &relay->second, row)
                               : exchange_seconds(&network, rank, halo, row);
  return (1 - network.beside) * seconds;
}

/* Reals of a row between two parts, over its width: attention keeps y and positive there, then dx. */
static const double SUMS_OF_ATTENTION = 1.5;

double forecast_sums(const struct propagation *p, const struct run *run, const struct forecast *forecast,
                     int64_t rows, int64_t all) {
  const struct cost_model *model = forecast->product.model;
  const double row = (p->attends.on ? SUMS_OF_ATTENTION : 1) * (double)forecast->product.width *
                     (double)dtype_bytes(run->kernels->real),
               beyond = log(row * (double)all / model->cached_bytes) /
                        log(model->distant_bytes / model->cached_bytes);
  return 1e-12 * (double)rows * 2 * row * model->pass.byte * fmin(fmax(beyond, 0), 1);
}

double forecast_kernel(const struct forecast *forecast) {
  const struct cost_model *model = forecast->product.model;
  return 1e-12 * (model->start.launch + model->start.kernel);
}

int forecast_cuts(const struct run *run, const struct csr *m, int64_t width) {
  const struct row_segments_plan cuts = {.row_bytes = width * dtype_bytes(run->kernels->dtype)};
  return row_segments_foresee(m, &cuts).cut != 0;
}

double forecast_pieces(const struct forecast *forecast) {
  return 1e-12 * forecast->product.model->start.pieces;
}
