/* report: what a person sees of a training: a line an epoch and a closing table. */
#ifndef MODELS_TRAIN_REPORT_H
#define MODELS_TRAIN_REPORT_H

#include "io/dataset/metrics.h"
#include "models/train/state/state.h"
#include "models/train/times.h"

/* What the closing table is made from; borrowed. */
struct report {
  const struct state *state;
  const struct times *times;
  enum metric metric;
  int64_t host_estimate, device_estimate; /* bytes of this rank */
};

/* One epoch's line: epoch, loss, metrics (NaN: left out), ms, ETA. Rewrites itself on a terminal; in a log
 * every log.progress-th epoch has a line. */
void report_epoch(const struct times *times, const struct run *run, const struct metrics_row *row);
/* A run's result in one line, when there are several runs. */
void report_run(const struct state *state, const struct run *run);
/* Collective. Results, mean and deviation over runs, median ms, seconds, peak memory against the estimate,
 * and where the files are. */
int report_closing(const struct report *report, struct run *run);
/* "81.50%" or "-" for NaN, into text[16]. */
const char *report_percent(double metric, char text[16]);

#endif
