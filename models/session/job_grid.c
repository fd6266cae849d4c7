#include "models/session/job_grid.h"

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
  *stands = comm->nodes > 1 && comm->local_size > 1 && comm->size == comm->nodes * comm->local_size &&
            comm->rank % comm->local_size == comm->local_rank;
  return comm_reduce(comm, stands, 1, NUMBER_INT64, REDUCE_MIN);
}

/* Rows that come to all ranks, for each node. */
static double halo_rows(const struct partition *partition) {
  int64_t rows = 0;
  for (int p = 0; p < partition->parts; p++) rows += partition->halo[p];
  return (double)rows / (double)larger(partition->nodes, 1);
}

int job_grid_choose(const struct config *config, struct comm *comm, const struct model_type *type,
                    const struct partition *partition, int64_t arc_bytes, int64_t memory, struct grid *grid) {
  const double halo = halo_rows(partition);
  int64_t stands = 0;
  if (strcmp(config->partition.grid, "auto") != 0 || !model_type_slices(type, config)) return OK;
  TRY(stands_by_hosts(comm, &stands));
  TRY(comm_reduce(comm, &memory, 1, NUMBER_INT64, REDUCE_MIN));
  if (!stands || halo < GRID_HALO || arc_bytes / comm->nodes > memory / 4) return OK;
  *grid = (struct grid){comm->nodes, comm->local_size};
  log_detail(
      "grid: %dx%d, a part of the graph for each host and a slice of the columns for each of its ranks: "
      "parts for ranks would have %.1f halo rows for each of their own",
      grid->rows, grid->cols, halo);
  return OK;
}
