/* times: how long the epochs of this process took. */
#ifndef MODELS_TRAIN_TIMES_H
#define MODELS_TRAIN_TIMES_H

#include <stdint.h>

/* A run that goes on from its billionth epoch needs no more room than another. */
struct times {
  double *ms; /* [used] of the epochs that this process has done of the current run */
  int64_t used, room;
  double since;   /* seconds are counted up to here */
  double seconds; /* of all its epochs, evaluation included */
  int64_t epochs; /* all of them */
};

void times_free(struct times *times);

/* Seconds count from now on. */
void times_start(struct times *times);
/* One more epoch, of so many milliseconds; *seconds since the one before it, or since the start. */
int times_add(struct times *times, double ms, double *seconds);

/* Of the current run; NaN: none, or no memory for it. */
double times_median(const struct times *times);

#endif
