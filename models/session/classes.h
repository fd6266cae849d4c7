/* classes: precision, recall and F1 of each class over the nodes of a split. Multiclass: a node counts for
 * the class of its largest logit (ties to the lowest class); multilabel: for each class with a logit above 0.
 */
#ifndef MODELS_SESSION_CLASSES_H
#define MODELS_SESSION_CLASSES_H

#include "models/layers/model_pass.h"

struct class_score {
  int64_t hits, predicted, actual;
};

struct class_counts {
  struct class_score *score; /* [classes] */
  int64_t *pair; /* [classes, classes]: nodes of a class, row by row, by the class that they counted for;
                    multiclass alone; NULL: not wanted */
};

/* pairs: whether they are wanted. Errors: FAILED: memory. */
int class_counts_init(struct class_counts *counts, int64_t classes, int pairs);
void class_counts_free(struct class_counts *counts);

/* Collective. Over all ranks, from an evaluation of the model as it is. */
int classes_count(struct model *model, struct run *run, enum split split, struct class_counts *counts);
/* Harmonic mean of precision and recall; NaN for a class that neither is nor was predicted. */
double class_f1(const struct class_score *score);
/* Collective. A line a class: nodes, precision, recall, F1; then the mean of F1 over classes that have one.
 */
int classes_print(const struct class_counts *counts, struct run *run, enum split split);

#endif
