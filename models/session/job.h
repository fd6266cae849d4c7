/* job: everything a run borrows, owned in one place, and the way from a configuration to a measured trainer:
 * dataset -> block of the graph -> partition -> shard -> node data -> model, with the device opened
 * meanwhile. */
#ifndef MODELS_SESSION_JOB_H
#define MODELS_SESSION_JOB_H

#include "models/layers/types.h"
#include "models/session/footprint.h"
#include "models/session/job_levels.h"
#include "models/session/startup.h"
#include "partition/graph/grid_cost.h"

struct job {
  struct config config;
  struct comm comm;
  int ranks; /* that train; set beforehand where they are not comm's (lone_rank.h) */
  struct device device;
  struct kernels kernels;
  struct startup startup;
  struct dataset dataset;
  struct graph block;            /* this rank's block of rows, until it has become the shard */
  struct partition partition;    /* of a hypergraph, of its star */
  struct directory directory;    /* of the nodes, of a hypergraph's vertices */
  const struct model_type *type; /* which knows whether it runs on a hypergraph */
  struct grid grid;
  int relays; /* rows between hosts are to travel to each host once */
  struct job_levels levels;
  struct shard shard;
  struct trainer trainer;
  struct run run;
  struct footprint footprint;
  char threads[160]; /* how the number of threads was found */
  struct {
    double read, shard;
  } seconds;
};

/* Collective. Whether the settings alone are sound: types, grid, device. job_setup looks too; this comes
 * before anything is opened. Errors: BAD_INPUT. */
int job_check_settings(struct job *job);
/* Collective. job->comm is open and job->config read. Nothing large is allocated for training yet
 * (trainer_start does); every stage ends in an agreement, so an error ends all ranks with the same code. */
int job_setup(struct job *job);
/* Steps of job_setup, for those who look at something in between or go on in another way. job_open: settings,
 * constants, the dataset's header. job_build: all that is left, of which job_read: this rank's block of the
 * graph, its hash and its levels. job_divide: the partition among job->ranks, which stand on hosts as those
 * of `ranks` and are like `machine` (partition/graph/grid_cost.h), for instance this rank's, job_machine;
 * NULL: "auto" is parts alone. The order is not yet by levels. */
int job_open(struct job *job);
int job_build(struct job *job);
int job_read(struct job *job, uint64_t *hash);
struct grid_machine job_machine(const struct job *job);
int job_divide(struct job *job, struct comm *ranks, const struct grid_machine *machine, uint64_t hash);
/* Collective. Errors: FAILED where the device has less memory left than training will take, naming the parts
 * and the settings that matter. */
int job_check_memory(struct job *job);
/* Collective. A line on how long the device and the transport took to open, beside --profile's regions of the
 * time in which they were waited for. */
int job_print_startup(struct job *job);
/* Everything but comm. */
void job_free(struct job *job);

#endif
