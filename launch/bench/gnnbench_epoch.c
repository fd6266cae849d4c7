/* epoch: whole epochs of a configuration and their parts, through the same job that gnntrain runs. */
#include "launch/bench/bench.h"

#include "kernels/cost/cost_models.h"
#include "models/plan/lone_rank.h"
#include "models/plan/plan.h"
#include "models/session/job.h"
#include "models/train/epoch.h"
#include "models/train/epoch_breakdown.h"
#include "runtime/device/device_list.h"
#include "runtime/profile/profile.h"

/* As many epochs as are measured, after a few that are not; each pass goes on from the one before. */
struct pass {
  double ms[BENCH_REPS];                /* of the slowest rank */
  double part[EPOCH_PARTS][BENCH_REPS]; /* ms, averages of the ranks; where a recording is on */
  struct epoch_breakdown sum;
};

static struct job job;        /* large */
static struct lone_rank lone; /* likewise; of --as */
static struct trainer *trainer = &job.trainer;
static struct run *run = &job.run;

static int queue_epoch(void) {
  TRY(PROFILE("epoch", epoch_queue(&trainer->epoch, run, trainer->epoch.queued + 1)));
  return epoch_queue_result(&trainer->epoch, run);
}

/* The oldest epoch that was queued. */
static int collect_epoch(double *ms) {
  struct state *state = &trainer->state;
  struct result result;
  TRY(epoch_collect(&trainer->epoch, run, state->epoch + 1, &result));
  state->epoch++;
  state->step++;
  *ms = result.ms;
  return OK;
}

/* What the parts of epoch i took, by what was recorded before and after it. */
static int add_parts(struct pass *pass, int i, const struct epoch_breakdown *before) {
  struct epoch_breakdown after = epoch_breakdown_read(), parts = epoch_breakdown_since(&after, before);
  TRY(epoch_breakdown_average(&parts, run->comm));
  for (int p = 0; p < EPOCH_PARTS; p++) pass->part[p][i] = 1e3 * parts.part[p].seconds;
  epoch_breakdown_add(&pass->sum, &parts);
  return OK;
}

static int slowest_ranks(struct pass *pass, int reps) {
  return comm_reduce(run->comm, pass->ms, reps, NUMBER_DOUBLE, REDUCE_MAX);
}

static int run_plain(struct pass *pass, int reps) {
  struct state *state = &trainer->state;
  TRY(epoch_time(&trainer->epoch, run, state->epoch, state->step, reps, pass->ms));
  state->epoch += EPOCH_WARM_UP + reps;
  state->step += EPOCH_WARM_UP + reps;
  return slowest_ranks(pass, reps);
}

static int run_profiled(struct pass *pass, int reps) {
  double ms = 0;
  TRY(epoch_begin(&trainer->epoch, run, trainer->state.epoch, trainer->state.step));
  for (int i = -EPOCH_WARM_UP; i < reps; i++) {
    struct epoch_breakdown before = epoch_breakdown_read();
    TRY(comm_barrier(run->comm));
    TRY(queue_epoch());
    TRY(collect_epoch(i < 0 ? &ms : &pass->ms[i]));
    if (i >= 0) TRY(add_parts(pass, i, &before));
  }
  return slowest_ranks(pass, reps);
}

static struct bench_row row_of(const struct bench *bench, const char *name, const char *pass) {
  const struct config *config = &job.config;
  const struct grid grid = run->directory->grid;
  char as[64] = "";
  if (run->comm->lone) snprintf(as, sizeof as, " as %d/%d", run->comm->rank, run->comm->size);
  if (run->comm->lone && grid.cols > 1)
    snprintf(as, sizeof as, " as %d/%d in %dx%d", run->comm->rank, run->comm->size, grid.rows, grid.cols);
  struct bench_row row = bench_row_of(bench, name, 0, "%.16s %s %lldx%lld%s%s%s", job.dataset.name,
                                      config->model.type, (long long)config->model.layers,
                                      (long long)config->model.hidden, as, pass[0] ? ", " : "", pass);
  row.precision = precision_name[config->runtime.precision];
  return row;
}

static void print_epoch(struct bench *bench, struct pass *pass, const struct pass *counted, double *median) {
  struct bench_row row = row_of(bench, "epoch", "");
  for (int p = 0; p < EPOCH_PARTS; p++) row.flops += counted->sum.part[p].flops / counted->sum.epochs;
  bench_spread(pass->ms, (int)bench->options->reps, &row);
  *median = row.median;
  bench_print(bench, &row);
}

/* A row a part that took any time: what an epoch spends on it. */
static void print_parts(struct bench *bench, struct pass *pass, const char *name) {
  for (int p = 0; p < EPOCH_PARTS; p++) {
    if (!(pass->sum.part[p].seconds > 0)) continue;
    struct bench_row row = row_of(bench, epoch_part_name[p], name);
    row.bytes = pass->sum.part[p].bytes / pass->sum.epochs;
    row.flops = pass->sum.part[p].flops / pass->sum.epochs;
    if (p == EPOCH_EXCHANGE) {
      row.share = epoch_breakdown_hidden(&pass->sum);
      row.share_name = "hidden";
    }
    bench_spread(pass->part[p], (int)bench->options->reps, &row);
    bench_print(bench, &row);
  }
}

static void print_bound(struct bench *bench, const struct pass *alone, double median) {
  struct bench_row row = row_of(bench, "bound", "from parts alone");
  row.median = row.min = row.max = 1e3 * epoch_breakdown_bound(&alone->sum) / alone->sum.epochs;
  row.peer = "epoch";
  row.peer_median = median;
  bench_print(bench, &row);
}

/* Epochs as users run them; where their time goes; what each part takes when nothing runs beside it. */
static int measure(struct bench *bench) {
  static struct pass plain, profiled, alone; /* large */
  int reps = (int)bench->options->reps;
  double median = 0;
  TRY(run_plain(&plain, reps));
  profile_enable();
  TRY(run_profiled(&profiled, reps));
  job.config.runtime.overlap = 0;
  TRY(run_profiled(&alone, reps));
  bench_print_head(bench, &job.device);
  print_epoch(bench, &plain, &profiled, &median);
  print_parts(bench, &profiled, "profiled");
  print_parts(bench, &alone, "alone");
  print_bound(bench, &alone, median);
  return OK;
}

static int read_config(const struct bench_options *options) {
  TRY(config_read(&job.config, options->epoch.config, options->epoch.set, options->epoch.set_count));
  job.config.train.epochs = 3 * (EPOCH_WARM_UP + (int64_t)options->reps);
  return OK;
}

static int start(void) {
  TRY(trainer_start(trainer, run));
  return model_reset(&trainer->model, run);
}

/* The graph is divided among as many ranks as there would be; one of them is here. */
static int start_lone(const struct bench_options *options) {
  struct grid_machine machine;
  uint64_t hash = 0;
  int threads = 1;
  job.ranks = (int)options->epoch.ranks;
  TRY(job_open(&job));
  TRY(comm_threads(&job.comm, (int)job.config.runtime.threads, &threads, job.threads, sizeof job.threads));
  TRY(device_open(&job.device, job.config.runtime.device, 0, 1, threads));
  TRY(kernels_open(&job.kernels, &job.device, job.config.runtime.precision));
  machine = job_machine(&job);
  TRY(plan_network(options->epoch.network, cost_model_of(job.device.name), &machine.network));
  TRY(job_read(&job, &hash));
  TRY(lone_rank_divide(&job, &machine, hash));
  TRY(lone_rank_init(&lone, &job, (int)options->epoch.rank, &machine.network, &job.device, &job.kernels));
  trainer = &lone.trainer;
  run = &lone.run;
  return start();
}

static int check_alone(const struct bench_options *options) {
  if (options->epoch.ranks == 0 || job.comm.size == 1) return OK;
  FAIL(BAD_INPUT, "--as is one process's work; run it without mpirun");
}

static int run_all(struct bench *bench) {
  TRY(comm_agree(&job.comm, read_config(bench->options)));
  TRY(comm_agree(&job.comm, check_alone(bench->options)));
  if (bench->options->epoch.ranks > 0) {
    TRY(start_lone(bench->options));
  } else {
    TRY(job_setup(&job));
    TRY(start());
  }
  return measure(bench);
}

/* The job has the ranks while it lasts. */
int gnnbench_epoch(struct bench *bench) {
  job.comm = bench->comm;
  int code = run_all(bench);
  lone_rank_free(&lone);
  job_free(&job);
  bench->comm = job.comm;
  return code;
}
