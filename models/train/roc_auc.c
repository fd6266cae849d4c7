#include "models/train/roc_auc.h"

#include <math.h>

#include "io/dataset/dataset.h"
#include "runtime/base/base.h"

static int64_t largest_split(const struct run *run) {
  int64_t largest = 0;
  for (int s = 0; s < SPLIT_COUNT; s++) largest = larger(largest, run->shard->split_global[s]);
  return largest;
}

int64_t roc_auc_bytes(const struct run *run) {
  return largest_split(run) * (int64_t)sizeof(struct scored);
}

/* How many nodes of each split the ranks before this one have. */
static int count_before(struct roc_auc *roc_auc, struct run *run) {
  FREED int64_t *all = NULL;
  TRY(memory_arrays("nodes of splits", ROOM(&all, run->comm->size * SPLIT_COUNT)));
  TRY(comm_gather_all(run->comm, run->shard->split_count, SPLIT_COUNT * (int64_t)sizeof *all, all));
  for (int s = 0; s < SPLIT_COUNT; s++) {
    roc_auc->first[s] = 0;
    for (int r = 0; r < run->comm->rank; r++) roc_auc->first[s] += all[r * SPLIT_COUNT + s];
  }
  return OK;
}

static int both_classes(const struct run *run, int64_t positive) {
  int64_t count = run->shard->split_global[SPLIT_VAL];
  if (count > 0 && (positive == 0 || positive == count))
    FAIL(BAD_INPUT, "%s: all validation nodes are of one class; train.metric = \"roc_auc\" needs both",
         run->config->dataset.path);
  return OK;
}

static int check_validation(const struct run *run) {
  const struct shard *shard = run->shard;
  int64_t positive = 0;
  for (int64_t i = 0; i < shard->split_count[SPLIT_VAL]; i++)
    positive += shard->label[shard->split[SPLIT_VAL][i]] == 1;
  TRY(comm_sum_int64(run->comm, &positive));
  return comm_agree(run->comm, both_classes(run, positive));
}

int roc_auc_start(struct roc_auc *roc_auc, struct run *run) {
  roc_auc_free(roc_auc);
  TRY(comm_agree(run->comm, memory_alloc(&roc_auc->node, roc_auc_bytes(run), "scores of all ranks")));
  TRY(count_before(roc_auc, run));
  return check_validation(run);
}

void roc_auc_free(struct roc_auc *roc_auc) {
  free(roc_auc->node);
  *roc_auc = (struct roc_auc){0};
}

static double element_of(struct tensor t, int64_t i, int64_t j) {
  int64_t at = i * t.stride + j;
  return t.dtype == F64 ? ((const double *)t.data)[at] : (double)((const float *)t.data)[at];
}

/* Each rank adds its nodes to zeros. */
static int gather_scores(struct roc_auc *roc_auc, struct run *run, enum split split, struct tensor logits) {
  const struct shard *shard = run->shard;
  int64_t count = shard->split_global[split];
  for (int64_t i = 0; i < count; i++) roc_auc->node[i] = (struct scored){0, 0, 0};
  for (int64_t i = 0; i < shard->split_count[split]; i++) {
    int64_t v = shard->split[split][i];
    double zero = element_of(logits, v, 0), one = element_of(logits, v, 1);
    roc_auc->node[roc_auc->first[split] + i] = (struct scored){one - zero, fmax(fabs(zero), fabs(one)),
                                                               shard->label[v] == 1};
  }
  return comm_reduce(run->comm, roc_auc->node, 3 * count, NUMBER_DOUBLE, REDUCE_SUM);
}

/* e of roc_auc.h. */
static double left_open(enum precision precision) {
  if (precision == PRECISION_FP64) return 1e-13;
  return precision == PRECISION_FP32 || precision == PRECISION_FP32_STRICT ? 2e-6 : 1e-3;
}

/* Scores and sizes of logits become intervals. */
static void widen(struct scored *node, int64_t count, double open) {
  double mean = 0;
  for (int64_t i = 0; i < count; i++) mean += node[i].high / (double)count;
  for (int64_t i = 0; i < count; i++) {
    double score = node[i].low, reach = open * (node[i].high + mean);
    node[i].low = score - reach;
    node[i].high = score + reach;
  }
}

static int by_low(const void *a, const void *b) {
  double x = ((const struct scored *)a)->low, y = ((const struct scored *)b)->low;
  return COMPARE(x, y);
}

/* Exchanges both ends of the nodes of one class. */
static void turn(struct scored *node, int64_t count, int class) {
  for (int64_t i = 0; i < count; i++) {
    double low = node[i].low;
    if ((node[i].positive > 0) != class) continue;
    node[i].low = node[i].high;
    node[i].high = low;
  }
}

/* Pairs in which the node of class `winner` lies above: its lower end above the higher one of the other. */
static double pairs_won(struct scored *node, int64_t count, int winner) {
  double beaten = 0, won = 0;
  turn(node, count, !winner);
  qsort(node, (size_t)count, sizeof *node, by_low);
  for (int64_t i = 0, next; i < count; i = next) {
    double winners = 0;
    for (next = i; next < count && !(node[next].low > node[i].low); next++)
      winners += (node[next].positive > 0) == winner;
    won += winners * beaten;
    beaten += (double)(next - i) - winners;
  }
  turn(node, count, !winner);
  return won;
}

static double roc_auc_of(struct scored *node, int64_t count) {
  double positives = 0;
  for (int64_t i = 0; i < count; i++) positives += node[i].positive;
  double pairs = positives * ((double)count - positives);
  double won = pairs_won(node, count, 1), lost = pairs_won(node, count, 0);
  return pairs > 0 ? (won + .5 * (pairs - won - lost)) / pairs : NAN;
}

int roc_auc_compute(struct roc_auc *roc_auc, struct run *run, struct tensor logits,
                    double under[SPLIT_COUNT]) {
  for (enum split s = SPLIT_TRAIN; s < SPLIT_COUNT; s++) {
    TRY(gather_scores(roc_auc, run, s, logits));
    int64_t count = run->shard->split_global[s];
    widen(roc_auc->node, count, left_open(run->config->runtime.precision));
    under[s] = roc_auc_of(roc_auc->node, count);
  }
  return OK;
}
