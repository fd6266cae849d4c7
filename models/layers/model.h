/* model: the program of a type of model over one shard, its parameters and its buffers. */
#ifndef MODELS_LAYERS_MODEL_H
#define MODELS_LAYERS_MODEL_H

#include "kernels/ops/loss.h"
#include "models/core/features.h"
#include "models/core/parameters.h"
#include "models/core/propagation/propagate.h"
#include "models/core/readout.h"
#include "models/program/program.h"
#include "runtime/base/memory.h"

struct model {
  struct program program;
  struct parameters parameters;
  struct features features;
  struct propagation propagation;
  struct readout readout;
  int uses_graph;
  struct arena arena;
  int64_t *id;         /* [own] global node ids on the device, for dropout */
  void *sums;          /* real [2 widest]: batch norm sums over ranks */
  int64_t workspace;   /* bytes of scratch that its kernels ask for */
  struct loss_op loss; /* of a training pass, which comes along with the logits */
  int has_loss;        /* where it may: model_takes_loss */
  /* The stretch of the parameters whose gradients are summed over chunks, and those sums, real [chunk_count]
   */
  int64_t chunk_first, chunk_count;
  void *chunk_sums;
};

/* Builds the program of run->config over run->shard and measures its buffers (model->arena.used).
 * Errors: BAD_INPUT for an unknown model.type, naming those there are. */
int model_init(struct model *model, struct run *run);
/* The same program once more, to take less memory where train.recompute and runtime.offload are "auto".
 * saving 1: signs are kept in place of outputs, where these suffice; then the backward computes the inside of
 * one layer again, of two, and so on; then one output waits in the host's memory, two, and so on. What else
 * model_init has made stays. */
int model_save(struct model *model, struct run *run, int saving);
/* The most that has an effect, by now. */
int model_most_saving(const struct model *model, const struct run *run);
/* Bytes of the device that model_start will take. */
int64_t model_bytes(const struct model *model);
/* Adds what model_start will allocate; host and device may be one. */
void model_estimate(const struct model *model, const struct run *run, struct estimate *host,
                    struct estimate *device);
/* Allocates the buffers, uploads features and scales, computes the constant first aggregate. Collective. */
int model_start(struct model *model, struct run *run);
/* New parameters for run->index, and its dropout streams. */
int model_reset(struct model *model, struct run *run);
void model_free(struct model *model, struct run *run);

#endif
