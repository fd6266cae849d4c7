#include "models/plan/lone_rank.h"

#include "models/core/features.h"
#include "runtime/base/base.h"

static int read_data(struct lone_rank *lone, struct job *job, const struct device *device) {
  struct shard *shard = &lone->shard;
  if (device->ops->stores_nothing)
    return shard_read_outline(&lone->comm, &job->dataset, &lone->directory, shard);
  return shard_read_data(&lone->comm, &job->dataset, &lone->directory,
                         features_normalized_as_read(&job->config), shard);
}

static int add_relays(struct lone_rank *lone, const struct job *job) {
  FREED uint8_t *near = NULL;
  const struct shard_whole whole = {&job->block, &job->levels.levels};
  TRY(memory_arrays("peers", ROOM(&near, lone->comm.size)));
  if (job->config.runtime.exchange == EXCHANGE_AUTO) TRY(comm_reach_find(&lone->comm, near));
  return shard_add_relays(&lone->comm, &lone->directory, near, &whole, &lone->shard);
}

static int make_shard(struct lone_rank *lone, struct job *job, const struct device *device) {
  struct comm *comm = &lone->comm;
  TRY(directory_init(comm, &job->partition, &lone->directory));
  TRY(shard_init(comm, &job->dataset, &lone->directory, &job->block,
                 model_type_loops(job->type, &job->config), &lone->shard));
  TRY(shard_add_levels(comm, &lone->directory, &job->levels.levels, &lone->shard));
  if (job->relays) TRY(add_relays(lone, job));
  TRY(read_data(lone, job, device));
  return shard_read_split(comm, &job->dataset, &lone->directory, job->config.dataset.split, &lone->shard);
}

int lone_rank_divide(struct job *job, const struct grid_machine *machine, uint64_t hash) {
  ENDED_BY(comm_close) struct comm ranks = {0};
  TRY(comm_lone_open(&ranks, &job->comm, 0, job->ranks, &machine->network));
  TRY(job_divide(job, &ranks, machine, hash));
  return job_levels_order_all(&job->levels, &job->partition);
}

int lone_rank_init(struct lone_rank *lone, struct job *job, int rank, const struct network *network,
                   struct device *device, struct kernels *kernels) {
  *lone = (struct lone_rank){0};
  TRY(comm_lone_open(&lone->comm, &job->comm, rank, job->ranks, network));
  comm_lone_attach(&lone->comm, device);
  TRY(make_shard(lone, job, device));
  lone->run = (struct run){.config = &job->config,
                           .comm = &lone->comm,
                           .device = device,
                           .kernels = kernels,
                           .dataset = &job->dataset,
                           .directory = &lone->directory,
                           .shard = &lone->shard};
  return trainer_init(&lone->trainer, &lone->run);
}

void lone_rank_free(struct lone_rank *lone) {
  if (lone->run.comm) trainer_free(&lone->trainer, &lone->run);
  shard_free(&lone->shard);
  directory_free(&lone->directory);
  comm_close(&lone->comm);
  *lone = (struct lone_rank){0};
}
