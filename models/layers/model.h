/* model: the program of a type of model over one shard, its parameters and its buffers. */
#ifndef MODELS_LAYERS_MODEL_H
#define MODELS_LAYERS_MODEL_H

#include "kernels/ops/loss.h"
#include "models/core/features.h"
#include "models/core/parameters.h"
#include "models/core/propagate.h"
#include "models/program/program.h"
#include "runtime/base/memory.h"

struct model {
  struct program program;
  struct parameters parameters;
  struct features features;
  struct propagation propagation;
  int uses_graph;
  struct arena arena;
  int64_t *id;         /* [own] global node ids on the device, for dropout */
  void *sums;          /* real [2 widest]: batch norm sums over ranks */
  int64_t workspace;   /* bytes of scratch that its kernels ask for */
  struct loss_op loss; /* of a training pass, which comes along with the logits */
  int has_loss;        /* where it may: model_takes_loss */
};

/* Builds the program of run->config over run->shard and measures its buffers (model->arena.used).
 * Errors: BAD_INPUT for an unknown model.type, naming those there are. */
int model_init(struct model *model, struct run *run);
/* Adds what model_start will allocate; host and device may be one. */
void model_estimate(const struct model *model, const struct run *run, struct estimate *host,
                    struct estimate *device);
/* Allocates the buffers, uploads features and scales, computes the constant first aggregate. Collective. */
int model_start(struct model *model, struct run *run);
/* New parameters for run->index, and its dropout streams. */
int model_reset(struct model *model, struct run *run);
void model_free(struct model *model, struct run *run);

/* training: dropout on, statistics of the batch, and only the rows that are needed. */
int model_forward(struct model *model, struct run *run, int training);
/* Logits [own, classes] of an evaluation. */
struct tensor model_logits(const struct model *model);
/* Those of a training pass, of the rows that it computes. */
struct tensor model_trained_logits(const struct model *model);
/* Whether model->has_loss may be set: the logits' rows are finished by an op that takes it along. */
int model_takes_loss(const struct model *model);
/* Output of the last hidden layer after an evaluation (where there is one layer only: no data). */
struct tensor model_embedding(const struct model *model);
/* From the gradient of the logits to parameters.dw of this rank's rows. */
int model_backward(struct model *model, struct run *run);
/* Where the loss writes its gradient, of these rows, and what it multiplies the rows by (real [own]; NULL:
 * nothing). */
struct tensor model_logits_grad(const struct model *model);
const void *model_logits_grad_scale(const struct model *model);

/* Runs a forward pass and gives the index of the first layer whose output holds NaN or infinity on this rank,
 * -1: none. */
int model_find_nonfinite(struct model *model, struct run *run, int training, int *layer);
/* Index of the parameter whose gradient was the first of the backward pass to hold one, -1: none. */
int model_find_nonfinite_gradient(struct model *model, struct run *run, int *parameter);

#endif
