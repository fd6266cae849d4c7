/* predict: what a trained model says of every node, written in the dataset's order.
 *
 * As HDF5 /logits float32 [N, C]; /prediction int32 [N], or uint8 [N, C] when multilabel (logit > 0);
 * /embedding float32 [N, hidden]: output of the last hidden layer; /id: the user's ids, where the dataset has
 * them. /class_names: likewise. As a table (.csv) ids, predictions, names and logits; as an array (.npy)
 * predictions alone. */
#ifndef MODELS_SESSION_PREDICT_H
#define MODELS_SESSION_PREDICT_H

#include "models/train/trainer.h"

/* Collective. Loads that checkpoint's parameters and writes the file (beside, synced, renamed; its folder
 * is made) on rank 0.
 * Errors: BAD_INPUT for a checkpoint of another model, FAILED when the file cannot be written. */
int trainer_predict(struct trainer *trainer, struct run *run, const char *checkpoint, const char *path);

#endif
