/* dataset_check_rows: the check of what a dataset holds as compressed rows. */
#ifndef IO_DATASET_DATASET_CHECK_ROWS_H
#define IO_DATASET_DATASET_CHECK_ROWS_H

#include "io/dataset/dataset.h"

enum violation_kind {
  VIOLATION_START,
  VIOLATION_RANGE,
  VIOLATION_ORDER,
  VIOLATION_VALUE,
  VIOLATION_PATTERN,
  VIOLATION_WEIGHT,
  VIOLATION_LABEL,
  VIOLATION_CLASS_NAME,
  VIOLATION_SPLIT_NODE,
  VIOLATION_SPLIT_TWICE,
  VIOLATION_SPLIT_LABEL,
  VIOLATION_SPLIT_NAME,
  VIOLATIONS
};

struct check {
  struct dataset *d;
  void (*say)(const char *violation, void *context);
  void *context;
  int64_t found, of_kind[VIOLATIONS];
  int32_t *label; /* multiclass, else NULL */
  double said;    /* when progress was, by profile_clock; 0: never */
};

/* Counts it, and says it unless 20 of its kind have been said. */
void check_violation(struct check *check, enum violation_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The first of the values that is not finite, or how many there are. */
int64_t check_first_infinite(const float *value, int64_t count);

/* Every few seconds: how much of `name` was looked at. */
void check_progress(struct check *check, const char *name, int64_t done, int64_t all);

/* Offsets, ids and values of compressed rows; of an undirected graph that is sound so far, symmetry, too.
 * Nothing to do for what the dataset does not have. Errors: memory; what cannot be read. */
int check_graph(struct check *check);
int check_other_rows(struct check *check);

#endif
