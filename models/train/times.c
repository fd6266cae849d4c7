#include "models/train/times.h"

#include <math.h>

#include "runtime/base/base.h"
#include "runtime/profile/profile_clock.h"

void times_free(struct times *times) {
  free(times->ms);
  *times = (struct times){0};
}

void times_start(struct times *times) {
  times->since = profile_clock();
}

/* Room for one more. */
static int extend(struct times *times) {
  const int64_t real = (int64_t)sizeof(double);
  if (times->used < times->room) return OK;
  times->room = 2 * times->used + 1024;
  return memory_grow(&times->ms, times->used * real, times->room * real, "epoch times");
}

int times_add(struct times *times, double ms, double *seconds) {
  TRY(extend(times));
  double now = profile_clock();
  *seconds = now - times->since;
  times->ms[times->used++] = ms;
  times->epochs++;
  times->seconds += *seconds;
  times->since = now;
  return OK;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return COMPARE(x, y);
}

double times_median(const struct times *times) {
  size_t count = (size_t)times->used;
  double *sorted = count > 0 ? malloc(count * sizeof *sorted) : NULL;
  if (!sorted) return NAN;
  memcpy(sorted, times->ms, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, by_value);
  double middle = .5 * (sorted[(count - 1) / 2] + sorted[count / 2]);
  free(sorted);
  return middle;
}
