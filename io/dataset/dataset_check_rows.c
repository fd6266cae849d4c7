#include "io/dataset/dataset_check_rows.h"

#include <math.h>
#include <stdarg.h>

#include "runtime/base/base.h"

enum { SAID_A_KIND = 20 };

void check_violation(struct check *c, enum violation_kind kind, const char *format, ...) {
  char text[512];
  va_list arguments;
  c->found++;
  if (++c->of_kind[kind] > SAID_A_KIND) return;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  c->say(text, c->context);
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
  free_all(r->start, r->id, r->value);
}

static int check_starts(struct check *c, struct rows *r) {
  int64_t before = c->found;
  TRY(memory_arrays("offsets", ROOM(&r->start, r->rows + 1)));
  TRY(h5_read_rows(&c->d->h5, r->starts, 0, r->rows + 1, H5_INT64, r->start));
  if (r->start[0] != 0)
    check_violation(c, VIOLATION_START, "%s[0] is %lld; it must be 0", r->starts, (long long)r->start[0]);
  for (int64_t i = 0; i < r->rows; i++) {
    if (r->start[i + 1] < r->start[i])
      check_violation(c, VIOLATION_START, "%s[%lld] is %lld after %lld; offsets must not descend", r->starts,
                      (long long)i + 1, (long long)r->start[i + 1], (long long)r->start[i]);
  }
  if (r->start[r->rows] != r->entries)
    check_violation(c, VIOLATION_START, "%s[%lld] is %lld; it must be %lld, the number of %s", r->starts,
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
      check_violation(c, VIOLATION_RANGE, "%s[%lld], in row %lld, is %lld; 0 to %lld are allowed", r->ids,
                      (long long)e, (long long)*row, (long long)id[i], (long long)r->most - 1);
    else if (r->ascending && id[i] <= *last)
      check_violation(c, VIOLATION_ORDER,
                      "%s[%lld], in row %lld, is %lld after %lld; a row must ascend without duplicates",
                      r->ids, (long long)e, (long long)*row, (long long)id[i], (long long)*last);
    *last = id[i];
    if (r->id) r->id[e] = (int32_t)id[i];
  }
}

static int check_values(struct check *c, struct rows *r, int64_t first, int64_t count, float *value) {
  TRY(h5_read_rows(&c->d->h5, r->values, first, count, H5_FLOAT, value));
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(value[i]))
      check_violation(c, VIOLATION_VALUE, "%s[%lld] is %g; it must be finite", r->values,
                      (long long)(first + i), (double)value[i]);
  }
  if (r->value) memcpy(r->value + first, value, (size_t)count * sizeof *value);
  return OK;
}

static int check_rows(struct check *c, struct rows *r) {
  int64_t block = smaller(r->entries, DATASET_BLOCK / (int64_t)sizeof(int64_t));
  FREED int64_t *id = NULL;
  FREED float *value = NULL;
  TRY(check_starts(c, r));
  if (!r->start) return OK;
  TRY(memory_arrays("a block of ids", ROOM(&id, block)));
  TRY(memory_arrays("a block of values", ROOM(&value, block)));
  int64_t row = 0, last = -1;
  for (int64_t first = 0; first < r->entries; first += block) {
    int64_t count = smaller(block, r->entries - first);
    TRY(h5_read_rows(&c->d->h5, r->ids, first, count, H5_INT64, id));
    check_ids(c, r, first, count, id, &row, &last);
    if (r->values) TRY(check_values(c, r, first, count, value));
  }
  return OK;
}

/* Walks the rows in order. next[u] stands in row u at the first column that is not below v: in a symmetric
 * graph that is v itself whenever row v lists u. */
static int check_symmetry(struct check *c, const struct rows *r) {
  FREED int64_t *next = NULL;
  TRY(memory_arrays("places in rows", ROOM(&next, r->rows)));
  memcpy(next, r->start, (size_t)r->rows * sizeof *next);
  for (int64_t v = 0; v < r->rows; v++) {
    for (int64_t e = r->start[v]; e < r->start[v + 1]; e++) {
      int64_t u = r->id[e], end = r->start[u + 1];
      while (next[u] < end && r->id[next[u]] < v) next[u]++;
      if (next[u] == end || r->id[next[u]] != v)
        check_violation(c, VIOLATION_PATTERN,
                        "/graph/indices: row %lld lists %lld, but row %lld does not list %lld; "
                        "directed = 0 needs both",
                        (long long)v, (long long)u, (long long)u, (long long)v);
      else if (r->value && u > v && r->value[e] != r->value[next[u]])
        check_violation(c, VIOLATION_WEIGHT,
                        "/graph/weights: edge %lld - %lld weighs %g one way and %g the other; "
                        "directed = 0 needs equal weights",
                        (long long)v, (long long)u, (double)r->value[e], (double)r->value[next[u]]);
    }
  }
  return OK;
}

int check_graph(struct check *c) {
  struct dataset *d = c->d;
  ENDED_BY(free_rows)
  struct rows r = {.starts = "/graph/indptr",
                   .ids = "/graph/indices",
                   .rows = d->nodes,
                   .entries = d->edges,
                   .most = d->nodes,
                   .ascending = 1};
  if (!d->has_graph) return OK;
  if (d->weighted) r.values = "/graph/weights";
  int64_t before = c->found;
  if (!c->d->directed) TRY(memory_alloc(&r.id, r.entries * (int64_t)sizeof *r.id, "edges"));
  if (!c->d->directed && r.values) TRY(memory_arrays("edge weights", ROOM(&r.value, r.entries)));
  TRY(check_rows(c, &r));
  if (!c->d->directed && c->found == before) TRY(check_symmetry(c, &r));
  return OK;
}

int check_hypergraph(struct check *c) {
  struct dataset *d = c->d;
  ENDED_BY(free_rows)
  struct rows r = {.starts = "/hypergraph/indptr",
                   .ids = "/hypergraph/indices",
                   .rows = d->hyperedges,
                   .entries = d->incidences,
                   .most = d->nodes,
                   .ascending = 1};
  return d->hyperedges == 0 ? OK : check_rows(c, &r);
}

int check_sparse_features(struct check *c) {
  struct dataset *d = c->d;
  ENDED_BY(free_rows)
  struct rows r = {.starts = "/node/features/indptr",
                   .ids = "/node/features/indices",
                   .values = "/node/features/data",
                   .rows = d->nodes,
                   .entries = d->feature_nnz,
                   .most = d->features,
                   .ascending = 1};
  return !d->has_features || !d->sparse ? OK : check_rows(c, &r);
}
