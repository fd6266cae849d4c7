/* area: the area under the ROC curve over all ranks, for a dataset of two classes, exactly: the share of
 * pairs of a node of class 1 and one of class 0 in which the former has the higher score, equal scores
 * counting half. The score is logit 1 - logit 0. */
#ifndef MODELS_AREA_H
#define MODELS_AREA_H

#include "models/run.h"

struct scored {
  double score;
  double positive; /* 1: class 1 */
};

struct area {
  struct scored *node;        /* [largest split of all ranks]; NULL: not wanted */
  int64_t first[SPLIT_COUNT]; /* this rank's among the nodes of a split */
};

/* Errors: BAD_INPUT where there are not two classes. */
int area_check(const struct run *run);
/* Collective; again after the split has changed. Errors: BAD_INPUT for validation nodes of one class alone.
 */
int area_start(struct area *area, struct run *run);
void area_free(struct area *area);
/* Host bytes that area_start allocates. */
int64_t area_bytes(const struct run *run);

/* Collective. From this rank's logits, [own, 2] reals on the host; NaN for a split without both classes. */
int area_compute(struct area *area, struct run *run, struct tensor logits, double under[SPLIT_COUNT]);

#endif
