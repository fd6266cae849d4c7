#include "models/train/divergence.h"

#include <math.h>

#include "runtime/base/base.h"

/* The loss of a model that knows nothing, at least: where a run goes on from a small one, it may come back to
 * that. */
static const double ignorant = 0.69;

enum { SENTENCE = 256 };

/* "first in the output of layer 1", or in the gradient of which parameter; `where` stays when neither has
 * any. The pass is repeated, since others may be queued behind it: with frozen weights or a snapshot. */
static int find_nonfinite(struct epoch *pass, struct run *run, int64_t epoch, int training, char *where,
                          size_t size) {
  struct model *model = pass->model;
  int layer = -1, parameter = -1;
  if (!training) TRY(snapshot_restore(pass->snapshots, model, run, epoch));
  TRY(model_find_nonfinite(model, run, training, &layer));
  int64_t first = layer < 0 ? INT32_MAX : layer;
  TRY(comm_reduce(run->comm, &first, 1, NUMBER_INT64, REDUCE_MIN));
  if (training && first == INT32_MAX) TRY(model_find_nonfinite_gradient(model, run, &parameter));
  if (first != INT32_MAX)
    snprintf(where, size, "first in the output of layer %lld", (long long)first);
  else if (parameter >= 0)
    snprintf(where, size, "first in the gradient of %s", model->parameters.list[parameter].name);
  return OK;
}

/* Writes that `what` is not finite, and where that began. */
static int tell_nonfinite(struct epoch *pass, struct run *run, int64_t epoch, const char *what, int training,
                          char sentence[SENTENCE]) {
  char where[96];
  snprintf(where, sizeof where, "in the %s", what);
  TRY(find_nonfinite(pass, run, epoch, training, where, sizeof where));
  snprintf(sentence, SENTENCE, "the %s is not finite (NaN or infinity %s)", what, where);
  return OK;
}

/* What is wrong; "": nothing. */
static int judge(const struct divergence *at, double first, struct epoch *pass, struct run *run,
                 char sentence[SENTENCE]) {
  const double *evaluated = at->tally->loss;
  sentence[0] = '\0';
  if (!isfinite(at->loss)) return tell_nonfinite(pass, run, at->epoch, "loss", 1, sentence);
  if (at->frozen) return tell_nonfinite(pass, run, at->epoch, "norm of the gradient", 1, sentence);
  if (!isfinite(evaluated[SPLIT_TRAIN] + evaluated[SPLIT_VAL]))
    return tell_nonfinite(pass, run, at->epoch, "loss", 0, sentence);
  if (at->loss > LOSS_GROWTH * first)
    snprintf(sentence, SENTENCE, "the loss is %.3g, over a million times the %.3g that it began with",
             at->loss, first);
  return OK;
}

static int refuse(int64_t epoch, const char *sentence) {
  FAIL(FAILED, "epoch %lld: %s; try a smaller train.lr or train.clip = 1", (long long)epoch, sentence);
}

int divergence_check(const struct divergence *at, double *first, struct epoch *pass, struct run *run) {
  char sentence[SENTENCE];
  if (*first == 0) *first = fmax(at->loss, ignorant);
  int code = judge(at, *first, pass, run, sentence);
  if (code == OK && !sentence[0]) return OK;
  if (code == OK) {
    code = refuse(at->epoch, sentence);
    error_hide_trace();
  }
  return comm_agree(run->comm, code);
}
