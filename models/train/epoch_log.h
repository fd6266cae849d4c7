/* epoch_log: the lines of epochs. On a terminal one rewrites itself. A log gets the first epoch, then one
 * every few seconds, and the last; before each the best evaluation since the line above, where that is
 * another. With log.progress = N every N-th epoch has a line, and with --verbose each has. */
#ifndef MODELS_TRAIN_EPOCH_LOG_H
#define MODELS_TRAIN_EPOCH_LOG_H

#include "io/metrics/metrics.h"
#include "models/core/run.h"
#include "models/train/times.h"

enum { EPOCH_LOG_SECONDS = 5, EPOCH_LINE = 256 };

struct epoch_log {
  double said;                               /* when, on the profile's clock; 0: nothing yet */
  char newest[EPOCH_LINE], best[EPOCH_LINE]; /* that are not printed yet; "": none */
};

/* One epoch: its number, loss, metrics (NaN: left out), ms, ETA. is_best: it was evaluated and is the best so
 * far. */
void epoch_log_add(struct epoch_log *log, const struct times *times, const struct run *run,
                   const struct metrics_row *row, int is_best);
/* No epoch of this run follows: what is not printed yet is now; of several runs a line each says more. */
void epoch_log_end(struct epoch_log *log, const struct run *run);

#endif
