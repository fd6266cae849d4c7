#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dataset.h"
#include "runtime/error.h"
#include "runtime/memory.h"

enum { SAID_A_KIND = 20 };

enum kind {
  KIND_START,
  KIND_RANGE,
  KIND_ORDER,
  KIND_VALUE,
  KIND_PATTERN,
  KIND_WEIGHT,
  KIND_LABEL,
  KIND_SPLIT_NODE,
  KIND_SPLIT_TWICE,
  KIND_SPLIT_LABEL,
  KIND_SPLIT_NAME,
  KINDS
};

struct check {
  struct dataset *d;
  void (*say)(const char *violation, void *context);
  void *context;
  int64_t found, of_kind[KINDS];
  int32_t *label; /* multiclass, else NULL */
};

__attribute__((format(printf, 3, 4))) static void violation(struct check *c, enum kind kind,
                                                            const char *format, ...) {
  char text[512];
  va_list arguments;
  c->found++;
  if (++c->of_kind[kind] > SAID_A_KIND) return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  c->say(text, c->context);
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

/* Compressed rows in the file: the graph, sparse features, hyperedges. */
struct rows {
  const char *starts, *ids, *values; /* names; values NULL: none */
  int64_t rows, entries, most;       /* ids lie in [0, most) */
  int ascending;
  int64_t *start; /* all of them, once checked */
  int32_t *id;    /* kept for the test of symmetry, or NULL */
  float *value;
};

static void free_rows(struct rows *r) {
  free(r->start);
  free(r->id);
  free(r->value);
}

static int check_starts(struct check *c, struct rows *r) {
  int64_t before = c->found;
  TRY(memory_alloc(&r->start, (r->rows + 1) * (int64_t)sizeof *r->start, "offsets"));
  TRY(h5_read_rows(&c->d->h5, r->starts, 0, r->rows + 1, H5_INT64, r->start));
  if (r->start[0] != 0)
    violation(c, KIND_START, "%s[0] is %lld; it must be 0", r->starts, (long long)r->start[0]);
  for (int64_t i = 0; i < r->rows; i++) {
    if (r->start[i + 1] < r->start[i])
      violation(c, KIND_START, "%s[%lld] is %lld after %lld; offsets must not descend", r->starts,
                (long long)i + 1, (long long)r->start[i + 1], (long long)r->start[i]);
  }
  if (r->start[r->rows] != r->entries)
    violation(c, KIND_START, "%s[%lld] is %lld; it must be %lld, the number of %s", r->starts,
              (long long)r->rows, (long long)r->start[r->rows], (long long)r->entries, r->ids);
  if (c->found == before) return OK;
  free(r->start); /* without them nobody can say where a row begins */
  r->start = NULL;
  return OK;
}

/* Entries [first, first + count) of the row that holds the first one, and of those behind it. `last` carries
 * the id before `first`. */
static void check_ids(struct check *c, struct rows *r, int64_t first, int64_t count, const int64_t *id,
                      int64_t *row, int64_t *last) {
  for (int64_t i = 0; i < count; i++) {
    int64_t e = first + i;
    while (e >= r->start[*row + 1]) {
      ++*row;
      *last = -1;
    }
    if (id[i] < 0 || id[i] >= r->most)
      violation(c, KIND_RANGE, "%s[%lld], in row %lld, is %lld; 0 to %lld are allowed", r->ids, (long long)e,
                (long long)*row, (long long)id[i], (long long)r->most - 1);
    else if (r->ascending && id[i] <= *last)
      violation(c, KIND_ORDER,
                "%s[%lld], in row %lld, is %lld after %lld; a row must ascend without duplicates", r->ids,
                (long long)e, (long long)*row, (long long)id[i], (long long)*last);
    *last = id[i];
    if (r->id) r->id[e] = (int32_t)id[i];
  }
}

static int check_values(struct check *c, struct rows *r, int64_t first, int64_t count, float *value) {
  TRY(h5_read_rows(&c->d->h5, r->values, first, count, H5_FLOAT, value));
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(value[i]))
      violation(c, KIND_VALUE, "%s[%lld] is %g; it must be finite", r->values, (long long)(first + i),
                (double)value[i]);
  }
  if (r->value) memcpy(r->value + first, value, (size_t)count * sizeof *value);
  return OK;
}

static int check_entries(struct check *c, struct rows *r, int64_t block, int64_t *id, float *value) {
  int64_t row = 0, last = -1;
  for (int64_t first = 0; first < r->entries; first += block) {
    int64_t count = smaller(block, r->entries - first);
    TRY(h5_read_rows(&c->d->h5, r->ids, first, count, H5_INT64, id));
    check_ids(c, r, first, count, id, &row, &last);
    if (r->values) TRY(check_values(c, r, first, count, value));
  }
  return OK;
}

static int check_rows(struct check *c, struct rows *r) {
  int64_t *id = NULL, block = smaller(r->entries, DATASET_BLOCK / (int64_t)sizeof *id);
  float *value = NULL;
  TRY(check_starts(c, r));
  if (!r->start) return OK;
  int code = memory_alloc(&id, block * (int64_t)sizeof *id, "a block of ids");
  if (code == OK) code = memory_alloc(&value, block * (int64_t)sizeof *value, "a block of values");
  if (code == OK) code = check_entries(c, r, block, id, value);
  free(id);
  free(value);
  TRY(code);
  return OK;
}

/* Walks the rows in order. next[u] stands in row u at the first column that is not below v: in a symmetric
 * graph that is v itself whenever row v lists u. */
static int check_symmetry(struct check *c, const struct rows *r) {
  int64_t *next;
  TRY(memory_alloc(&next, r->rows * (int64_t)sizeof *next, "places in rows"));
  memcpy(next, r->start, (size_t)r->rows * sizeof *next);
  for (int64_t v = 0; v < r->rows; v++) {
    for (int64_t e = r->start[v]; e < r->start[v + 1]; e++) {
      int64_t u = r->id[e], end = r->start[u + 1];
      while (next[u] < end && r->id[next[u]] < v) next[u]++;
      if (next[u] == end || r->id[next[u]] != v)
        violation(c, KIND_PATTERN,
                  "/graph/indices: row %lld lists %lld, but row %lld does not list %lld; "
                  "directed = 0 needs both",
                  (long long)v, (long long)u, (long long)u, (long long)v);
      else if (r->value && u > v && r->value[e] != r->value[next[u]])
        violation(c, KIND_WEIGHT,
                  "/graph/weights: edge %lld - %lld weighs %g one way and %g the other; "
                  "directed = 0 needs equal weights",
                  (long long)v, (long long)u, (double)r->value[e], (double)r->value[next[u]]);
    }
  }
  free(next);
  return OK;
}

static int check_graph_rows(struct check *c, struct rows *r) {
  int64_t before = c->found;
  if (!c->d->directed) TRY(memory_alloc(&r->id, r->entries * (int64_t)sizeof *r->id, "edges"));
  if (!c->d->directed && r->values)
    TRY(memory_alloc(&r->value, r->entries * (int64_t)sizeof *r->value, "edge weights"));
  TRY(check_rows(c, r));
  if (!c->d->directed && c->found == before) TRY(check_symmetry(c, r));
  return OK;
}

static int check_graph(struct check *c) {
  struct dataset *d = c->d;
  struct rows r = {.starts = "/graph/indptr",
                   .ids = "/graph/indices",
                   .rows = d->nodes,
                   .entries = d->edges,
                   .most = d->nodes,
                   .ascending = 1};
  if (!d->has_graph) return OK;
  if (d->weighted) r.values = "/graph/weights";
  int code = check_graph_rows(c, &r);
  free_rows(&r);
  TRY(code);
  return OK;
}

static int check_hypergraph(struct check *c) {
  struct dataset *d = c->d;
  struct rows r = {.starts = "/hypergraph/indptr",
                   .ids = "/hypergraph/indices",
                   .rows = d->hyperedges,
                   .entries = d->incidences,
                   .most = d->nodes};
  if (d->hyperedges == 0) return OK;
  int code = check_rows(c, &r);
  free_rows(&r);
  TRY(code);
  return OK;
}

static int check_dense(struct check *c, int64_t block, float *value) {
  struct dataset *d = c->d;
  for (int64_t first = 0; first < d->nodes; first += block) {
    int64_t rows = smaller(block, d->nodes - first);
    TRY(h5_read_rows(&d->h5, "/node/features", first, rows, H5_FLOAT, value));
    for (int64_t i = 0; i < rows * d->features; i++) {
      if (!isfinite(value[i]))
        violation(c, KIND_VALUE, "/node/features: node %lld, column %lld is %g; it must be finite",
                  (long long)(first + i / d->features), (long long)(i % d->features), (double)value[i]);
    }
  }
  return OK;
}

static int check_features(struct check *c) {
  struct dataset *d = c->d;
  struct rows r = {.starts = "/node/features/indptr",
                   .ids = "/node/features/indices",
                   .values = "/node/features/data",
                   .rows = d->nodes,
                   .entries = d->feature_nnz,
                   .most = d->features,
                   .ascending = 1};
  float *value = NULL;
  int code;
  if (!d->has_features) return OK;
  if (d->sparse) {
    code = check_rows(c, &r);
  } else {
    int64_t row = d->features * (int64_t)sizeof *value, block = smaller(d->nodes, DATASET_BLOCK / row + 1);
    code = memory_alloc(&value, block * row, "a block of features");
    if (code == OK) code = check_dense(c, block, value);
  }
  free_rows(&r);
  free(value);
  TRY(code);
  return OK;
}

static int check_label(struct check *c) {
  struct dataset *d = c->d;
  TRY(memory_alloc(&c->label, d->nodes * (int64_t)sizeof *c->label, "labels"));
  TRY(h5_read_rows(&d->h5, "/node/labels", 0, d->nodes, H5_INT32, c->label));
  for (int64_t v = 0; v < d->nodes; v++) {
    if (c->label[v] < -1 || c->label[v] >= d->classes)
      violation(c, KIND_LABEL, "/node/labels: node %lld has label %d; -1 to %lld are allowed", (long long)v,
                c->label[v], (long long)d->classes - 1);
  }
  return OK;
}

static int check_multilabel(struct check *c, int64_t block, uint8_t *labels) {
  struct dataset *d = c->d;
  for (int64_t first = 0; first < d->nodes; first += block) {
    int64_t rows = smaller(block, d->nodes - first);
    TRY(h5_read_rows(&d->h5, "/node/labels", first, rows, H5_UINT8, labels));
    for (int64_t i = 0; i < rows * d->classes; i++) {
      if (labels[i] > 1)
        violation(c, KIND_LABEL, "/node/labels: node %lld, class %lld is %d; 0 and 1 are allowed",
                  (long long)(first + i / d->classes), (long long)(i % d->classes), labels[i]);
    }
  }
  return OK;
}

static int check_labels(struct check *c) {
  struct dataset *d = c->d;
  uint8_t *labels;
  if (d->task == TASK_MULTICLASS) TRY(check_label(c));
  if (d->task != TASK_MULTILABEL) return OK;
  int64_t block = smaller(d->nodes, DATASET_BLOCK / d->classes + 1);
  TRY(memory_alloc(&labels, block * d->classes, "a block of labels"));
  int code = check_multilabel(c, block, labels);
  free(labels);
  TRY(code);
  return OK;
}

/* mark[v]: 1 + the part of this split that has node v already, or 0. */
static void check_part(struct check *c, const char *name, int part, int64_t count, const int64_t *node,
                       uint8_t *mark) {
  for (int64_t i = 0; i < count; i++) {
    int64_t v = node[i];
    if (v < 0 || v >= c->d->nodes) {
      violation(c, KIND_SPLIT_NODE, "%s[%lld] is %lld; 0 to %lld are allowed", name, (long long)i,
                (long long)v, (long long)c->d->nodes - 1);
      continue;
    }
    if (i > 0 && v <= node[i - 1])
      violation(c, KIND_SPLIT_NODE, "%s[%lld] is %lld after %lld; node ids must ascend", name, (long long)i,
                (long long)v, (long long)node[i - 1]);
    if (mark[v] && mark[v] != 1 + part)
      violation(c, KIND_SPLIT_TWICE, "%s: node %lld is in %s of the same split, too", name, (long long)v,
                split_name[mark[v] - 1]);
    mark[v] = (uint8_t)(1 + part);
    if (c->label && c->label[v] == -1)
      violation(c, KIND_SPLIT_LABEL, "%s: node %lld has no label (-1)", name, (long long)v);
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

/* Names that nobody reads: a number after a gap, a misspelt part. */
static int check_split_names(struct check *c) {
  char **names, known[32];
  int64_t count;
  struct h5_shape shape;
  TRY(h5_shape(&c->d->h5, "/split", &shape));
  if (!shape.is_group) return OK;
  TRY(h5_list(&c->d->h5, "/split", &names, &count));
  for (int64_t i = 0; i < count; i++) {
    int good = 0;
    for (int p = 0; p < SPLIT_COUNT && c->d->plain_split; p++) good |= strcmp(names[i], split_name[p]) == 0;
    snprintf(known, sizeof known, "%lld", strtoll(names[i], NULL, 10));
    good |= strcmp(names[i], known) == 0 && strtoll(known, NULL, 10) >= 0 &&
            strtoll(known, NULL, 10) < c->d->splits;
    if (!good)
      violation(c, KIND_SPLIT_NAME,
                "/split/%.100s: train, val and test, or numbers from 0 without gaps, are "
                "allowed there",
                names[i]);
  }
  h5_free_names(names, count);
  return OK;
}

static int check_splits(struct check *c) {
  int64_t *node = NULL;
  uint8_t *mark = NULL;
  TRY(check_split_names(c));
  int code = memory_alloc(&node, c->d->nodes * (int64_t)sizeof *node, "a split");
  if (code == OK) code = memory_alloc(&mark, c->d->nodes, "marks of nodes");
  for (int64_t s = 0; code == OK && s < c->d->splits; s++) code = check_split(c, s, node, mark);
  free(node);
  free(mark);
  TRY(code);
  return OK;
}

static int check_all(struct check *c) {
  TRY(check_graph(c));
  TRY(check_hypergraph(c));
  TRY(check_features(c));
  TRY(check_labels(c));
  TRY(check_splits(c));
  return OK;
}

int dataset_check(struct dataset *dataset, void (*say)(const char *violation, void *context), void *context,
                  int64_t *violations) {
  struct check c = {.d = dataset, .say = say, .context = context};
  int code = check_all(&c);
  free(c.label);
  *violations = c.found;
  TRY(code);
  return OK;
}
