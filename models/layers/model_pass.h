/* model_pass: a way through the program of a model, forward and back. Logits come for all rows at once or for
 * some rows after the other (models/program/chunks.c): whoever wants them is called for each such chunk. */
#ifndef MODELS_LAYERS_MODEL_PASS_H
#define MODELS_LAYERS_MODEL_PASS_H

#include "models/layers/model.h"

/* Logits of rows [first, first + logits.rows) of a pass. */
struct logits {
  struct tensor logits;   /* real [rows, classes] */
  struct tensor grad;     /* where the loss writes its gradient, dtype [rows, classes]; training alone */
  const void *grad_scale; /* what it multiplies the rows by, real [rows]; NULL: nothing */
  int64_t first;
  int chunk; /* from 0 */
};

typedef int logits_use(void *context, struct run *run, const struct logits *logits);

/* Only the rows that are needed. training: dropout on, statistics of the batch. use: called for each chunk;
 * NULL: not wanted. */
int model_forward(struct model *model, struct run *run, int training, logits_use *use, void *context);
/* Forward in training, `loss`, which writes the gradient of the logits, and back to parameters.dw of this
 * rank's rows. */
int model_gradients(struct model *model, struct run *run, logits_use *loss, void *context);

/* Rows of a chunk; those of the shard where there are no chunks. */
int64_t model_chunk_rows(const struct model *model, const struct run *run);
/* Logits of an evaluation, of all rows that it computes [at most own, classes], where there are no chunks. */
struct tensor model_logits(const struct model *model);
/* Logits and gradient of a training pass, of all rows that it computes; likewise. */
struct logits model_trained_logits(struct model *model, struct run *run);
/* Whether model->has_loss may be set: the logits' rows are finished by an op that takes it along. */
int model_takes_loss(const struct model *model);
/* Output of the last hidden layer after an evaluation (where there is one layer only: no data). */
struct tensor model_embedding(const struct model *model);

/* Runs a forward pass and gives the index of the first layer whose output holds NaN or infinity on this rank,
 * -1: none. */
int model_find_nonfinite(struct model *model, struct run *run, int training, int *layer);
/* Index of the parameter whose gradient was the first of the backward pass to hold one, -1: none. */
int model_find_nonfinite_gradient(struct model *model, struct run *run, int *parameter);

#endif
