#include "launch/gnntrain/gnntrain_plan.h"

#include <ctype.h>
#include <strings.h>

#include "kernels/cost/cost_models.h"
#include "launch/gnntrain/gnntrain_plan_picture.h"
#include "runtime/base/base.h"

enum { RANKS_MOST = 1 << 20 };

static int read_ranks(const char *text, struct plan *plan) {
  const char *at = text;
  for (;;) {
    char *end = NULL;
    const long ranks = isdigit((unsigned char)*at) ? strtol(at, &end, 10) : 0;
    const int before = plan->rows > 0 ? plan->row[plan->rows - 1].ranks : 0;
    if (!end || ranks <= before || ranks > RANKS_MOST || (*end != ',' && *end != '\0'))
      FAIL(BAD_INPUT, "--plan %s: numbers of ranks are wanted, each larger than the one before, as 1,2,4,8",
           text);
    if (plan->rows == PLAN_MOST - 2) FAIL(BAD_INPUT, "--plan: more than %d numbers of ranks", PLAN_MOST - 2);
    plan->row[plan->rows++] = (struct plan_row){.ranks = (int)ranks};
    if (*end == '\0') return OK;
    at = end + 1;
  }
}

static int contains(const char *name, const char *part) {
  for (; *name; name++)
    if (strncasecmp(name, part, strlen(part)) == 0) return 1;
  return 0;
}

static int find_gpu(const char *part, const struct cost_model **gpu) {
  static const struct cost_model *const known[] = {&cost_model_h200, &cost_model_h100};
  for (int i = 0; i < 2; i++) {
    if (!contains(known[i]->name, part)) continue;
    *gpu = cost_model_of(known[i]->name);
    return OK;
  }
  return cost_model_named(part, gpu);
}

/* A file of constants, which may know further GPUs, has not been read yet. */
int plan_wish_check(const struct plan_wish *wish) {
  static struct plan plan; /* large */
  plan = (struct plan){0};
  TRY(read_ranks(wish->ranks, &plan));
  return plan_network(wish->network, &cost_model_h200, &plan.network);
}

static void print_row(const struct plan *plan, const struct plan_row *row, const struct config *config) {
  const struct plan_row *first = &plan->row[0];
  const double speed = first->ms * first->ranks / row->ms;
  char grid[32];
  snprintf(grid, sizeof grid, "%dx%d", row->grid.rows, row->grid.cols);
  log_result("%s%5d %6s %5d %8.3f %8.2f %4.0f%% %8.3f %9.3f %7.3f %8.3f %7.3f %6.3f %8.1f %6.1f %9.1f",
             row->estimated ? "~" : " ", row->ranks, grid, row->hosts, row->ms, speed / first->ranks,
             100 * speed / row->ranks, row->part[EPOCH_OWN], row->part[EPOCH_HALO],
             row->part[EPOCH_GEMM] + row->part[EPOCH_EPILOGUE] + row->part[EPOCH_LOSS],
             row->part[EPOCH_EXCHANGE], row->part[EPOCH_WAIT], row->part[EPOCH_REDUCE], row->sent / 1e6,
             (double)row->bytes / (1 << 30), plan_run_seconds(row, config));
}

static void print_plan(const struct plan *plan, const struct config *config) {
  const struct network *network = &plan->network;
  const int most = plan_most_that_pay(plan);
  int estimates = 0;
  log_result("%s, %s; GB/s of a GPU: %.0f within a host of %d, %.0f between hosts. Predicted, ms an epoch:",
             plan->gpu->name, precision_name[config->runtime.precision], 1e-9 / network->within.byte,
             network->local_size, 1e-9 / network->between.byte);
  log_result(" %5s %6s %5s %8s %8s %5s %8s %9s %7s %8s %7s %6s %8s %6s %9s", "ranks", "grid", "hosts",
             "epoch", "speed-up", "eff.", "own part", "halo part", "dense", "exchange", "wait", "reduce",
             "MB sent", "GiB", "GPU-s/run");
  for (int i = 0; i < plan->rows; i++) {
    print_row(plan, &plan->row[i], config);
    estimates |= plan->row[i].estimated;
  }
  if (estimates)
    log_result("  ~ estimated from %d and %d ranks, without a partition", PLAN_PARTS / 2, PLAN_PARTS);
  for (int i = 0; i < plan->rows; i++)
    if ((double)plan->row[i].bytes > plan->gpu->memory_bytes)
      log_result("  %d rank%s: does not fit into the %.0f GiB of a GPU", plan->row[i].ranks,
                 plan->row[i].ranks == 1 ? "" : "s", plan->gpu->memory_bytes / (1 << 30));
  if (plan->rows == 1) return;
  log_result("  up to %d rank%s an epoch gets shorter by %.0f%% or more for twice as many", most,
             most == 1 ? "" : "s", 100 * plan_pays);
}

static int check_alone(const struct comm *comm) {
  if (comm->size == 1) return OK;
  FAIL(BAD_INPUT, "--plan is one process's work, whatever it plans; run it without mpirun");
}

int plan_run(const struct plan_wish *wish, struct job *job) {
  static struct plan plan; /* large */
  plan = (struct plan){0};
  TRY(comm_agree(&job->comm, check_alone(&job->comm)));
  TRY(read_ranks(wish->ranks, &plan));
  snprintf(job->config.runtime.device, sizeof job->config.runtime.device, "auto"); /* none is used */
  job->ranks = plan.row[0].ranks;
  TRY(job_open(job));
  TRY(find_gpu(wish->gpu ? wish->gpu : "H200", &plan.gpu));
  TRY(plan_network(wish->network, plan.gpu, &plan.network));
  TRY(plan_make(&plan, job));
  print_plan(&plan, &job->config);
  return wish->out ? plan_picture_write(&plan, job->dataset.name, wish->out) : OK;
}
