/* What every import must come to, whatever was read. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/import/import_read.h"
#include "runtime/base/error.h"
#include "tests/fuzz/target.h"

#define MUST(condition)                                                     \
  do {                                                                      \
    if (!(condition)) {                                                     \
      fprintf(stderr, "fuzz: %s:%d: %s\n", __FILE__, __LINE__, #condition); \
      abort();                                                              \
    }                                                                       \
  } while (0)

/* Offsets ascend from 0; columns ascend in each row, without duplicates, in [0, cols). */
static void check_rows(const int64_t *start, const int32_t *col, int64_t rows, int64_t cols) {
  MUST(start[0] == 0);
  for (int64_t v = 0; v < rows; v++) {
    MUST(start[v] <= start[v + 1]);
    for (int64_t e = start[v]; e < start[v + 1]; e++) {
      MUST(col[e] >= 0 && col[e] < cols);
      MUST(e == start[v] || col[e - 1] < col[e]);
    }
  }
}

/* Row u has v with the weight of row v's u. */
static void check_symmetric(const struct dataset_source *s) {
  for (int64_t v = 0; v < s->nodes; v++) {
    for (int64_t e = s->start[v]; e < s->start[v + 1]; e++) {
      int64_t u = s->col[e], back = s->start[u];
      while (back < s->start[u + 1] && s->col[back] < v) back++;
      MUST(back < s->start[u + 1] && s->col[back] == v);
      MUST(!s->weight || memcmp(&s->weight[back], &s->weight[e], sizeof(float)) == 0);
    }
  }
}

static void check_finite(const float *value, int64_t count) {
  for (int64_t i = 0; value && i < count; i++) MUST(isfinite(value[i]));
}

static void check_features(const struct dataset_source *s) {
  if (s->feature) check_finite(s->feature, s->nodes * s->features);
  if (!s->sparse.start) return;
  check_rows(s->sparse.start, s->sparse.col, s->nodes, s->features);
  check_finite(s->sparse.value, s->sparse.start[s->nodes]);
}

static void check_labels(const struct dataset_source *s) {
  MUST((s->task == TASK_MULTICLASS) == (s->label != NULL) &&
       (s->task == TASK_MULTILABEL) == (s->labels != NULL));
  for (int64_t v = 0; s->label && v < s->nodes; v++) MUST(s->label[v] >= -1 && s->label[v] < s->classes);
  for (int64_t i = 0; s->labels && i < s->nodes * s->classes; i++) MUST(s->labels[i] <= 1);
}

static void check_splits(const struct dataset_source *s) {
  for (int64_t k = 0; k < s->splits; k++) {
    for (int p = 0; p < SPLIT_COUNT; p++) {
      const int64_t *node = s->split[k].node[p];
      for (int64_t i = 0; i < s->split[k].count[p]; i++) {
        MUST(node[i] >= 0 && node[i] < s->nodes && (i == 0 || node[i - 1] < node[i]));
        MUST(!s->label || s->label[node[i]] >= 0);
      }
    }
  }
}

/* Numbers ascend where the arcs gave them; those of a table are different ones. Names are what a dataset
 * takes. */
static void check_names(const struct import *import) {
  const struct dataset_source *s = &import->source;
  MUST(!s->names.id || !s->names.id_text);
  for (int64_t v = 1; s->names.id && !import->ids.count && v < s->nodes; v++)
    MUST(s->names.id[v - 1] < s->names.id[v]);
  for (int64_t v = 0; s->names.id_text && v < s->nodes; v++)
    MUST(!dataset_text_fault(s->names.id_text[v], DATASET_ID, 0));
  for (int64_t c = 0; s->names.class_name && c < s->classes; c++)
    MUST(!dataset_text_fault(s->names.class_name[c], DATASET_CLASS_NAME, 1));
}

/* Labels, and what stands in splits, are of first nodes; arcs stay inside. */
static void check_graphs(const struct dataset_source *s) {
  if (!s->graphs.start) return;
  MUST(s->graphs.count > 0 && s->graphs.start[0] == 0 && s->graphs.start[s->graphs.count] == s->nodes);
  for (int64_t g = 0; g < s->graphs.count; g++) {
    const int64_t first = s->graphs.start[g], last = s->graphs.start[g + 1];
    MUST(first < last && s->label[first] >= 0);
    for (int64_t v = first + 1; v < last; v++) MUST(s->label[v] == -1);
    for (int64_t e = s->start[first]; e < s->start[last]; e++) MUST(s->col[e] >= first && s->col[e] < last);
  }
}

static void check_source(const struct dataset_source *s) {
  MUST(s->nodes > 0 && s->nodes <= INT32_MAX);
  MUST((s->start != NULL) != (s->hyper.start != NULL));
  if (s->start) check_rows(s->start, s->col, s->nodes, s->nodes);
  if (s->start && !s->directed) check_symmetric(s);
  if (s->start) check_finite(s->weight, s->start[s->nodes]);
  if (s->hyper.start) check_rows(s->hyper.start, s->hyper.vertex, s->hyper.edges, s->nodes);
  check_features(s);
  check_labels(s);
  check_splits(s);
  check_graphs(s);
}

int fuzz_import(const struct import_options *options) {
  struct import import;
  int code = import_read(&import, options);
  if (code == OK) check_source(&import.source);
  if (code == OK) check_names(&import);
  import_free(&import);
  fuzz_check_code(code);
  return code == OK;
}
