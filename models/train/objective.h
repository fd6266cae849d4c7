/* objective: the masked loss that is minimised and the metric that is reported, over the nodes of each split.
 * Loss = sum over a split's nodes / their number on all ranks (multilabel: also / classes). */
#ifndef MODELS_TRAIN_OBJECTIVE_H
#define MODELS_TRAIN_OBJECTIVE_H

#include "kernels/ops/loss.h"
#include "models/layers/model_pass.h"
#include "models/train/roc_auc.h"
#include "runtime/device/arena.h"

struct objective {
  enum task task;
  enum metric metric;
  int64_t classes;
  int64_t nodes[SPLIT_COUNT]; /* of each split, on all ranks */
  int32_t *label;             /* device [own]; multiclass */
  int32_t *counted;           /* the same of training nodes, -1 of the others */
  void *row_loss;             /* real [own] on the device: where a loss comes along; likewise multiclass */
  uint8_t *labels;            /* device [own, classes]; multilabel */
  int64_t chunk_rows;         /* logits come for so many rows at a time */
  int chunks;
  int32_t *rows[SPLIT_COUNT]; /* device; counted from the first row of the chunk that they lie in */
  struct outcome *outcome;    /* device [chunks] */
  struct roc_auc roc_auc;     /* METRIC_ROC_AUC */
};

/* What the passes of an epoch leave for the host of the rows of a chunk, in the device's memory. Of this
 * rank. */
struct outcome {
  double loss;                    /* of the training pass; the others are of the evaluation */
  double split_loss[SPLIT_COUNT]; /* shares of the mean loss */
  int64_t score[SPLIT_COUNT][3];  /* correct, predicted, actual */
};

/* What one evaluation found; sums over ranks make losses and metrics of it. */
struct tally {
  double loss[SPLIT_COUNT];     /* shares of the mean loss */
  double score[SPLIT_COUNT][3]; /* correct, predicted, actual */
  double roc_auc[SPLIT_COUNT];  /* under the ROC curve: set after the sums over ranks, by objective_rank */
};

/* The split of run r: (dataset.split + r) mod k, where the dataset has k of them. */
int64_t objective_split(const struct run *run, int64_t index);
/* By the settings and the dataset's header. Errors: BAD_INPUT for a loss or metric of another task. */
int objective_check(const struct config *config, const struct dataset *dataset);
/* On one rank. Errors: BAD_INPUT for a split of any run without training nodes. */
int objective_check_splits(const struct config *config, struct dataset *dataset);
void objective_init(struct objective *objective, const struct run *run);
/* chunk_rows: see model_chunk_rows. */
void objective_plan(struct objective *objective, struct run *run, int64_t chunk_rows, struct arena *arena);
/* Uploads labels and splits of run->shard; again after the split has changed. Collective. */
int objective_start(struct objective *objective, struct run *run);
void objective_free(struct objective *objective);
/* Host bytes for objective_rank. */
int64_t objective_host_bytes(const struct objective *objective, const struct run *run);

/* Loss of a split's rows among these (a share of the mean) with the gradient of the logits, where that is
 * given. loss: where it goes, on the device. */
struct loss_op objective_loss_op(const struct objective *objective, const struct run *run, enum split split,
                                 const struct logits *logits, double *loss);
/* Computes it, all but the sum of what the logits' own op has left (`along`, see struct loss_op), which can
 * be had of the training nodes where objective_comes_along. */
int objective_loss(const struct objective *objective, struct run *run, const struct loss_op *op, int along);
int objective_comes_along(const struct objective *objective);
/* Loss and counts of every split, into the chunk's outcome. */
int objective_tally(struct objective *objective, struct run *run, const struct logits *logits);

/* The sum of outcomes that have come to the host, of so many chunks. */
struct outcome outcome_sum(const struct outcome *outcome, int chunks);
struct tally tally_of(const struct outcome *outcome);
/* Sums over ranks, in place. */
int tally_reduce(struct tally *tally, struct comm *comm);
/* Whether the metric is one of ranks: then every evaluation's logits are wanted on the host, for this, which
 * follows tally_reduce. Collective. */
int objective_ranks(const struct objective *objective);
int objective_rank(struct objective *objective, struct run *run, struct tensor logits, struct tally *tally);
/* The metric in [0, 1] from reduced counts, 0 where nothing is to be found; NaN for a split without nodes. */
double tally_metric(const struct objective *objective, const struct tally *tally, enum split split);

#endif
