#include "partition/graph/grid_cost.h"

#include <math.h>

#include "runtime/base/base.h"

/* What another grid than P x 1 has to save: compared with P x 1, grids of GPUs that were measured took up to
 * a sixth longer than predicted. Between hosts, processors took less. */
static const double MARGIN = .2;

static double margin(const struct grid_machine *machine, int ranks) {
  return machine->model->of_a_thread && ranks > machine->network.local_size ? 0 : MARGIN;
}

/* Own rows are read and written by each: slices packed, sums unpacked, the epilogue. */
enum { PASSES = 6 };

/* Seconds of the first byte between hosts, by InfiniBand: MPI and NCCL take 10 to 30 us. */
static const double usual_start = 30e-6;

/* Bytes a second of a GPU between hosts, unless told otherwise: a port of 400 Gbit/s for each. */
static const double usual_rate = 50e9;

static struct network_link link_of(const struct cost_exchange *measured, double share) {
  return (struct network_link){measured->start * 1e-12, measured->byte * 1e-12 * share,
                               measured->reduce_start * 1e-12, measured->reduce_byte * 1e-12 * share};
}

struct network grid_cost_network(const struct cost_model *model, int local_size) {
  struct network network = {.within = link_of(&model->exchange, 1),
                            .between = link_of(&model->between, model->of_a_thread ? local_size : 1),
                            .beside = model->exchange.beside,
                            .local_size = local_size,
                            .stored = link_of(&model->stores, 1)};
  if (!(network.between.byte > 0))
    network.between = (struct network_link){usual_start, 1 / usual_rate, usual_start, 0};
  return network;
}

/* Arcs of a node that, drawn at random, lead to `halo` of so many other parts in the mean; and back. */
static double drawn_arcs(double halo, double parts) {
  static const double most = 1 - 1e-6; /* of all parts */
  return -parts * log(1 - fmin(halo / parts, most));
}
static double drawn_halo(double arcs, double parts) {
  return parts * (1 - exp(-arcs / parts));
}

double grid_cost_halo(const struct grid_work *work, int ranks, int parts) {
  if (parts >= ranks || ranks < 2) return work->halo;
  if (parts == 1) return 0;
  const double others = ranks - 1, fewer = parts - 1, drawn = drawn_arcs(work->halo, others),
               cut = work->cut * (double)work->arcs / (double)larger(work->nodes, 1),
               share = pow(drawn < cut ? drawn / cut : 1, 1.5),
               shapeless = (1 - 1. / parts) / (1 - 1. / ranks), shaped = pow(fewer / others, .7);
  return drawn_halo(drawn * (share * shapeless + (1 - share) * shaped), fewer);
}

/* Bytes of a number that travels. */
static double number_bytes(enum precision precision) {
  return precision == PRECISION_BF16 ? 2 : precision == PRECISION_FP64 ? 8 : 4;
}

/* What a rank exchanges with: ranks of its row, or column, of the grid, and how many of these are on other
 * hosts; the mean of all ranks. */
struct peers {
  double count, far;
};

/* Ranks of [first, first + count) that stand in that column. */
static int in_column(int first, int count, int column, int cols) {
  const int before = first - column + cols - 1;
  return (before + count) / cols - before / cols;
}

static struct peers peers_of(struct grid grid, int local_size, int of_row) {
  const int ranks = grid.rows * grid.cols;
  double far = 0;
  for (int r = 0; r < ranks; r++) {
    const int host = r / local_size * local_size, end = (int)smaller(host + local_size, ranks),
              row = r / grid.cols * grid.cols;
    const int near = of_row ? (int)(smaller(end, row + grid.cols) - larger(host, row))
                            : in_column(host, end - host, r % grid.cols, grid.cols);
    far += (of_row ? grid.cols : grid.rows) - near;
  }
  return (struct peers){(of_row ? grid.cols : grid.rows) - 1, far / ranks};
}

static double link_seconds(const struct network_link *link, double bytes) {
  return bytes > 0 ? link->start + bytes * link->byte : 0;
}

/* Of that many bytes that come from the same host, and from others. */
static double exchange_seconds(const struct network *network, const struct network_link *within, double near,
                               double far) {
  return fmax(link_seconds(within, near), link_seconds(&network->between, far));
}

/* The part of what comes to a rank, from its peers alike, that comes from other hosts. */
static double far_share(struct peers peers) {
  return peers.count > 0 ? peers.far / peers.count : 0;
}

/* Rows of the halo that come to a rank, all of them and those from other hosts, each time that a peer there
 * sends one; and once to a host, of which each of its ranks in a column is the gateway of a share. */
struct arrivals {
  double all, far, once;
  double gateways; /* ranks of a column on a host */
};

/* work->halo: of so many parts. */
static struct arrivals arrivals_of(const struct grid_work *work, int parts, struct grid grid,
                                   int local_size) {
  const struct peers peers = peers_of(grid, local_size, 0);
  const double nodes = (double)work->nodes;
  struct arrivals rows = {.all = nodes / grid.rows * grid_cost_halo(work, parts, grid.rows),
                          .gateways = 1 + peers.count - peers.far};
  const double hosts = grid.rows / rows.gateways;
  rows.far = rows.all * far_share(peers);
  rows.once = hosts > 1 ? nodes / hosts * grid_cost_halo(work, parts, (int)lround(hosts)) / rows.gateways : 0;
  return rows;
}

static const struct network_link *link_within(const struct network *network) {
  return network->stored.byte > 0 ? &network->stored : &network->within;
}

/* Of rows of so many bytes that all come from their owners. */
static double halo_seconds(const struct network *network, const struct arrivals *rows, double row) {
  return exchange_seconds(network, link_within(network), row * (rows->all - rows->far), row * rows->far);
}

/* Of those that come to a host once, and on from its gateways. */
static double relay_seconds(const struct network *network, const struct arrivals *rows, double row) {
  const struct network_link *within = link_within(network);
  return exchange_seconds(network, within, row * (rows->all - rows->far), row * fmin(rows->once, rows->far)) +
         link_seconds(within, row * rows->far * (1 - 1 / rows->gateways));
}

/* Of an arc of a sum that a rank computes. A processor's takes in proportion to its columns, beside its id:
 * on a faster thread 3 M arcs of 8 to 128 columns took .27 to .6 of that. */
static double arc_seconds(const struct grid_work *work, const struct grid_machine *machine, int64_t width,
                          double rows) {
  const struct cost_model *model = machine->model;
  const int64_t narrowest = model->of_a_thread ? larger(width, 32) : width;
  const struct cost_case c = {
      .model = model, .precision = machine->precision, .width = narrowest, .weighted = work->weighted};
  const struct cost_rates rates = cost_rates_of(&c, (int64_t)fmax(rows, 1));
  const double arc = (rates.near + rates.far) / 2 * ((double)width / (double)narrowest);
  if (!model->of_a_thread) return arc * 1e-12;
  return (arc + (double)sizeof(int32_t) * model->result.byte) * 1e-12 / machine->threads;
}

/* Of `kernels` that pass so many bytes together. */
static double pass_seconds(const struct grid_machine *machine, int kernels, double bytes) {
  const struct cost_model *model = machine->model;
  if (model->of_a_thread) return bytes * model->result.byte * 1e-12 / machine->threads;
  return (kernels * model->pass.start + bytes * model->pass.byte) * 1e-12;
}

/* Columns that come to a rank: the mean of those that have a slice, which decide; of all, where ranks share
 * what they wait for, the port of their host. */
static double travelling(const struct grid_machine *machine, struct grid grid, int64_t width) {
  const double all = (double)width / grid.cols, slice = (double)grid_slice(grid, width);
  return machine->model->of_a_thread ? all : (double)width / ceil((double)width / slice);
}

static double halo_row(const struct grid_machine *machine, struct grid grid, int64_t width) {
  return travelling(machine, grid, width) * number_bytes(machine->precision);
}

/* Of all sums together. */
int grid_cost_relays(const struct grid_work *work, const struct grid_machine *machine, struct grid grid,
                     int parts) {
  const struct network *network = &machine->network;
  const struct arrivals rows = arrivals_of(work, parts, grid, network->local_size);
  const double row = halo_row(machine, grid, work->width), top = halo_row(machine, grid, work->topmost),
               others = (double)work->sums - 1;
  if (!machine->relays || work->sums == 0 || !(rows.far > 0) || rows.gateways <= 1) return 0;
  return others * relay_seconds(network, &rows, row) + relay_seconds(network, &rows, top) <
         others * halo_seconds(network, &rows, row) + halo_seconds(network, &rows, top);
}

static struct grid_seconds sum_seconds(const struct grid_work *work, const struct grid_machine *machine,
                                       struct grid grid, int64_t width) {
  const struct network *network = &machine->network;
  const int ranks = grid.rows * grid.cols;
  const double bytes = number_bytes(machine->precision), cols = travelling(machine, grid, width),
               own = (double)work->nodes / ranks, part = own * grid.cols,
               halo = part * grid_cost_halo(work, ranks, grid.rows),
               inner = 1 - work->cut * (1 - 1. / grid.rows) / (1 - 1. / ranks);
  const double product = (double)work->arcs / grid.rows *
                         arc_seconds(work, machine, grid_slice(grid, width), part + halo);
  const struct arrivals rows = arrivals_of(work, ranks, grid, network->local_size);
  const double came = grid_cost_relays(work, machine, grid, ranks)
                          ? relay_seconds(network, &rows, cols * bytes)
                          : halo_seconds(network, &rows, cols * bytes);
  const double hidden = machine->overlaps ? fmin(came, inner * product) - network->beside * came : 0;
  struct grid_seconds seconds = {came, product + came - hidden};
  if (grid.cols == 1) return seconds;
  const double slice = own * (grid.cols - 1) * cols * bytes,
               far = slice * far_share(peers_of(grid, network->local_size, 1)),
               slices = exchange_seconds(network, &network->within, slice - far, far);
  seconds.exchange += 2 * slices;
  seconds.all += 2 * slices + pass_seconds(machine, 2 * grid.cols + 1, PASSES * own * (double)width * bytes);
  return seconds;
}

struct grid_seconds grid_cost(const struct grid_work *work, const struct grid_machine *machine,
                              struct grid grid) {
  if (work->sums == 0 || grid.rows * grid.cols == 1) return (struct grid_seconds){0};
  const struct grid_seconds each = sum_seconds(work, machine, grid, work->width),
                            topmost = sum_seconds(work, machine, grid, work->topmost);
  const double others = (double)work->sums - 1;
  return (struct grid_seconds){2 * (others * each.exchange + topmost.exchange),
                               2 * (others * each.all + topmost.all)};
}

/* P and its transpose. */
static int fits(const struct grid_work *work, const struct grid_machine *machine, struct grid grid) {
  return grid.cols == 1 || 2 * work->arcs * (work->weighted ? 8 : 4) / grid.rows <= machine->memory / 4;
}

struct grid grid_cost_least(const struct grid_work *work, const struct grid_machine *machine, int ranks,
                            struct grid *second) {
  const struct grid parts = {ranks, 1};
  const double by_parts = grid_cost(work, machine, parts).all;
  struct grid best = parts;
  double least = INFINITY;
  for (int cols = 2; cols <= ranks; cols++) {
    const struct grid grid = {ranks / cols, cols};
    if (ranks % cols != 0 || !fits(work, machine, grid)) continue;
    const double seconds = grid_cost(work, machine, grid).all;
    if (seconds >= least) continue;
    least = seconds;
    best = grid;
  }
  const int takes_parts = !(least < (1 - margin(machine, ranks)) * by_parts);
  *second = takes_parts ? best : parts;
  return takes_parts ? parts : best;
}
