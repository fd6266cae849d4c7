/* worker: work in a thread of its own while the thread that started it goes on. Its error is carried over. */
#ifndef RUNTIME_BASE_WORKER_H
#define RUNTIME_BASE_WORKER_H

#include <pthread.h>

#include "runtime/base/error.h"

/* Stays where it is while it runs. */
struct worker {
  int (*call)(void *context);
  void *context;
  pthread_t thread;
  int running; /* and nobody has noticed its end */
  int threads; /* of its parallel regions: as many as those of the thread that started it */
  struct error_first error;
};

/* Errors: FAILED when there is no thread to be had. */
int worker_start(struct worker *worker, int (*call)(void *context), void *context);

/* Whether it has ended, or was never started; waits for that at most `seconds`. Only the thread that started
 * it may ask. */
int worker_wait(struct worker *worker, double seconds);

/* Waits; returns what the call returned, with its message. */
int worker_finish(struct worker *worker);

#endif
