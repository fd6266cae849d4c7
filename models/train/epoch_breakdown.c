#include "models/train/epoch_breakdown.h"

#include <string.h>

#include "runtime/base/error.h"
#include "runtime/base/log.h"
#include "runtime/base/memory.h"
#include "runtime/profile/profile.h"

enum { NUMBERS = sizeof(struct parts) / sizeof(double) };

const char *const part_name[PARTS] = {"pack",   "exchange", "wait",   "own part",  "halo part", "gemm",
                                      "update", "loss",     "reduce", "optimiser", "other"};

/* The regions of each part, NULL at the end. */
static const char *const region_name[PART_OTHER][16] = {
    [PART_PACK] = {"pack"},
    [PART_EXCHANGE] = {"exchange"},
    [PART_WAIT] = {"wait"},
    [PART_OWN] = {"own part"},
    [PART_HALO] = {"halo part"},
    [PART_GEMM] = {"gemm", "spmm"},
    [PART_UPDATE] = {"update", "update_backward", "batch_norm_stats", "batch_norm_backward", "column_sums",
                     "column_moments", "add", "dot", "dropout", "sparse_dropout", "attention_terms",
                     "attention_rows", "attention_terms_backward", "cosine_rows", "cosine_end"},
    [PART_LOSS] = {"loss"},
    [PART_REDUCE] = {"reduce"},
    [PART_OPTIMISER] = {"optimiser"},
};

/* What is left of the epoch beside the parts on the compute stream. */
static double other_seconds(const struct parts *parts) {
  double seconds = parts->seconds;
  for (int p = 0; p < PART_OTHER; p++) {
    if (p != PART_EXCHANGE) seconds -= parts->part[p].seconds;
  }
  return seconds > 0 ? seconds : 0;
}

struct parts parts_read(void) {
  struct profile_part part[PART_OTHER];
  struct parts parts = {0};
  for (int p = 0; p < PART_OTHER; p++) part[p].names = region_name[p];
  struct profile_part epoch = profile_parts("epoch", part, PART_OTHER);
  parts.epochs = epoch.calls;
  parts.seconds = epoch.seconds;
  for (int p = 0; p < PART_OTHER; p++) {
    parts.part[p].seconds = part[p].seconds;
    parts.part[p].bytes = part[p].bytes;
    parts.part[p].flops = part[p].flops;
  }
  parts.part[PART_OTHER].seconds = other_seconds(&parts);
  return parts;
}

static void add(struct parts *sum, const struct parts *parts, double factor) {
  double a[NUMBERS], b[NUMBERS];
  memcpy(a, sum, sizeof a);
  memcpy(b, parts, sizeof b);
  for (int i = 0; i < NUMBERS; i++) a[i] += factor * b[i];
  memcpy(sum, a, sizeof a);
}

struct parts parts_since(const struct parts *later, const struct parts *earlier) {
  struct parts since = *later;
  add(&since, earlier, -1);
  return since;
}

void parts_add(struct parts *sum, const struct parts *parts) {
  add(sum, parts, 1);
}

int parts_average(struct parts *parts, struct comm *comm) {
  double sum[NUMBERS];
  memcpy(sum, parts, sizeof sum);
  TRY(comm_reduce(comm, sum, NUMBERS, NUMBER_DOUBLE, REDUCE_SUM));
  for (int i = 0; i < NUMBERS; i++) sum[i] /= comm->size;
  memcpy(parts, sum, sizeof sum);
  return OK;
}

double parts_hidden(const struct parts *parts) {
  double exchange = parts->part[PART_EXCHANGE].seconds, wait = parts->part[PART_WAIT].seconds;
  if (!(exchange > 0)) return 0;
  return wait < exchange ? 1 - wait / exchange : 0;
}

double parts_bound(const struct parts *parts) {
  double exchange = parts->part[PART_PACK].seconds + parts->part[PART_EXCHANGE].seconds;
  double own = parts->part[PART_OWN].seconds, rest = 0;
  for (int p = PART_HALO; p < PART_OTHER; p++) rest += parts->part[p].seconds;
  return (exchange > own ? exchange : own) + rest;
}

static int slowest_rank(const struct parts *parts, struct comm *comm, double seconds[PARTS]) {
  for (int p = 0; p < PARTS; p++) seconds[p] = parts->part[p].seconds;
  return comm_reduce(comm, seconds, PARTS, NUMBER_DOUBLE, REDUCE_MAX);
}

static void print_part(const struct parts *mean, enum part p, double slowest) {
  double seconds = mean->part[p].seconds, ms = 1e3 / mean->epochs;
  char name[32];
  if (!(seconds > 0)) return;
  snprintf(name, sizeof name, "%s%s", part_name[p], p == PART_EXCHANGE ? " *" : "");
  log_info("  %-14s %10.4f %10.4f %7.1f%% %10.1f %10.1f", name, ms * seconds, ms * slowest,
           100 * seconds / mean->seconds, mean->part[p].bytes / seconds / 1e9,
           mean->part[p].flops / seconds / 1e9);
}

static void print(const struct parts *mean, const double *slowest, int ranks) {
  log_info("an epoch, mean of %.0f on %d rank%s: %.4f ms", mean->epochs, ranks, ranks == 1 ? "" : "s",
           1e3 * mean->seconds / mean->epochs);
  log_info("  %-14s %10s %10s %8s %10s %10s", "part", "ms", "slowest", "share", "GB/s", "GFLOP/s");
  for (int p = 0; p < PARTS; p++) print_part(mean, (enum part)p, slowest[p]);
  if (mean->part[PART_EXCHANGE].seconds > 0)
    log_info("  hidden: %.1f%% of the exchange (1 - wait / exchange); * beside the other parts",
             100 * parts_hidden(mean));
}

int parts_print(struct comm *comm) {
  struct parts parts = parts_read();
  double slowest[PARTS];
  TRY(slowest_rank(&parts, comm, slowest));
  TRY(parts_average(&parts, comm));
  if (comm->rank == 0 && parts.epochs > 0) print(&parts, slowest, comm->size);
  return OK;
}
