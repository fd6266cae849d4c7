/* events: the curves of a run for TensorBoard, as it reads them while they grow: records of TFRecord's
 * framing, each an Event of its protocol buffers (tensorflow/core/util/event.proto, summary.proto), in
 * <log.dir>/tensorboard/events.out.tfevents.*, or one folder more, run-N, where a job has several runs.
 *
 * Each start of a job has a file of its own, which begins with the epoch that it goes on from: of files of
 * before TensorBoard passes over what comes from there on. */
#ifndef IO_METRICS_EVENTS_H
#define IO_METRICS_EVENTS_H

#include <stdint.h>
#include <stdio.h>

#include "io/metrics/metrics_row.h"

/* Zeroed: none. */
struct events {
  char folder[1100]; /* "": none are written */
  int64_t runs;      /* of the job */
  int64_t run;       /* the one whose file is open */
  FILE *file;        /* NULL: none is open */
};

/* runs: of the job; 0: no events are wanted. fresh: what a former job left in <dir>/tensorboard goes. Errors:
 * FAILED when it cannot be removed; BAD_INPUT when the folder's name is too long. */
int events_open(struct events *events, const char *dir, int64_t runs, int fresh);

/* Appends an epoch, whose file is made where it is not open; values that are NaN are left out. Errors: FAILED
 * when it cannot be written. */
int events_epoch(struct events *events, const struct metrics_row *row);
void events_close(struct events *events);

#endif
