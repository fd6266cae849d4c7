#include "runtime/base/worker.h"

#include <omp.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>

#include "runtime/base/error.h"

/* Errors and the number of threads belong to the thread that has them. */
static void *run(void *argument) {
  struct aside *aside = argument;
  omp_set_num_threads(aside->threads);
  aside->code = aside->call(aside->context);
  if (aside->code != OK) snprintf(aside->message, sizeof aside->message, "%s", error_message());
  return NULL;
}

int aside_start(struct aside *aside, int (*call)(void *context), void *context) {
  *aside = (struct aside){.call = call, .context = context, .threads = omp_get_max_threads()};
  if (pthread_create(&aside->thread, NULL, run, aside) != 0) FAIL(FAILED, "no thread could be started");
  aside->running = 1;
  return OK;
}

static struct timespec after(double seconds) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  int64_t nanoseconds = t.tv_nsec + (int64_t)(seconds * 1e9);
  t.tv_sec += nanoseconds / 1000000000;
  t.tv_nsec = nanoseconds % 1000000000;
  return t;
}

int aside_wait(struct aside *aside, double seconds) {
  if (!aside->running) return 1;
  struct timespec deadline = after(seconds);
  int ended = seconds > 0 ? pthread_timedjoin_np(aside->thread, NULL, &deadline)
                          : pthread_tryjoin_np(aside->thread, NULL);
  aside->running = ended != 0;
  return !aside->running;
}

int aside_finish(struct aside *aside) {
  if (aside->running) pthread_join(aside->thread, NULL);
  aside->running = 0;
  if (aside->code != OK) FAIL(aside->code, "%s", aside->message);
  return OK;
}
