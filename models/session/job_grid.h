/* job_grid: which grid of ranks a run takes (partition/graph/grid.h). */
#ifndef MODELS_SESSION_JOB_GRID_H
#define MODELS_SESSION_JOB_GRID_H

#include "io/dataset/dataset.h"
#include "models/layers/types.h"
#include "partition/graph/grid_cost.h"
#include "partition/graph/partition.h"
#include "runtime/comm/comm.h"
#include "runtime/config/config.h"

/* The grid that partition.grid asks for; of "auto" ranks x 1, which job_grid_choose may replace. Errors:
 * BAD_INPUT for one of another number of ranks, and for slices where the model wants whole rows. */
int job_grid_read(const struct config *config, int ranks, const struct model_type *type, struct grid *grid);

/* What a rank of the model sums in an epoch, of a graph that has been cut into as many parts as there are
 * ranks. */
struct grid_work job_grid_work(const struct config *config, const struct model_type *type,
                               const struct dataset *dataset, const struct partition *partition);

/* Collective. With "auto", where a partition into as many parts as ranks has been made: the grid that is
 * predicted to take least (grid_cost_least), into *grid, the same on all ranks; rank 0 decides. Parts alone
 * where the model wants whole rows, where labels are of whole graphs, and where hosts have not as many ranks
 * each that follow each other. machine: of rank 0, with its own memory. A line says so and what it takes. */
int job_grid_choose(const struct config *config, struct comm *comm, const struct dataset *dataset,
                    const struct partition *partition, const struct grid_machine *machine, struct grid *grid);

/* Collective. Whether rows between hosts are predicted to come sooner where they travel to each host once
 * (grid_cost_relays), the same on all ranks; rank 0 decides. Where hosts have not as many ranks each that
 * follow each other, always where that may be. machine: as above. */
int job_grid_relays(const struct config *config, struct comm *comm, const struct dataset *dataset,
                    const struct partition *partition, const struct grid_machine *machine, struct grid grid,
                    int *relays);

#endif
