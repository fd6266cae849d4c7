/* evaluate: what a checkpoint's weights are worth. Where nodes have one label, also the confusion matrices of
 * the validation and the test part as a table: "split,label,prediction,count", and the names of both classes
 * where the dataset has them, a line for each pair of classes that occurs. */
#ifndef MODELS_SESSION_EVALUATE_H
#define MODELS_SESSION_EVALUATE_H

#include "models/train/trainer.h"

enum { EVALUATE_CLASSES = 2048 }; /* most that a confusion matrix has */

/* Whether there are confusion matrices, by the dataset's header. Errors: BAD_INPUT: several labels a node,
 * too many classes. */
int evaluate_check(const struct config *config, const struct dataset *dataset);
/* Errors: BAD_INPUT where something else is there than such a table. */
int evaluate_check_file(const char *path);

/* Collective. Loads that checkpoint's parameters, makes a forward pass without dropout and prints the metrics
 * of the three splits, and those of the test split by class. path: where rank 0 writes the confusion matrices
 * (beside, synced, renamed; its folder is made); NULL: nowhere. */
int trainer_evaluate(struct trainer *trainer, struct run *run, const char *checkpoint, const char *path);

#endif
