#include "runtime/base/worker.h"

#include <omp.h>
#include <time.h>

#include "runtime/base/base.h"

/* Errors and the number of threads belong to the thread that has them. */
static void *run(void *argument) {
  struct worker *worker = argument;
  omp_set_num_threads(worker->threads);
  error_note(&worker->error, 0, worker->call(worker->context));
  return NULL;
}

int worker_start(struct worker *worker, int (*call)(void *context), void *context) {
  *worker = (struct worker){.call = call, .context = context, .threads = omp_get_max_threads()};
  if (pthread_create(&worker->thread, NULL, run, worker) != 0) FAIL(FAILED, "no thread could be started");
  worker->running = 1;
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

int worker_wait(struct worker *worker, double seconds) {
  if (!worker->running) return 1;
  struct timespec deadline = after(seconds);
  int ended = seconds > 0 ? pthread_timedjoin_np(worker->thread, NULL, &deadline)
                          : pthread_tryjoin_np(worker->thread, NULL);
  worker->running = ended != 0;
  return !worker->running;
}

int worker_finish(struct worker *worker) {
  if (worker->running) pthread_join(worker->thread, NULL);
  worker->running = 0;
  return error_raise_noted(&worker->error);
}
