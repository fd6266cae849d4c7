#include "models/session/job_grid.h"

#include <math.h>

#include "runtime/base/base.h"

int job_grid_read(const struct config *config, int ranks, const struct model_type *type, struct grid *grid) {
  TRY(grid_read(config->partition.grid, ranks, grid));
  if (grid->cols > 1 && !model_type_slices(type, config))
    FAIL(BAD_INPUT,
         "partition.grid = \"%s\": model.type = \"%s\"%s wants whole rows of its neighbours; \"%dx1\" is "
         "allowed",
         config->partition.grid, config->model.type,
         strcmp(config->model.type, "sage") != 0      ? ""
         : config->model.aggregator == AGGREGATOR_MIN ? " with model.aggregator = \"min\""
                                                      : " with model.aggregator = \"max\"",
         ranks);
  return OK;
}

/* Whether the ranks of each host are as many, and follow each other. */
static int stands_by_hosts(struct comm *comm, int64_t *stands) {
  *stands = comm->size == comm->nodes * comm->local_size && comm->rank % comm->local_size == comm->local_rank;
  return comm_reduce(comm, stands, 1, NUMBER_INT64, REDUCE_MIN);
}

/* Rows that come to all ranks, for each node. */
static double halo_rows(const struct partition *partition) {
  int64_t rows = 0;
  for (int p = 0; p < partition->parts; p++) rows += partition->halo[p];
  return (double)rows / (double)larger(partition->nodes, 1);
}

/* A sum comes before its product where that makes it narrower (order_steps). */
struct grid_work job_grid_work(const struct config *config, const struct model_type *type,
                               const struct dataset *dataset, const struct partition *partition) {
  const int constant = config->runtime.once && config->model.dropout_input == 0 && !dataset->sparse;
  const struct model_sums sums = model_type_sums(type, config, constant, dataset->classes);
  return (struct grid_work){.nodes = dataset->nodes,
                            .arcs = dataset->edges,
                            .weighted = dataset->weighted,
                            .halo = halo_rows(partition),
                            .cut = (double)partition->edge_cut / (double)larger(dataset->edges, 1),
                            .sums = sums.count,
                            .width = sums.width,
                            .topmost = smaller(llround(sums.top * (double)sums.width), sums.width)};
}

static void say(const struct grid_work *work, const struct grid_machine *machine, struct grid taken,
                struct grid other) {
  const struct grid_seconds least = grid_cost(work, machine, taken), next = grid_cost(work, machine, other);
  log_detail("grid: %dx%d: sums over arcs are predicted to take %.3g ms an epoch, and rows that travel for "
             "them %.3g ms; %dx%d: %.3g and %.3g ms",
             taken.rows, taken.cols, 1e3 * least.all, 1e3 * least.exchange, other.rows, other.cols,
             1e3 * next.all, 1e3 * next.exchange);
}

int job_grid_choose(const struct config *config, struct comm *comm, const struct dataset *dataset,
                    const struct partition *partition, const struct grid_machine *machine,
                    struct grid *grid) {
  const struct model_type *type = NULL;
  struct grid_machine ranks = *machine;
  struct grid other = *grid;
  int64_t stands = 0;
  TRY(comm_agree(comm, model_type_of(config->model.type, &type)));
  if (strcmp(config->partition.grid, "auto") != 0 || !model_type_slices(type, config) ||
      dataset->graphs > 0 || comm->size == 1)
    return OK;
  TRY(stands_by_hosts(comm, &stands));
  TRY(comm_reduce(comm, &ranks.memory, 1, NUMBER_INT64, REDUCE_MIN));
  const struct grid_work work = job_grid_work(config, type, dataset, partition);
  if (!stands || work.sums == 0) return OK;
  if (config->runtime.exchange != EXCHANGE_AUTO) ranks.network.stored = ranks.network.within;
  if (comm->rank == 0) *grid = grid_cost_least(&work, &ranks, comm->size, &other);
  TRY(comm_broadcast(comm, grid, (int64_t)sizeof *grid, 0));
  if (grid->cols != other.cols) say(&work, &ranks, *grid, other);
  return OK;
}

int job_grid_relays(const struct config *config, struct comm *comm, const struct dataset *dataset,
                    const struct partition *partition, const struct grid_machine *machine, struct grid grid,
                    int *relays) {
  const struct model_type *type = NULL;
  int64_t stands = 0, taken = machine->relays;
  TRY(comm_agree(comm, model_type_of(config->model.type, &type)));
  TRY(stands_by_hosts(comm, &stands));
  if (stands) {
    const struct grid_work work = job_grid_work(config, type, dataset, partition);
    taken = grid_cost_relays(&work, machine, grid, partition->parts);
  }
  TRY(comm_broadcast(comm, &taken, (int64_t)sizeof taken, 0));
  *relays = (int)taken;
  return OK;
}
