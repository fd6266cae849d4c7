#include "partition/watch.h"

#include <errno.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <time.h>

#include "runtime/error.h"
#include "runtime/log.h"
#include "runtime/profile.h"

/* Errors and the number of threads belong to the thread that has them: they are carried over. */
struct work {
  int (*call)(void *context);
  void *context;
  int threads, code;
  char message[1024];
};

struct watch watch_of(struct comm *comm) {
  double now = profile_clock();
  return (struct watch){comm, now, now};
}

static void *run(void *argument) {
  struct work *work = argument;
  omp_set_num_threads(work->threads);
  work->code = work->call(work->context);
  if (work->code != OK) snprintf(work->message, sizeof work->message, "%s", error_message());
  return NULL;
}

static struct timespec after(double seconds) {
  struct timespec t;
  clock_gettime(CLOCK_REALTIME, &t);
  int64_t nanoseconds = t.tv_nsec + (int64_t)(seconds * 1e9);
  t.tv_sec += nanoseconds / 1000000000;
  t.tv_nsec = nanoseconds % 1000000000;
  return t;
}

/* Waits for the thread; every second it tells the other ranks to be patient, every few seconds people. */
static void wait_for(struct watch *watch, const char *doing, pthread_t thread) {
  struct sigaction terminate;
  sigaction(SIGTERM, NULL, &terminate);
  for (;;) {
    struct timespec deadline = after(1);
    if (pthread_timedjoin_np(thread, NULL, &deadline) == 0) return;
    sigaction(SIGTERM, &terminate, NULL); /* METIS takes the signal to itself while it runs */
    double now = profile_clock();
    if (now - watch->spoke >= (log_is_terminal() ? 1 : 5)) {
      log_progress("%s: %.0f s", doing, now - watch->began);
      watch->spoke = now;
    }
    if (comm_alive(watch->comm) != OK) {
      error_print(stderr, program_invocation_short_name);
      comm_abort(watch->comm, FAILED);
    }
  }
}

int watch_work(struct watch *watch, const char *doing, int (*call)(void *context), void *context) {
  struct work work = {.call = call, .context = context, .threads = omp_get_max_threads()};
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, &work) != 0) FAIL(FAILED, "%s: no thread could be started", doing);
  wait_for(watch, doing, thread);
  if (work.code != OK) FAIL(work.code, "%s", work.message);
  return OK;
}
