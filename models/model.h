/* model: a stack of layers over one shard, its parameters and its buffers.
 *
 *   features -> layer 0 -> ... -> layer L-1 -> logits
 *
 * Every layer but the last ends in norm, activation, residual and dropout; the last in its bias alone. */
#ifndef MODELS_MODEL_H
#define MODELS_MODEL_H

#include "models/layer.h"
#include "runtime/memory.h"

struct model {
  int layers;
  struct layer *layer;
  int first_end; /* layers [0, first_end) are the first of model.layers: 1, of gin with its second Linear 2 */
  struct parameters parameters;
  struct features features;
  struct propagation propagation;
  int uses_graph;
  struct arena arena;
  int64_t *id;           /* [own] global node ids on the device, for dropout */
  struct tensor scratch; /* [own, width]: products on their way through the aggregation */
  struct tensor grad[3]; /* [own, width]: gradients passed down, see layer_ops.in_place; the third only with
                            residuals */
  void *sums;            /* real [2 widest]: batch norm sums over ranks */
  struct gemm repeat;    /* the product that left the sums of a batch norm's backward alone, */
  int repeats;           /* which is made again once they are of all ranks */
  int64_t workspace;     /* bytes of scratch that its products ask for */
  struct gemm next;      /* the product that the layer above begins with, */
  int has_next;          /* which the one that makes a layer's output takes along: layer_take_next */
  struct loss_op loss;   /* of a training pass, which comes along with the logits */
  int has_loss;          /* where it may: model_takes_loss */
};

/* Builds the model of run->config over run->shard and measures its buffers (model->arena.used).
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

/* Logits [own, classes]. training: dropout on, statistics of the batch. */
int model_forward(struct model *model, struct run *run, int training);
struct tensor model_logits(const struct model *model);
/* Whether model->has_loss may be set: the logits' rows are finished by an op that takes it along. */
int model_takes_loss(const struct model *model);
/* Output of the last hidden layer (the first layer's input when there is one layer only: no data). */
struct tensor model_embedding(const struct model *model);
/* From the gradient of the logits (in model->grad[0]) to parameters.dw of this rank's rows. */
int model_backward(struct model *model, struct run *run);
/* Where the loss writes its gradient, and what it multiplies the rows by (real [own]; NULL: nothing). */
struct tensor model_logits_grad(const struct model *model);
const void *model_logits_grad_scale(const struct model *model);

/* Index of the first layer whose output holds NaN or infinity on this rank, -1: none. */
int model_find_nonfinite(struct model *model, struct run *run, int *layer);
/* Index of the parameter whose gradient was the first of the backward pass to hold one, -1: none. */
int model_find_nonfinite_gradient(struct model *model, struct run *run, int *parameter);

#endif
