/* gnntrain --plan: what a configuration would take on other numbers of GPUs. */
#ifndef LAUNCH_GNNTRAIN_GNNTRAIN_PLAN_H
#define LAUNCH_GNNTRAIN_GNNTRAIN_PLAN_H

#include "models/plan/plan.h"

/* What the command line says of it. */
struct plan_wish {
  const char *ranks;   /* "1,2,4" */
  const char *gpu;     /* part of its name; NULL: an H200 */
  const char *network; /* "nvlink,400gbit,8"; NULL: this */
  const char *out;     /* the picture; NULL: none */
};

/* Errors: BAD_INPUT naming the option. */
int plan_wish_check(const struct plan_wish *wish);
/* Prints the table, and writes the picture. job->comm is open, of one rank, and job->config read. */
int plan_run(const struct plan_wish *wish, struct job *job);

#endif
