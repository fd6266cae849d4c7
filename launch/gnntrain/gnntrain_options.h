/* The command line of gnntrain, and the banner. */
#ifndef LAUNCH_GNNTRAIN_GNNTRAIN_OPTIONS_H
#define LAUNCH_GNNTRAIN_GNNTRAIN_OPTIONS_H

#include "launch/gnntrain/gnntrain_plan.h"
#include "models/session/job.h"

/* What the command line asks for. */
struct command_line {
  const char *config;
  const char *topic;    /* of --help; NULL: all */
  const char *set[256]; /* "section.key=VALUE", in order */
  int set_count;
  int resume, resume_newest, check, dry_run, profile, quiet, verbose, help, version;
  const char *checkpoint; /* of --resume=FILE; "" */
  const char *evaluate, *predict, *export, *out;
  struct plan_wish plan;           /* ranks NULL: none is wanted */
  char assignment[2][CONFIG_TEXT]; /* storage for --epochs and --device */
};

/* Errors: BAD_INPUT naming the argument. */
int command_line_read(struct command_line *line, int argc, char **argv);
/* Errors: BAD_INPUT for a topic that is no setting and no section. */
int command_line_help(const struct command_line *line);

/* Errors: BAD_INPUT where the configuration's dataset is not there and its comments say how it is made: with
 * the line of gnndata that they have. */
int check_dataset_is_made(const struct config *config);

/* What is about to be done, in at most twelve lines: graph, model, ranks, partition and memory; details where
 * they are shown. Nothing but details for --eval and --predict. Collective. */
int print_banner(struct job *job, const struct command_line *line);
/* Of all that, and of memory by parts, what log_detail says. Collective. */
int print_details(struct job *job);

#endif
