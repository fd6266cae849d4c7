#include "runtime/base/integer.h"

#include <stdlib.h>
#include <string.h>

int compare_int32(const void *a, const void *b) {
  return COMPARE(*(const int32_t *)a, *(const int32_t *)b);
}

int compare_int64(const void *a, const void *b) {
  return COMPARE(*(const int64_t *)a, *(const int64_t *)b);
}

int64_t sort_distinct(int32_t *value, int64_t count) {
  int64_t kept = 0;
  qsort(value, (size_t)count, sizeof *value, compare_int32);
  for (int64_t i = 0; i < count; i++) {
    if (kept == 0 || value[i] != value[kept - 1]) value[kept++] = value[i];
  }
  return kept;
}

int64_t find_sorted(const int32_t *value, int64_t first, int64_t end, int32_t wanted) {
  const int32_t *found = bsearch(&wanted, value + first, (size_t)(end - first), sizeof *value, compare_int32);
  return found ? found - value : -1;
}

void group_by_key(const int32_t *key, int64_t count, int64_t groups, int64_t *start, int32_t *item) {
  for (int64_t i = 0; i < count; i++) start[key[i] + 1]++;
  for (int64_t g = 0; g < groups; g++) start[g + 1] += start[g];
  for (int64_t i = 0; i < count; i++) item[start[key[i]]++] = (int32_t)i; /* start[g] runs to start[g + 1] */
  memmove(start + 1, start, (size_t)groups * sizeof *start);
  start[0] = 0;
}
