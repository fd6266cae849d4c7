#include "models/train/objective.h"

#include <math.h>

#include "io/dataset/dataset.h"
#include "runtime/base/base.h"

int64_t objective_split(const struct run *run, int64_t index) {
  return (run->config->dataset.split + index) % run->dataset->splits;
}

/* Of all runs: a later one must not stop what has been trained by then. */
int objective_check_splits(const struct config *config, struct dataset *dataset) {
  for (int64_t r = 0; r < config->train.runs && r < dataset->splits; r++) {
    const int64_t split = (config->dataset.split + r) % dataset->splits;
    FREED int64_t *node = NULL;
    int64_t count = 0;
    TRY(dataset_read_split(dataset, split, SPLIT_TRAIN, &node, &count));
    if (count == 0)
      FAIL(BAD_INPUT, "%s: split %lld has no training nodes", config->dataset.path, (long long)split);
  }
  return OK;
}

static int check_metric(const struct config *config, const struct dataset *dataset) {
  const int multilabel = dataset->task == TASK_MULTILABEL;
  if (config->train.metric == METRIC_ACCURACY && multilabel)
    FAIL(BAD_INPUT,
         "train.metric = \"accuracy\" does not fit the multilabel labels of %s; use \"micro_f1\" or \"auto\"",
         config->dataset.path);
  if (config->train.metric == METRIC_ROC_AUC && (multilabel || dataset->classes != 2))
    FAIL(BAD_INPUT, "train.metric = \"roc_auc\" is for datasets of two classes; %s has %lld%s",
         config->dataset.path, (long long)dataset->classes,
         multilabel ? " labels, of which a node may have several" : "");
  return OK;
}

int objective_check(const struct config *config, const struct dataset *dataset) {
  const int multilabel = dataset->task == TASK_MULTILABEL;
  if (config->train.loss == (multilabel ? LOSS_CROSS_ENTROPY : LOSS_BCE))
    FAIL(BAD_INPUT, "train.loss = \"%s\" does not fit the %s labels of %s; use \"%s\" or \"auto\"",
         multilabel ? "cross_entropy" : "bce", multilabel ? "multilabel" : "multiclass", config->dataset.path,
         multilabel ? "bce" : "cross_entropy");
  return check_metric(config, dataset);
}

void objective_init(struct objective *objective, const struct run *run) {
  const enum metric metric = run->config->train.metric;
  *objective = (struct objective){.task = run->dataset->task, .classes = run->shard->classes};
  int multilabel = objective->task == TASK_MULTILABEL;
  objective->metric = metric == METRIC_ROC_AUC                  ? METRIC_ROC_AUC
                      : multilabel || metric == METRIC_MICRO_F1 ? METRIC_MICRO_F1
                                                                : METRIC_ACCURACY;
}

void objective_plan(struct objective *objective, struct run *run, int64_t chunk_rows, struct arena *arena) {
  int64_t own = run->shard->own;
  objective->chunk_rows = larger(chunk_rows, 1);
  objective->chunks = (int)larger((own + objective->chunk_rows - 1) / objective->chunk_rows, 1);
  if (objective->task == TASK_MULTICLASS) {
    objective->label = arena_take(arena, own * (int64_t)sizeof(int32_t));
    objective->counted = arena_take(arena, own * (int64_t)sizeof(int32_t));
    objective->row_loss = arena_take(arena, own * dtype_bytes(run->kernels->real));
  } else {
    objective->labels = arena_take(arena, own * objective->classes);
  }
  for (int s = 0; s < SPLIT_COUNT; s++)
    objective->rows[s] = arena_take(arena, own * (int64_t)sizeof(int32_t));
  objective->outcome = arena_take(arena, objective->chunks * (int64_t)sizeof *objective->outcome);
}

static int upload_counted(struct objective *objective, struct run *run) {
  const struct shard *shard = run->shard;
  int64_t bytes = shard->own * (int64_t)sizeof(int32_t);
  FREED int32_t *counted = NULL;
  TRY(memory_alloc(&counted, bytes, "labels of training nodes"));
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < shard->own; v++) counted[v] = -1;
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < shard->split_count[SPLIT_TRAIN]; i++) {
    int32_t v = shard->split[SPLIT_TRAIN][i];
    counted[v] = shard->label[v];
  }
  TRY(device_upload(run->device, STREAM_COMPUTE, objective->counted, counted, bytes));
  return device_synchronize(run->device, STREAM_COMPUTE);
}

static int upload_rows(struct objective *objective, struct run *run, enum split split) {
  const int64_t count = run->shard->split_count[split], bytes = count * (int64_t)sizeof(int32_t);
  FREED int32_t *row = NULL;
  TRY(memory_alloc(&row, bytes, "nodes of splits"));
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < count; i++) row[i] = (int32_t)(run->shard->split[split][i] % objective->chunk_rows);
  TRY(device_upload(run->device, STREAM_COMPUTE, objective->rows[split], row, bytes));
  return device_synchronize(run->device, STREAM_COMPUTE);
}

int objective_start(struct objective *objective, struct run *run) {
  struct shard *shard = run->shard;
  struct device *device = run->device;
  int64_t word = (int64_t)sizeof(int32_t);
  if (objective->label) {
    TRY(device_upload(device, STREAM_COMPUTE, objective->label, shard->label, shard->own * word));
    TRY(upload_counted(objective, run));
  }
  if (objective->labels)
    TRY(device_upload(device, STREAM_COMPUTE, objective->labels, shard->labels,
                      shard->own * objective->classes));
  for (int s = 0; s < SPLIT_COUNT; s++) {
    objective->nodes[s] = shard->split_global[s];
    TRY(upload_rows(objective, run, s));
  }
  TRY(device_clear(device, STREAM_COMPUTE, objective->outcome,
                   objective->chunks * (int64_t)sizeof *objective->outcome));
  TRY(device_synchronize(device, STREAM_COMPUTE));
  return objective_ranks(objective) ? roc_auc_start(&objective->roc_auc, run) : OK;
}

void objective_free(struct objective *objective) {
  roc_auc_free(&objective->roc_auc);
}

int64_t objective_host_bytes(const struct objective *objective, const struct run *run) {
  return objective_ranks(objective) ? roc_auc_bytes(run) : 0;
}

/* How many of a split's nodes lie in rows before this one. */
static int64_t nodes_before(const struct shard *shard, enum split split, int64_t row) {
  int64_t low = 0, high = shard->split_count[split];
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (shard->split[split][middle] < row)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* A split's nodes among the rows of a chunk, and what is known of all its rows. */
struct chunk_nodes {
  const int32_t *label, *rows, *counted;
  const uint8_t *labels;
  void *row_loss;
  int64_t count;
};

static struct chunk_nodes nodes_of(const struct objective *objective, const struct run *run, enum split split,
                                   const struct logits *logits) {
  const int64_t at = logits->first, first = nodes_before(run->shard, split, at);
  struct chunk_nodes nodes = {.rows = objective->rows[split] + first};
  nodes.count = nodes_before(run->shard, split, at + logits->logits.rows) - first;
  if (objective->labels) nodes.labels = objective->labels + at * objective->classes;
  if (!objective->label) return nodes;
  nodes.label = objective->label + at;
  nodes.counted = objective->counted + at;
  nodes.row_loss = (char *)objective->row_loss + at * dtype_bytes(run->kernels->real);
  return nodes;
}

struct loss_op objective_loss_op(const struct objective *objective, const struct run *run, enum split split,
                                 const struct logits *logits, double *loss) {
  const int64_t global = run->shard->split_global[split];
  const struct chunk_nodes nodes = nodes_of(objective, run, split, logits);
  return (struct loss_op){.logits = logits->logits,
                          .label = nodes.label,
                          .labels = nodes.labels,
                          .rows = nodes.rows,
                          .count = nodes.count,
                          .scale = global > 0 ? 1 / (double)global : 0,
                          .loss = loss,
                          .grad_scale = logits->grad_scale,
                          .counted = nodes.counted,
                          .row_loss = nodes.row_loss,
                          .grad = logits->grad};
}

int objective_comes_along(const struct objective *objective) {
  return objective->task == TASK_MULTICLASS;
}

int objective_loss(const struct objective *objective, struct run *run, const struct loss_op *op, int along) {
  if (along) return op_sum_losses(run->kernels, op);
  return objective->task == TASK_MULTICLASS ? op_cross_entropy(run->kernels, op) : op_bce(run->kernels, op);
}

static int count_split(struct objective *objective, struct run *run, enum split split,
                       const struct logits *logits) {
  const struct chunk_nodes nodes = nodes_of(objective, run, split, logits);
  struct score op = {.logits = logits->logits,
                     .label = nodes.label,
                     .labels = nodes.labels,
                     .rows = nodes.rows,
                     .count = nodes.count,
                     .out = objective->outcome[logits->chunk].score[split]};
  return objective->task == TASK_MULTICLASS ? op_accuracy(run->kernels, &op) : op_micro_f1(run->kernels, &op);
}

int objective_tally(struct objective *objective, struct run *run, const struct logits *logits) {
  struct outcome *outcome = &objective->outcome[logits->chunk];
  for (enum split s = SPLIT_TRAIN; s < SPLIT_COUNT; s++) {
    struct loss_op loss = objective_loss_op(objective, run, s, logits, &outcome->split_loss[s]);
    TRY(objective_loss(objective, run, &loss, 0));
    TRY(count_split(objective, run, s, logits));
  }
  return OK;
}

struct outcome outcome_sum(const struct outcome *outcome, int chunks) {
  struct outcome sum = {0};
  for (int i = 0; i < chunks; i++) {
    sum.loss += outcome[i].loss;
    for (int s = 0; s < SPLIT_COUNT; s++) {
      sum.split_loss[s] += outcome[i].split_loss[s];
      for (int j = 0; j < 3; j++) sum.score[s][j] += outcome[i].score[s][j];
    }
  }
  return sum;
}

struct tally tally_of(const struct outcome *outcome) {
  struct tally tally = {0};
  for (int s = 0; s < SPLIT_COUNT; s++) {
    tally.loss[s] = outcome->split_loss[s];
    for (int i = 0; i < 3; i++) tally.score[s][i] = (double)outcome->score[s][i];
  }
  return tally;
}

int tally_reduce(struct tally *tally, struct comm *comm) {
  return comm_reduce(comm, tally, (int64_t)(sizeof *tally / sizeof(double)), NUMBER_DOUBLE, REDUCE_SUM);
}

int objective_ranks(const struct objective *objective) {
  return objective->metric == METRIC_ROC_AUC;
}

int objective_rank(struct objective *objective, struct run *run, struct tensor logits, struct tally *tally) {
  return roc_auc_compute(&objective->roc_auc, run, logits, tally->roc_auc);
}

/* Accuracy = correct / count; micro-F1 = 2 TP / (predicted + actual), which is the same when both equal
 * count, and 0 when both are 0. */
double tally_metric(const struct objective *objective, const struct tally *tally, enum split split) {
  const double *score = tally->score[split];
  double total = score[1] + score[2];
  if (objective_ranks(objective)) return tally->roc_auc[split];
  if (objective->nodes[split] == 0) return NAN;
  return total > 0 ? 2 * score[0] / total : 0;
}
