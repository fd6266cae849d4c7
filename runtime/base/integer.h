/* integer: the smaller and the larger of two numbers; sorting, searching and grouping them. */
#ifndef RUNTIME_BASE_INTEGER_H
#define RUNTIME_BASE_INTEGER_H

#include <stdint.h>

static inline int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static inline int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* For qsort: -1, 0 or 1. COMPARE is that of any two numbers. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))
int compare_int32(const void *a, const void *b);
int compare_int64(const void *a, const void *b);

/* Sorts, and drops what repeats; returns how many are left. */
int64_t sort_distinct(int32_t *value, int64_t count);

/* The place of `wanted` among value[first .. end), which ascend; -1: it is not there. */
int64_t find_sorted(const int32_t *value, int64_t first, int64_t end, int32_t wanted);

/* Lists 0 .. count-1 by their keys, which lie in [0, groups): those of key g ascend in item[start[g] ..
 * start[g + 1]). start: [groups + 1], zeroed. */
void group_by_key(const int32_t *key, int64_t count, int64_t groups, int64_t *start, int32_t *item);

#endif
