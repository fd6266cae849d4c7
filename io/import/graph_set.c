#include "io/import/graph_set.h"

#include "io/dataset/ids.h"
#include "io/import/import_features.h"
#include "io/import/import_labels.h"
#include "runtime/base/base.h"

void graph_set_free(struct graph_set *set) {
  free_all(set->start, set->label, set->tag, set->attribute);
  *set = (struct graph_set){0};
}

/* Replaces each value by its rank among the different ones; *value: these, ascending, malloc'ed. */
static int rank(int64_t *of, int64_t count, const char *name, int64_t **value, int64_t *values) {
  int64_t least = INT64_MAX;
  for (int64_t i = 0; i < count; i++) {
    if (of[i] < INT32_MIN || of[i] > INT32_MAX)
      FAIL(BAD_INPUT, "%s: %lld is out of range; whole numbers of 32 bits are read", name, (long long)of[i]);
    least = smaller(least, of[i]);
  }
  for (int64_t i = 0; i < count; i++) of[i] -= least;
  TRY(ids_rank(of, count, value, values));
  if (!*value) {
    TRY(memory_arrays("different labels", ROOM(value, *values)));
    for (int64_t k = 0; k < *values; k++) (*value)[k] = k;
  }
  for (int64_t k = 0; k < *values; k++) (*value)[k] += least;
  return OK;
}

/* The labels as they stood in the file are what its classes are called. */
static int name_classes(struct import *import, const int64_t *value, int64_t classes) {
  int named = 0;
  for (int64_t k = 0; k < classes; k++) named |= value[k] != k;
  for (int64_t k = 0; k < classes && named; k++) {
    char text[32];
    int32_t number;
    int is_new;
    snprintf(text, sizeof text, "%lld", (long long)value[k]);
    TRY(texts_add(&import->labels, text, &number, &is_new));
  }
  return named ? texts_list(&import->labels, NULL, classes, &import->source.names.class_name) : OK;
}

static int take_labels(struct graph_set *set, struct import *import, const char *name) {
  struct dataset_source *source = &import->source;
  FREED int64_t *value = NULL;
  int64_t classes;
  TRY(rank(set->label, set->graphs, name, &value, &classes));
  if (classes > DATASET_CLASSES)
    FAIL(BAD_INPUT, "%s: has %lld different labels; at most %d are allowed", name, (long long)classes,
         DATASET_CLASSES);
  TRY(memory_arrays("labels", ROOM(&source->label, set->nodes)));
  for (int64_t v = 0; v < set->nodes; v++) source->label[v] = -1;
  for (int64_t g = 0; g < set->graphs; g++) source->label[set->start[g]] = (int32_t)set->label[g];
  source->classes = classes;
  source->task = TASK_MULTICLASS;
  return name_classes(import, value, classes);
}

/* Tags of a column become places of ones: first[j] columns stand before those of tag j. */
static int rank_tags(struct graph_set *set, const char *name, int64_t *first) {
  FREED int64_t *of = NULL;
  TRY(memory_arrays("labels of nodes", ROOM(&of, set->nodes)));
  first[0] = set->attributes;
  for (int64_t j = 0; j < set->tags; j++) {
    FREED int64_t *value = NULL;
    int64_t values;
    for (int64_t v = 0; v < set->nodes; v++) of[v] = set->tag[v * set->tags + j];
    TRY(rank(of, set->nodes, name, &value, &values));
    for (int64_t v = 0; v < set->nodes; v++) set->tag[v * set->tags + j] = first[j] + of[v];
    first[j + 1] = first[j] + values;
  }
  return OK;
}

static int take_features(struct graph_set *set, struct import *import, const char *name) {
  struct dataset_source *source = &import->source;
  FREED int64_t *first = NULL;
  TRY(memory_arrays("columns of labels", ROOM(&first, set->tags + 1)));
  TRY(rank_tags(set, name, first));
  const int64_t cols = first[set->tags];
  if (cols > IMPORT_COLUMNS)
    FAIL(BAD_INPUT, "%s: %lld different labels of nodes; at most %d columns of features are made", name,
         (long long)(cols - set->attributes), IMPORT_COLUMNS);
  source->features = cols;
  if (cols == 0) return OK;
  TRY(memory_arrays("node features", ROOM(&source->feature, set->nodes * cols)));
  for (int64_t v = 0; v < set->nodes; v++) {
    float *row = source->feature + v * cols;
    for (int64_t j = 0; j < set->attributes; j++) row[j] = set->attribute[v * set->attributes + j];
    for (int64_t j = 0; j < set->tags; j++) row[set->tag[v * set->tags + j]] = 1;
  }
  return OK;
}

int graph_set_take(struct graph_set *set, struct import *import, const char *label, const char *tag) {
  struct dataset_source *source = &import->source;
  if (set->graphs == 0) FAIL(BAD_INPUT, "%s: holds no graphs", label);
  TRY(take_labels(set, import, label));
  TRY(take_features(set, import, tag));
  if (source->features == 0 && !import->options->features)
    log_info("%s: nodes have neither labels nor attributes; --features degree:64 makes some", label);
  source->graphs.count = set->graphs;
  source->graphs.start = set->start;
  set->start = NULL;
  graph_set_free(set);
  return OK;
}

int graph_set_check(const struct import *import) {
  const struct dataset_source *source = &import->source;
  for (int64_t g = 0; g < source->graphs.count; g++) {
    const int64_t first = source->graphs.start[g], last = source->graphs.start[g + 1];
    for (int64_t e = source->start[first]; e < source->start[last]; e++)
      if (source->col[e] < first || source->col[e] >= last)
        FAIL(BAD_INPUT, "%s: an arc leads from graph %lld, node %d, into graph %lld; graphs stand apart",
             import->options->input,
             (long long)csr_row_of(source->graphs.start, 0, source->graphs.count, source->col[e]) + 1,
             source->col[e] + 1, (long long)g + 1);
  }
  return OK;
}
