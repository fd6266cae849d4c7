/* The stages of gnntrain's main, one file each: the command line, the set-up from file to model, the banner. */
#ifndef LAUNCH_GNNTRAIN_H
#define LAUNCH_GNNTRAIN_H

#include "models/trainer.h"

/* What the command line asks for. */
struct command_line {
  const char *config;
  const char *set[256]; /* "section.key=VALUE", in order */
  int set_count;
  int resume, dry_run, profile, help, version;
  const char *checkpoint;            /* of --resume=FILE; "" */
  const char *evaluate, *predict, *out;
  char assignment[3][CONFIG_TEXT];   /* storage for --epochs, --device and their like */
};

/* Errors: BAD_INPUT naming the argument. */
int command_line_read(struct command_line *line, int argc, char **argv);
void command_line_help(void);

/* Everything a run borrows, owned here for the length of main. */
struct job {
  struct command_line line;
  struct config config;
  struct comm comm;
  struct device device;
  struct kernels kernels;
  struct dataset dataset;
  struct graph block; /* this rank's block of rows, until it has become the shard */
  struct partition partition;
  struct shard shard;
  struct trainer trainer;
  struct run run;
  struct estimate estimate;
  char threads[128]; /* how the number of threads was found */
  double seconds_read, seconds_shard;
};

/* Collective. From the configuration to a trainer that has been measured but not allocated; every stage ends
 * in an agreement, so an error ends all ranks with the same code. */
int job_setup(struct job *job);
void job_free(struct job *job);

/* Effective settings, graph, partition and the estimate of memory per rank. Collective. */
int job_banner(struct job *job);

#endif
