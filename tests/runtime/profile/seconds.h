/* What regions of a name took. */
#ifndef TESTS_RUNTIME_PROFILE_SECONDS_H
#define TESTS_RUNTIME_PROFILE_SECONDS_H

#include <stdlib.h>
#include <string.h>

#include "runtime/base/error.h"
#include "runtime/profile/profile_tree.h"

/* Seconds on this rank, 0 when none ever ran. */
static inline double profile_seconds(const char *name) {
  struct profile_region *region = NULL;
  int64_t count = 0;
  double seconds = 0;
  if (profile_tree(&region, &count) != OK) abort();
  for (int64_t r = 1; r < count; r++)
    if (strcmp(region[r].name, name) == 0) seconds += region[r].seconds;
  free(region);
  return seconds;
}

#endif
