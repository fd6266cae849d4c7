#include "models/plan/plan.h"

#include <math.h>
#include <omp.h>

#include "models/plan/lone_rank.h"
#include "partition/cut/partition_ahead.h"
#include "runtime/base/base.h"
#include "runtime/device/device_list.h"
#include "runtime/profile/profile.h"

const double plan_pays = .1;

/* What a GPU's context and libraries hold; what NCCL adds, of two ranks or more, for their sums, and for each
 * rank of the host that is sent messages: slices of a grid's columns (decision 083). */
static const int64_t context_bytes = 500ll << 20, sums_bytes = 860ll << 20, way_bytes = 446ll << 20;

static int64_t held_bytes(const struct plan *plan, int ranks, struct grid grid) {
  const int64_t ways = smaller(grid.cols, plan->network.local_size) - 1;
  return context_bytes + (ranks > 1 ? sums_bytes : 0) + ways * way_bytes;
}

static int hosts_of(const struct network *network, int ranks) {
  return (ranks + network->local_size - 1) / network->local_size;
}

/* An epoch and an evaluation on the device's clock. */
static int train(struct lone_rank *lone, struct plan_row *row) {
  struct trainer *trainer = &lone->trainer;
  struct result result;
  TRY(trainer_start(trainer, &lone->run));
  TRY(model_reset(&trainer->model, &lone->run));
  const struct epoch_breakdown before = epoch_breakdown_read();
  const double evaluated = profile_parts("evaluation", NULL, 0).seconds;
  TRY(PROFILE("epoch", epoch_queue(&trainer->epoch, &lone->run, 1)));
  TRY(PROFILE("evaluation", epoch_queue_evaluation(&trainer->epoch, &lone->run)));
  TRY(epoch_queue_result(&trainer->epoch, &lone->run));
  TRY(epoch_collect(&trainer->epoch, &lone->run, 1, &result));
  const struct epoch_breakdown after = epoch_breakdown_read(), parts = epoch_breakdown_since(&after, &before);
  row->ms = result.ms;
  row->evaluation_ms = 1e3 * (profile_parts("evaluation", NULL, 0).seconds - evaluated);
  for (int p = 0; p < EPOCH_PARTS; p++) row->part[p] = 1e3 * parts.part[p].seconds;
  row->sent = parts.part[EPOCH_EXCHANGE].bytes;
  row->reduced = parts.part[EPOCH_REDUCE].bytes;
  return OK;
}

static int simulate(struct plan *plan, struct job *job, int rank, struct plan_row *row) {
  static struct lone_rank lone; /* large */
  const int64_t held = held_bytes(plan, row->ranks, job->grid);
  struct device device = {0};
  struct kernels kernels = {0};
  int code = device_simulate(&device, plan->gpu->name, (int64_t)plan->gpu->memory_bytes - held,
                             omp_get_max_threads());
  if (code == OK) code = kernels_open(&kernels, &device, job->config.runtime.precision);
  if (code == OK) code = lone_rank_init(&lone, job, rank, &plan->network, &device, &kernels);
  if (code == OK) code = train(&lone, row);
  if (code == OK) row->bytes = held + device.ops->memory.peak(&device);
  lone_rank_free(&lone);
  kernels_close(&kernels);
  device_close(&device);
  return code;
}

/* The slowest of them decides; memory and messages are each the most. */
static void take(struct plan_row *row, const struct plan_row *rank) {
  const struct plan_row before = *row;
  if (rank->ms > row->ms) *row = *rank;
  row->evaluation_ms = fmax(before.evaluation_ms, rank->evaluation_ms);
  row->sent = fmax(before.sent, rank->sent);
  row->bytes = larger(before.bytes, rank->bytes);
}

/* Ranks that may be the slowest: of the most arcs, halo rows, own rows. */
enum { SUSPECTS = 3 };
static int find_suspects(const struct partition *p, int suspect[SUSPECTS]) {
  int most[SUSPECTS] = {0}, count = 0;
  for (int r = 1; r < p->parts; r++) {
    const int64_t *offset = p->offset;
    if (p->nnz[r] > p->nnz[most[0]]) most[0] = r;
    if (p->halo[r] > p->halo[most[1]]) most[1] = r;
    if (offset[r + 1] - offset[r] > offset[most[2] + 1] - offset[most[2]]) most[2] = r;
  }
  for (int i = 0; i < SUSPECTS; i++) {
    int known = 0;
    for (int j = 0; j < count; j++) known |= suspect[j] == most[i];
    if (!known) suspect[count++] = most[i];
  }
  return count;
}

static int divide(const struct plan *plan, struct job *job, uint64_t hash) {
  const struct config *config = &job->config;
  const struct grid_machine machine = {.model = plan->gpu,
                                       .precision = config->runtime.precision,
                                       .network = plan->network,
                                       .overlaps = config->runtime.overlap,
                                       .relays = config->runtime.exchange == EXCHANGE_AUTO,
                                       .memory = (int64_t)plan->gpu->memory_bytes};
  return lone_rank_divide(job, &machine, hash);
}

static int fill(struct plan *plan, struct job *job, uint64_t hash, struct plan_row *row) {
  int suspect[SUSPECTS];
  job->ranks = row->ranks;
  TRY(job_check_settings(job));
  TRY(divide(plan, job, hash));
  const int suspects = find_suspects(&job->partition, suspect);
  for (int i = 0; i < suspects; i++) {
    struct plan_row rank = {.ranks = row->ranks};
    TRY(simulate(plan, job, suspect[i], &rank));
    take(row, &rank);
  }
  row->grid = job->grid;
  row->hosts = hosts_of(&plan->network, row->ranks);
  partition_free(&job->partition);
  return OK;
}

/* Work that is divided, and what every rank has: a + b / ranks, through two points. */
static double divided(double ms, double ms_before, double ranks, double ranks_before, double wanted) {
  const double slope = (ms_before - ms) / (1 / ranks_before - 1 / ranks), base = ms - slope / ranks;
  if (!(slope > 0)) return ms;
  return base > 0 ? base + slope / wanted : ms * ranks / wanted;
}

/* What messages take beside their bytes stays. On several hosts some bytes stay on a host, which is faster.
 */
static double exchange_of(const struct plan *plan, const struct plan_row *last, double sent) {
  const double byte = last->hosts > 1 ? plan->network.between.byte : plan->network.within.byte;
  const double all = last->part[EPOCH_EXCHANGE], of_bytes = fmin(all, 1e3 * last->sent * byte);
  return all + (last->sent > 0 ? of_bytes * (sent / last->sent - 1) : 0);
}

/* From the two largest numbers of ranks that were divided, `last` the larger one. */
static void estimate(const struct plan *plan, const struct plan_row *before, const struct plan_row *last,
                     struct plan_row *row) {
  const double ranks = row->ranks, from = last->ranks, first = before->ranks;
  const double growth = before->sent > 0 && last->sent > 0 && before->grid.cols == last->grid.cols
                            ? log(last->sent / before->sent) / log(from / first)
                            : 0;
  *row = (struct plan_row){.ranks = row->ranks, .estimated = 1, .reduced = last->reduced};
  row->hosts = hosts_of(&plan->network, row->ranks);
  row->grid = (struct grid){row->ranks / last->grid.cols, last->grid.cols};
  for (int p = 0; p < EPOCH_PARTS; p++)
    row->part[p] = divided(last->part[p], before->part[p], from, first, ranks);
  row->sent = last->sent * pow(ranks / from, growth);
  row->part[EPOCH_EXCHANGE] = exchange_of(plan, last, row->sent);
  const double hidden = last->part[EPOCH_EXCHANGE] - last->part[EPOCH_WAIT], own = last->part[EPOCH_OWN],
               share = last->part[EPOCH_WAIT] > 0 && own > 0 ? hidden / own : 1;
  row->part[EPOCH_WAIT] = fmax(0, row->part[EPOCH_EXCHANGE] - share * row->part[EPOCH_OWN]);
  row->part[EPOCH_REDUCE] = 1e3 * network_reduce_seconds(&plan->network, row->ranks, row->reduced);
  for (int p = 0; p < EPOCH_PARTS; p++)
    if (p != EPOCH_EXCHANGE) row->ms += row->part[p];
  row->evaluation_ms = last->evaluation_ms * row->ms / last->ms;
  row->bytes = held_bytes(plan, row->ranks, row->grid) +
               (int64_t)divided((double)(last->bytes - held_bytes(plan, last->ranks, last->grid)),
                                (double)(before->bytes - held_bytes(plan, before->ranks, before->grid)), from,
                                first, ranks);
}

/* Estimates want the two largest that can be divided. */
static void add_rows(struct plan *plan) {
  static const int wanted[] = {PLAN_PARTS / 2, PLAN_PARTS};
  if (plan->row[plan->rows - 1].ranks <= PLAN_PARTS) return;
  for (int i = 0; i < 2; i++) {
    int at = 0;
    while (plan->row[at].ranks < wanted[i]) at++;
    if (plan->row[at].ranks == wanted[i]) continue;
    memmove(plan->row + at + 1, plan->row + at, (size_t)(plan->rows++ - at) * sizeof *plan->row);
    plan->row[at] = (struct plan_row){.ranks = wanted[i]};
  }
}

static int check(struct job *job, const struct plan *plan) {
  const enum precision precision = job->config.runtime.precision;
  const int most = (int)smaller(plan->row[plan->rows - 1].ranks, PLAN_PARTS);
  if (precision == PRECISION_FP64)
    FAIL(BAD_INPUT, "--plan is for GPUs, which have no runtime.precision = \"fp64\"; allowed: fp32, "
                    "fp32_strict, tf32, bf16");
  if (job->type->on_hypergraph)
    FAIL(BAD_INPUT, "--plan does not know hypergraphs; model.type = \"%s\" runs on one",
         job->config.model.type);
  return partition_check_parts(&job->dataset, most, "nodes");
}

int plan_make(struct plan *plan, struct job *job) {
  const struct plan_row *last[2] = {NULL, NULL};
  uint64_t hash = 0;
  int threads = 1;
  TRY(comm_threads(&job->comm, (int)job->config.runtime.threads, &threads, job->threads,
                   sizeof job->threads));
  omp_set_num_threads(threads);
  add_rows(plan);
  TRY(check(job, plan));
  TRY(job_read(job, &hash));
  profile_enable();
  for (int i = 0; i < plan->rows; i++) {
    struct plan_row *row = &plan->row[i];
    if (row->ranks > PLAN_PARTS) {
      estimate(plan, last[0], last[1], row);
      continue;
    }
    log_info("  %d rank%s ...", row->ranks, row->ranks == 1 ? "" : "s");
    TRY(fill(plan, job, hash, row));
    last[0] = last[1];
    last[1] = row;
  }
  return OK;
}

double plan_run_seconds(const struct plan_row *row, const struct config *config) {
  const double every = (double)config->train.eval_every,
               epochs = (double)(config->train.epochs * config->train.runs);
  return 1e-3 * row->ranks * epochs * (row->ms + row->evaluation_ms / every);
}

int plan_most_that_pay(const struct plan *plan) {
  int most = plan->row[0].ranks;
  for (int i = 1; i < plan->rows; i++) {
    const struct plan_row *row = &plan->row[i], *before = row - 1;
    const double doublings = log2((double)row->ranks / before->ranks);
    if (row->ms > before->ms * pow(1 - plan_pays, doublings)) break;
    most = row->ranks;
  }
  return most;
}
