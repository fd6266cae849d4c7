/* metrics: one JSON object a line in <log.dir>/metrics.jsonl, for people's plots. Appended and flushed line
 * by line. */
#ifndef IO_METRICS_METRICS_H
#define IO_METRICS_METRICS_H

#include <stdint.h>
#include <stdio.h>

#include "io/file/path_check.h" /* make_folder */
#include "io/metrics/events.h"
#include "io/metrics/metrics_row.h"

struct metrics {
  FILE *file;
  char path[1100];
  struct events events; /* the same for TensorBoard, where that is asked for */
};

/* NaN is written as null. */
struct metrics_final {
  int64_t run, best_epoch, epochs;
  double val, test, seconds; /* seconds of all epochs of the run, evaluation included */
  int64_t peak_bytes;        /* of the rank that took most */
};

/* resume_run, resume_epoch: keeps the lines of earlier runs and of this run up to that epoch and cuts the
 * rest, and says so when some of this run's are missing; resume_epoch < 0 starts a new file. Errors: FAILED
 * when it cannot be written. */
int metrics_open(struct metrics *metrics, const char *dir, int64_t resume_run, int64_t resume_epoch);

/* TensorBoard gets the epochs as well, of a job of so many runs; 0: it does not. Called once, when the
 * metrics are open. fresh, errors: events_open's. */
int metrics_tensorboard(struct metrics *metrics, const char *dir, int64_t runs, int fresh);
int metrics_epoch(struct metrics *metrics, const struct metrics_row *row);
int metrics_final(struct metrics *metrics, const struct metrics_final *row);
/* Returns once all lines are on storage. */
int metrics_sync(struct metrics *metrics);
void metrics_close(struct metrics *metrics);

#endif
