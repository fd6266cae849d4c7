/* roc_auc: the area under the ROC curve over all ranks, for a dataset of two classes: the share of pairs of a
 * node of class 1 and one of class 0 in which the former has the higher score, ties counting half. The score
 * is logit 1 - logit 0.
 *
 * Nodes of equal features and neighbourhoods have equal scores in exact arithmetic; what they get differs in
 * its last bits, by the order of sums, which ranks change. So a score stands for an interval around it, of
 * reach e (m + M): m the larger of the node's two logits in size, M the mean of m over the split, e what the
 * precision leaves open (fp64: 1e-13, fp32: 2e-6, tf32 and bf16: 1e-3). A pair is a tie where the intervals
 * meet. That asks of two nodes alone, so no boundary between classes of ties can come to lie between equal
 * scores: they tie on any number of ranks, as long as rounding moves logits by less than their reach. Another
 * pair changes only where it is as far apart as both reaches to within rounding. Every pair is counted, and
 * counts are exact. */
#ifndef MODELS_TRAIN_ROC_AUC_H
#define MODELS_TRAIN_ROC_AUC_H

#include "models/core/run.h"

struct scored {
  double low, high; /* ends of the interval; first the score and the larger logit */
  double positive;  /* 1: class 1 */
};

struct roc_auc {
  struct scored *node;        /* [largest split of all ranks]; NULL: not wanted */
  int64_t first[SPLIT_COUNT]; /* this rank's among the nodes of a split */
};

/* Collective; again after the split has changed. Errors: BAD_INPUT for validation nodes of one class alone.
 */
int roc_auc_start(struct roc_auc *roc_auc, struct run *run);
void roc_auc_free(struct roc_auc *roc_auc);
/* Host bytes that roc_auc_start allocates. */
int64_t roc_auc_bytes(const struct run *run);

/* Collective. From this rank's logits, [own, 2] reals on the host; NaN for a split without both classes. */
int roc_auc_compute(struct roc_auc *roc_auc, struct run *run, struct tensor logits,
                    double under[SPLIT_COUNT]);

#endif
