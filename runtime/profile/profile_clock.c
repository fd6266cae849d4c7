#include "runtime/profile/profile_clock.h"

#include <time.h>

static double started, started_epoch;

static double read_clock(clockid_t id) {
  struct timespec now;
  clock_gettime(id, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

__attribute__((constructor)) static void start_clock(void) {
  started = read_clock(CLOCK_MONOTONIC);
  started_epoch = read_clock(CLOCK_REALTIME);
}

double profile_clock(void) {
  return read_clock(CLOCK_MONOTONIC) - started;
}

double profile_epoch(void) {
  return started_epoch;
}
