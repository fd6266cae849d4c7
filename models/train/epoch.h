/* epoch: one pass over the whole graph: forward, loss, backward, one gradient all-reduce, one optimiser step;
 * and, where it is due, one evaluation of the new weights.
 *
 * An epoch is queued on the device as a whole and leaves what the host wants to know in a result, which the
 * host collects when it comes to it; the next epoch may have been queued by then. When the reduced gradient
 * is not finite the device freezes: no weight moves, and every epoch queued later repeats the one that went
 * wrong. */
#ifndef MODELS_TRAIN_EPOCH_H
#define MODELS_TRAIN_EPOCH_H

#include "models/train/objective.h"
#include "models/train/rates.h"
#include "models/train/recording.h"
#include "models/train/state/snapshot.h"

/* What came of an epoch on this rank. */
struct result {
  struct outcome outcome; /* of all chunks, once it is collected */
  struct outcome *of_chunk;
  struct scalars scalars;
  double ms; /* forward, backward and optimiser, on the device's clock */
  struct tensor
      logits; /* after the evaluation, on the host, where objective_ranks; valid as long as the result */
};

enum { RESULTS = 2 }; /* epochs that the host may not know yet */

struct epoch {
  struct model *model; /* borrowed, as are these two */
  struct objective *objective;
  struct snapshots *snapshots;
  struct rates rates;
  struct recording training, evaluation;
  struct result *result[RESULTS]; /* on the host; the device writes them */
  int64_t queued;                 /* the last epoch that the device knows */
};

/* Host bytes of a result. */
int64_t epoch_result_bytes(const struct epoch *pass);

/* Results, and what the epochs share on the device. */
int epoch_open(struct epoch *pass, struct run *run);
void epoch_close(struct epoch *pass, struct run *run);

/* Sets the device to where training stands, so many epochs and optimiser steps done: the next epoch is queued
 * op by op, the one after it is recorded, later ones are replayed; so are evaluations. */
int epoch_begin(struct epoch *pass, struct run *run, int64_t epoch, int64_t step);

/* Queues epoch number `epoch` (from 1, one after the other). */
int epoch_queue(struct epoch *pass, struct run *run, int64_t epoch);
/* Queues the evaluation of the weights after the last epoch queued, and a snapshot of them. */
int epoch_queue_evaluation(struct epoch *pass, struct run *run);
/* Queues the way of that epoch's result to the host. At most RESULTS of them may be under way. */
int epoch_queue_result(struct epoch *pass, struct run *run);

/* Waits for the result of an epoch. */
int epoch_collect(struct epoch *pass, struct run *run, int64_t epoch, struct result *result);

/* What epochs take, where epochs of training are timed and nothing else is wanted: ms of `count` of them
 * after EPOCH_WARM_UP others, the first of all being number epoch + 1, after `step` steps of the optimiser.
 * The device is one epoch ahead of the host, as in training. */
enum { EPOCH_WARM_UP = 3 };
int epoch_time(struct epoch *pass, struct run *run, int64_t epoch, int64_t step, int count, double *ms);

/* What it begins with: the forward pass and this rank's share of the mean training loss, in the outcomes of
 * the objective; and further to the gradients of all parameters, of this rank's rows. */
int epoch_forward(struct epoch *pass, struct run *run);
int epoch_gradients(struct epoch *pass, struct run *run);

/* Forward without dropout, then losses and counts of every split on this rank; waits for them. */
int epoch_evaluate(struct epoch *pass, struct run *run, struct tally *tally);

#endif
