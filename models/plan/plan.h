/* plan: what a job would take on other numbers of GPUs, told by one process without any.
 *
 * For each number of ranks the graph is divided as a training would divide it, and the ranks that have most
 * rows, arcs and halo rows are trained for an epoch each, alone, on a simulated GPU: the same shards,
 * programs and messages as in a training, whose kernels and messages last as long as the cost model says.
 * Above PLAN_PARTS ranks an epoch is estimated from those below. */
#ifndef MODELS_PLAN_PLAN_H
#define MODELS_PLAN_PLAN_H

#include "models/session/job.h"
#include "models/train/epoch_breakdown.h"
#include "runtime/comm/comm_lone.h"

enum { PLAN_PARTS = 64, PLAN_MOST = 32 };

struct plan_row {
  int ranks, hosts;
  struct grid grid;
  int estimated;            /* from fewer ranks */
  double ms, evaluation_ms; /* of the slowest rank */
  double part[EPOCH_PARTS]; /* its ms */
  double sent;              /* bytes that leave a rank in an epoch, at most */
  double reduced;           /* bytes that are summed over the ranks */
  int64_t bytes;            /* of the GPU, at most */
};

struct plan {
  const struct cost_model *gpu;
  struct network network;
  int rows;
  struct plan_row row[PLAN_MOST]; /* by ranks; `ranks` is given */
};

/* job->comm is of one rank, and the job open (job_open). Fills plan->row. Errors: BAD_INPUT for what a GPU
 * does not compute, for a hypergraph, and for more ranks than nodes; what set-up says. */
int plan_make(struct plan *plan, struct job *job);

/* The network of --network, "nvlink,400gbit,8": what a GPU sends inside a host, as measured on that GPU or a
 * rate; what it sends between hosts; GPUs of a host. NULL: as measured, between hosts 400 Gbit/s where that
 * was not, and 8. Errors: BAD_INPUT. */
int plan_network(const char *text, const struct cost_model *gpu, struct network *network);

/* GPU-seconds of all epochs and runs. */
double plan_run_seconds(const struct plan_row *row, const struct config *config);

/* The most ranks of the plan up to which each step makes an epoch shorter by plan_pays for twice as many. */
extern const double plan_pays;
int plan_most_that_pay(const struct plan *plan);

#endif
