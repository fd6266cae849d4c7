/* report: what a person sees of a training when it is over: the closing table. */
#ifndef MODELS_TRAIN_REPORT_H
#define MODELS_TRAIN_REPORT_H

#include "io/metrics/metrics.h"
#include "models/train/state/state.h"
#include "models/train/times.h"

/* What the closing table is made from; borrowed. */
struct report {
  const struct state *state;
  const struct times *times;
  enum metric metric;
  int64_t host_estimate, device_estimate; /* bytes of this rank */
};

/* A run's result in one line, when there are several runs. */
void report_run(const struct state *state, const struct run *run);
/* Collective. Results, mean and deviation over runs, median ms, seconds, peak memory against the estimate,
 * and where the files are. */
int report_closing(const struct report *report, struct run *run);
/* "81.50%" or "-" for NaN, into text[16]. */
const char *report_percent(double metric, char text[16]);
/* "1:02:03", "2:03" or "3 s", into text[32]. */
const char *report_duration(double seconds, char text[32]);

#endif
