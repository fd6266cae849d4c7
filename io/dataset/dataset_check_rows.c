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

/* Compressed rows in the file. */
struct rows {
  struct dataset_rows of;
  int64_t *start; /* all of them, once checked */
  int32_t *id;    /* kept for the test of symmetry, or NULL */
  float *value;
};

static void free_rows(struct rows *r) {
  free_all(r->start, r->id, r->value);
}

static int check_starts(struct check *c, struct rows *r) {
  int64_t before = c->found;
  TRY(memory_arrays("offsets", ROOM(&r->start, r->of.rows + 1)));
  TRY(h5_read_rows(&c->d->h5, r->of.starts, 0, r->of.rows + 1, H5_INT64, r->start));
  if (r->start[0] != 0)
    check_violation(c, VIOLATION_START, "%s[0] is %lld; it must be 0", r->of.starts, (long long)r->start[0]);
  for (int64_t i = 0; i < r->of.rows; i++) {
    if (r->start[i + 1] < r->start[i])
      check_violation(c, VIOLATION_START, "%s[%lld] is %lld after %lld; offsets must not descend",
                      r->of.starts, (long long)i + 1, (long long)r->start[i + 1], (long long)r->start[i]);
  }
  if (r->start[r->of.rows] != r->of.entries)
    check_violation(c, VIOLATION_START, "%s[%lld] is %lld; it must be %lld, the number of %s", r->of.starts,
                    (long long)r->of.rows, (long long)r->start[r->of.rows], (long long)r->of.entries,
                    r->of.ids);
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
    if (id[i] < 0 || id[i] >= r->of.most)
      check_violation(c, VIOLATION_RANGE, "%s[%lld], in row %lld, is %lld; 0 to %lld are allowed", r->of.ids,
                      (long long)e, (long long)*row, (long long)id[i], (long long)r->of.most - 1);
    else if (id[i] <= *last)
      check_violation(c, VIOLATION_ORDER,
                      "%s[%lld], in row %lld, is %lld after %lld; a row must ascend without duplicates",
                      r->of.ids, (long long)e, (long long)*row, (long long)id[i], (long long)*last);
    *last = id[i];
    if (r->id) r->id[e] = (int32_t)id[i];
  }
}

static int check_values(struct check *c, struct rows *r, int64_t first, int64_t count, float *value) {
  TRY(h5_read_rows(&c->d->h5, r->of.values, first, count, H5_FLOAT, value));
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(value[i]))
      check_violation(c, VIOLATION_VALUE, "%s[%lld] is %g; it must be finite", r->of.values,
                      (long long)(first + i), (double)value[i]);
  }
  if (r->value) memcpy(r->value + first, value, (size_t)count * sizeof *value);
  return OK;
}

static int check_rows(struct check *c, struct rows *r) {
  int64_t block = smaller(r->of.entries, DATASET_BLOCK / (int64_t)sizeof(int64_t));
  FREED int64_t *id = NULL;
  FREED float *value = NULL;
  TRY(check_starts(c, r));
  if (!r->start) return OK;
  TRY(memory_arrays("a block of ids", ROOM(&id, block)));
  TRY(memory_arrays("a block of values", ROOM(&value, block)));
  int64_t row = 0, last = -1;
  for (int64_t first = 0; first < r->of.entries; first += block) {
    int64_t count = smaller(block, r->of.entries - first);
    TRY(h5_read_rows(&c->d->h5, r->of.ids, first, count, H5_INT64, id));
    check_ids(c, r, first, count, id, &row, &last);
    if (r->of.values) TRY(check_values(c, r, first, count, value));
  }
  return OK;
}

/* Walks the rows in order. next[u] stands in row u at the first column that is not below v: in a symmetric
 * graph that is v itself whenever row v lists u. */
static int check_symmetry(struct check *c, const struct rows *r) {
  FREED int64_t *next = NULL;
  TRY(memory_arrays("places in rows", ROOM(&next, r->of.rows)));
  memcpy(next, r->start, (size_t)r->of.rows * sizeof *next);
  for (int64_t v = 0; v < r->of.rows; v++) {
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
  ENDED_BY(free_rows) struct rows r = {.of = d->rows[GRAPH_ROWS]};
  int64_t before = c->found;
  if (!d->has_graph) return OK;
  if (!d->directed) TRY(memory_arrays("edges", ROOM(&r.id, d->edges)));
  if (!d->directed && d->weighted) TRY(memory_arrays("edge weights", ROOM(&r.value, d->edges)));
  TRY(check_rows(c, &r));
  return !d->directed && c->found == before ? check_symmetry(c, &r) : OK;
}

int check_other_rows(struct check *c) {
  for (int kind = FEATURE_ROWS; kind <= HYPER_ROWS; kind++) {
    ENDED_BY(free_rows) struct rows r = {.of = c->d->rows[kind]};
    if (r.of.rows > 0) TRY(check_rows(c, &r));
  }
  return OK;
}
