#include "models/train/epoch_breakdown.h"

#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

enum { NUMBERS = sizeof(struct epoch_breakdown) / sizeof(double) };

const char *const epoch_part_name[EPOCH_PARTS] = {"pack",      "exchange",  "wait",   "own part",
                                                  "halo part", "gemm",      "update", "loss",
                                                  "reduce",    "optimiser", "other"};

/* The regions of each part, NULL at the end. */
static const char *const region_name[EPOCH_OTHER][20] = {
    [EPOCH_PACK] = {"pack"},
    [EPOCH_EXCHANGE] = {"exchange"},
    [EPOCH_WAIT] = {"wait"},
    [EPOCH_OWN] = {"own part", "late rows ahead", "own part of a level"},
    [EPOCH_HALO] = {"halo part", "late rows", "halo part of a level"},
    [EPOCH_GEMM] = {"gemm", "spmm"},
    [EPOCH_EPILOGUE] = {"update", "update_backward", "batch_norm_stats", "batch_norm_backward", "column_sums",
                        "column_moments", "add", "dot", "dropout", "sparse_dropout", "attention_terms",
                        "attention_rows", "attention_terms_backward", "dynamic_rows", "zero", "readout",
                        "cosine_rows", "cosine_end"},
    [EPOCH_LOSS] = {"loss"},
    [EPOCH_REDUCE] = {"reduce"},
    [EPOCH_OPTIMISER] = {"optimiser"},
};

/* What is left of the epoch beside the parts on the compute stream. */
static double other_seconds(const struct epoch_breakdown *parts) {
  double seconds = parts->seconds;
  for (int p = 0; p < EPOCH_OTHER; p++) {
    if (p != EPOCH_EXCHANGE) seconds -= parts->part[p].seconds;
  }
  return seconds > 0 ? seconds : 0;
}

struct epoch_breakdown epoch_breakdown_read(void) {
  struct profile_part part[EPOCH_OTHER];
  struct epoch_breakdown parts = {0};
  for (int p = 0; p < EPOCH_OTHER; p++) part[p].names = region_name[p];
  struct profile_part epoch = profile_parts("epoch", part, EPOCH_OTHER);
  parts.epochs = epoch.calls;
  parts.seconds = epoch.seconds;
  for (int p = 0; p < EPOCH_OTHER; p++) {
    parts.part[p].seconds = part[p].seconds;
    parts.part[p].bytes = part[p].bytes;
    parts.part[p].flops = part[p].flops;
  }
  parts.part[EPOCH_OTHER].seconds = other_seconds(&parts);
  return parts;
}

static void add(struct epoch_breakdown *sum, const struct epoch_breakdown *parts, double factor) {
  double a[NUMBERS], b[NUMBERS];
  memcpy(a, sum, sizeof a);
  memcpy(b, parts, sizeof b);
  for (int i = 0; i < NUMBERS; i++) a[i] += factor * b[i];
  memcpy(sum, a, sizeof a);
}

struct epoch_breakdown epoch_breakdown_since(const struct epoch_breakdown *later,
                                             const struct epoch_breakdown *earlier) {
  struct epoch_breakdown since = *later;
  add(&since, earlier, -1);
  return since;
}

void epoch_breakdown_add(struct epoch_breakdown *sum, const struct epoch_breakdown *parts) {
  add(sum, parts, 1);
}

int epoch_breakdown_average(struct epoch_breakdown *parts, struct comm *comm) {
  double sum[NUMBERS];
  if (comm->lone) return OK;
  memcpy(sum, parts, sizeof sum);
  TRY(comm_reduce(comm, sum, NUMBERS, NUMBER_DOUBLE, REDUCE_SUM));
  for (int i = 0; i < NUMBERS; i++) sum[i] /= comm->size;
  memcpy(parts, sum, sizeof sum);
  return OK;
}

double epoch_breakdown_hidden(const struct epoch_breakdown *parts) {
  double exchange = parts->part[EPOCH_EXCHANGE].seconds, wait = parts->part[EPOCH_WAIT].seconds;
  if (!(exchange > 0)) return 0;
  return wait < exchange ? 1 - wait / exchange : 0;
}

double epoch_breakdown_bound(const struct epoch_breakdown *parts) {
  double exchange = parts->part[EPOCH_PACK].seconds + parts->part[EPOCH_EXCHANGE].seconds;
  double own = parts->part[EPOCH_OWN].seconds, rest = 0;
  for (int p = EPOCH_HALO; p < EPOCH_OTHER; p++) rest += parts->part[p].seconds;
  return (exchange > own ? exchange : own) + rest;
}

static int slowest_rank(const struct epoch_breakdown *parts, struct comm *comm, double seconds[EPOCH_PARTS]) {
  for (int p = 0; p < EPOCH_PARTS; p++) seconds[p] = parts->part[p].seconds;
  return comm_reduce(comm, seconds, EPOCH_PARTS, NUMBER_DOUBLE, REDUCE_MAX);
}

static void print_part(const struct epoch_breakdown *mean, enum epoch_part p, double slowest) {
  double seconds = mean->part[p].seconds, ms = 1e3 / mean->epochs;
  char name[32];
  if (!(seconds > 0)) return;
  snprintf(name, sizeof name, "%s%s", epoch_part_name[p], p == EPOCH_EXCHANGE ? " *" : "");
  log_result("  %-14s %10.4f %10.4f %7.1f%% %10.1f %10.1f", name, ms * seconds, ms * slowest,
             100 * seconds / mean->seconds, mean->part[p].bytes / seconds / 1e9,
             mean->part[p].flops / seconds / 1e9);
}

static void print(const struct epoch_breakdown *mean, const double *slowest, int ranks) {
  log_result("an epoch, mean of %.0f on %d rank%s: %.4f ms", mean->epochs, ranks, ranks == 1 ? "" : "s",
             1e3 * mean->seconds / mean->epochs);
  log_result("  %-14s %10s %10s %8s %10s %10s", "part", "ms", "slowest", "share", "GB/s", "GFLOP/s");
  for (int p = 0; p < EPOCH_PARTS; p++) print_part(mean, (enum epoch_part)p, slowest[p]);
  if (mean->part[EPOCH_EXCHANGE].seconds > 0)
    log_result("  hidden: %.1f%% of the exchange (1 - wait / exchange); * beside the other parts",
               100 * epoch_breakdown_hidden(mean));
}

int epoch_breakdown_print(struct comm *comm) {
  struct epoch_breakdown parts = epoch_breakdown_read();
  double slowest[EPOCH_PARTS];
  TRY(slowest_rank(&parts, comm, slowest));
  TRY(epoch_breakdown_average(&parts, comm));
  if (comm->rank == 0 && parts.epochs > 0) print(&parts, slowest, comm->size);
  return OK;
}
