/* What a dataset file must hold: features, labels, splits; rows of graphs are dataset_check_rows's. */
#include <math.h>

#include "io/dataset/dataset_check_rows.h"
#include "runtime/base/base.h"

static int check_dense_features(struct check *c) {
  struct dataset *d = c->d;
  FREED float *value = NULL;
  if (!d->has_features || d->sparse) return OK;
  int64_t row = d->features * (int64_t)sizeof(float), block = smaller(d->nodes, DATASET_BLOCK / row + 1);
  TRY(memory_alloc(&value, block * row, "a block of features"));
  for (int64_t first = 0; first < d->nodes; first += block) {
    int64_t rows = smaller(block, d->nodes - first);
    TRY(h5_read_rows(&d->h5, "/node/features", first, rows, H5_FLOAT, value));
    for (int64_t i = check_first_infinite(value, rows * d->features); i < rows * d->features; i++) {
      if (!isfinite(value[i]))
        check_violation(c, VIOLATION_VALUE, "/node/features: node %lld, column %lld is %g; it must be finite",
                        (long long)(first + i / d->features), (long long)(i % d->features), (double)value[i]);
    }
    check_progress(c, "/node/features", first + rows, d->nodes);
  }
  return OK;
}

static int check_label(struct check *c) {
  struct dataset *d = c->d;
  TRY(memory_arrays("labels", ROOM(&c->label, d->nodes)));
  TRY(h5_read_rows(&d->h5, "/node/labels", 0, d->nodes, H5_INT32, c->label));
  for (int64_t v = 0; v < d->nodes; v++) {
    if (c->label[v] < -1 || c->label[v] >= d->classes)
      check_violation(c, VIOLATION_LABEL, "/node/labels: node %lld has label %d; -1 to %lld are allowed",
                      (long long)v, c->label[v], (long long)d->classes - 1);
  }
  return OK;
}

static int check_multilabel(struct check *c) {
  struct dataset *d = c->d;
  FREED uint8_t *labels = NULL;
  int64_t block = smaller(d->nodes, DATASET_BLOCK / d->classes + 1);
  TRY(memory_alloc(&labels, block * d->classes, "a block of labels"));
  for (int64_t first = 0; first < d->nodes; first += block) {
    int64_t rows = smaller(block, d->nodes - first);
    TRY(h5_read_rows(&d->h5, "/node/labels", first, rows, H5_UINT8, labels));
    for (int64_t i = 0; i < rows * d->classes; i++) {
      if (labels[i] > 1)
        check_violation(c, VIOLATION_LABEL, "/node/labels: node %lld, class %lld is %d; 0 and 1 are allowed",
                        (long long)(first + i / d->classes), (long long)(i % d->classes), labels[i]);
    }
  }
  return OK;
}

static int check_class_names(struct check *c) {
  struct dataset *d = c->d;
  struct h5_shape shape;
  TRY(h5_shape(&d->h5, "/node/class_names", &shape));
  if (!shape.exists) return OK;
  FREED char **name = NULL;
  TRY(memory_arrays("names of classes", ROOM(&name, d->classes)));
  TRY(h5_read_strings(&d->h5, "/node/class_names", 0, d->classes, name));
  for (int64_t k = 0; k < d->classes; k++) {
    const char *fault = dataset_text_fault(name[k], DATASET_CLASS_NAME, 1);
    if (fault) check_violation(c, VIOLATION_CLASS_NAME, "/node/class_names[%lld] %s", (long long)k, fault);
    free(name[k]);
  }
  return OK;
}

static int check_labels(struct check *c) {
  TRY(check_class_names(c));
  if (c->d->task == TASK_MULTICLASS) return check_label(c);
  return c->d->task == TASK_MULTILABEL ? check_multilabel(c) : OK;
}

/* mark[v]: 1 + the part of this split that has node v already, or 0. */
static void check_part(struct check *c, const char *name, int part, int64_t count, const int64_t *node,
                       uint8_t *mark) {
  for (int64_t i = 0; i < count; i++) {
    int64_t v = node[i];
    if (v < 0 || v >= c->d->nodes) {
      check_violation(c, VIOLATION_SPLIT_NODE, "%s[%lld] is %lld; 0 to %lld are allowed", name, (long long)i,
                      (long long)v, (long long)c->d->nodes - 1);
      continue;
    }
    if (i > 0 && v <= node[i - 1])
      check_violation(c, VIOLATION_SPLIT_NODE, "%s[%lld] is %lld after %lld; node ids must ascend", name,
                      (long long)i, (long long)v, (long long)node[i - 1]);
    if (mark[v] && mark[v] != 1 + part)
      check_violation(c, VIOLATION_SPLIT_TWICE, "%s: node %lld is in %s of the same split, too", name,
                      (long long)v, split_name[mark[v] - 1]);
    mark[v] = (uint8_t)(1 + part);
    if (c->label && c->label[v] == -1)
      check_violation(c, VIOLATION_SPLIT_LABEL, "%s: node %lld has no label (-1)", name, (long long)v);
  }
}

static int check_split(struct check *c, int64_t split, int64_t *node, uint8_t *mark) {
  struct dataset *d = c->d;
  memset(mark, 0, (size_t)d->nodes);
  for (int p = 0; p < SPLIT_COUNT; p++) {
    char name[DATASET_SPLIT_NAME];
    struct h5_shape shape;
    dataset_split_name(d, split, (enum split)p, name);
    TRY(h5_shape(&d->h5, name, &shape));
    TRY(h5_read_rows(&d->h5, name, 0, smaller(shape.dim[0], d->nodes), H5_INT64, node));
    check_part(c, name, p, smaller(shape.dim[0], d->nodes), node, mark);
  }
  return OK;
}

static int say_stray(void *check, const char *name) {
  check_violation(check, VIOLATION_SPLIT_NAME, DATASET_SPLIT_NAMES, name);
  return OK;
}

static int check_splits(struct check *c) {
  FREED int64_t *node = NULL;
  FREED uint8_t *mark = NULL;
  TRY(dataset_stray_splits(c->d, say_stray, c));
  TRY(memory_arrays("a split", ROOM(&node, c->d->nodes), ROOM(&mark, c->d->nodes)));
  for (int64_t s = 0; s < c->d->splits; s++) TRY(check_split(c, s, node, mark));
  return OK;
}

/* Arcs that leave the graph of their row, of the nodes [first, last). */
static int check_graph_arcs(struct check *c, int64_t first, int64_t last) {
  struct dataset *d = c->d;
  FREED int64_t *start = NULL;
  FREED int32_t *col = NULL;
  TRY(memory_arrays("offsets of a graph", ROOM(&start, last - first + 1)));
  TRY(h5_read_rows(&d->h5, "/graph/indptr", first, last - first + 1, H5_INT64, start));
  const int64_t begin = start[0], end = start[last - first];
  if (begin < 0 || end < begin || end > d->edges) return OK; /* said of the offsets */
  TRY(memory_arrays("arcs of a graph", ROOM(&col, end - begin)));
  TRY(h5_read_rows(&d->h5, "/graph/indices", begin, end - begin, H5_INT32, col));
  for (int64_t e = 0; e < end - begin; e++) {
    if (col[e] >= first && col[e] < last) continue;
    check_violation(c, VIOLATION_RANGE, "/graph/indices[%lld] is %d, in another graph than its row",
                    (long long)(begin + e), col[e]);
    return OK; /* one a graph */
  }
  return OK;
}

/* Labels of nodes that no graph begins with. */
static void check_graph_labels(struct check *c, const int64_t *start) {
  for (int64_t g = 0; c->label && g < c->d->graphs; g++) {
    for (int64_t v = start[g] + 1; v < start[g + 1]; v++)
      if (c->label[v] != -1)
        check_violation(
            c, VIOLATION_LABEL,
            "/node/labels: node %lld has label %d; a graph's label stands at its first node, %lld",
            (long long)v, c->label[v], (long long)start[g]);
  }
}

/* Where graphs begin: the first that is wrong is said, and what follows it is not looked at. */
static int check_graphs(struct check *c) {
  struct dataset *d = c->d;
  FREED int64_t *start = NULL;
  if (d->graphs == 0) return OK;
  const int code = dataset_read_graphs(d, &start);
  if (code == BAD_INPUT) check_violation(c, VIOLATION_START, "%s", error_message() + strlen(d->h5.path) + 2);
  if (code != OK) return code == BAD_INPUT ? OK : code;
  check_graph_labels(c, start);
  for (int64_t g = 0; g < d->graphs && d->has_graph; g++) TRY(check_graph_arcs(c, start[g], start[g + 1]));
  return OK;
}

static int check_all(struct check *c) {
  TRY(check_graph(c));
  TRY(check_other_rows(c));
  TRY(check_dense_features(c));
  TRY(check_labels(c));
  TRY(check_graphs(c));
  return check_splits(c);
}

int dataset_check(struct dataset *dataset, void (*say)(const char *violation, void *context), void *context,
                  int64_t *violations) {
  struct check c = {.d = dataset, .say = say, .context = context};
  int code = check_all(&c);
  free(c.label);
  *violations = c.found;
  return code;
}
