/* lone_rank: one rank's share of a job, trained without the other ranks: what an epoch of it takes on a GPU,
 * real or simulated, where there are not as many as the job would have. */
#ifndef MODELS_PLAN_LONE_RANK_H
#define MODELS_PLAN_LONE_RANK_H

#include "models/session/job.h"
#include "runtime/comm/comm_lone.h"

struct lone_rank {
  struct comm comm;
  struct directory directory;
  struct shard shard;
  struct trainer trainer;
  struct run run;
};

/* job_divide, and the order by levels, among ranks of hosts of which there are none: machine->network says
 * how they would be connected. */
int lone_rank_divide(struct job *job, const struct grid_machine *machine, uint64_t hash);

/* Rank `rank` of job->ranks. The job has been read and divided by one process; it keeps its graph,
 * the device and the kernels, which outlive *lone. The trainer is not started. Of a device that stores
 * nothing features are not read. Errors: BAD_INPUT for a hypergraph; what set-up says. */
int lone_rank_init(struct lone_rank *lone, struct job *job, int rank, const struct network *network,
                   struct device *device, struct kernels *kernels);
void lone_rank_free(struct lone_rank *lone);

#endif
