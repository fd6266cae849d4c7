/* job_grid: which grid of ranks a run takes (partition/graph/grid.h). */
#ifndef MODELS_SESSION_JOB_GRID_H
#define MODELS_SESSION_JOB_GRID_H

#include "models/layers/types.h"
#include "partition/graph/partition.h"
#include "runtime/comm/comm.h"
#include "runtime/config/config.h"

/* The grid that partition.grid asks for; of "auto" ranks x 1, which job_grid_choose may replace. Errors:
 * BAD_INPUT for one of another number of ranks, and for slices where the model wants whole rows. */
int job_grid_read(const struct config *config, int ranks, const struct model_type *type, struct grid *grid);

/* Rows that ranks receive for each of their own, from which on slices are worth their cost. */
enum { GRID_HALO = 3 };

/* Collective. With "auto", where a partition into as many parts as ranks has been made: whether the run takes
 * hosts x ranks of a host instead, into *grid. Between hosts then travel the rows that a host needs, once, in
 * slices, in place of those that each of its ranks needs. So where there are several hosts of as many ranks,
 * which stand together, the ranks would receive GRID_HALO rows for each of their own, and the arcs of a host
 * take no more than a quarter of `memory` (of a rank, bytes). A line says so. */
int job_grid_choose(const struct config *config, struct comm *comm, const struct model_type *type,
                    const struct partition *partition, int64_t arc_bytes, int64_t memory, struct grid *grid);

#endif
