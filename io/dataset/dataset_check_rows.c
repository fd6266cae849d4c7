#include "io/dataset/dataset_check_rows.h"

#include <math.h>
#include <stdarg.h>

#include "runtime/base/base.h"
#include "runtime/base/csr.h"
#include "runtime/base/edge_hash.h"
#include "runtime/profile/profile_clock.h"

enum { SAID_A_KIND = 20, PIECE = 1 << 16, PROGRESS_SECONDS = 5 };

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

int64_t check_first_infinite(const float *value, int64_t count) {
  int64_t first = count;
#pragma omp parallel for reduction(min : first)
  for (int64_t i = 0; i < count; i++) {
    if (!isfinite(value[i])) first = smaller(first, i);
  }
  return first;
}

void check_progress(struct check *c, const char *name, int64_t done, int64_t all) {
  double now = profile_clock();
  if (c->said == 0) c->said = now;
  if (now - c->said < PROGRESS_SECONDS) return;
  c->said = now;
  log_progress("%s: %.0f%% of %s", c->d->h5.path, 100. * (double)done / (double)all, name);
}

/* Compressed rows in the file. */
struct rows {
  struct dataset_rows of;
  int64_t *start; /* all of them, once checked */
  int32_t *id;    /* for naming what lacks its reverse, or NULL */
  float *value;
  uint64_t asymmetry; /* sum of (hash of an entry - hash of its reverse): 0 where every one has it */
};

/* Entries that were read together. */
struct entries {
  int64_t first, count;
  int32_t *narrow; /* their ids; NULL: they are wide */
  int64_t *wide;
  float *value;        /* NULL: none */
  int64_t row, before; /* that of the first entry; the id before it there, -1: none */
};

static void free_entries(struct entries *e) {
  free_all(e->narrow, e->wide, e->value);
}

static int64_t id_of(const struct entries *e, int64_t i) {
  return e->wide ? e->wide[i] : e->narrow[i];
}

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

/* Goes on to entry i of those read: its row, and the id before it there. */
static void go_on(const struct rows *r, const struct entries *e, int64_t i, int64_t *row, int64_t *before) {
  while (e->first + i >= r->start[*row + 1]) {
    ++*row;
    *before = -1;
  }
}

/* Sums that are 0 by chance happen once in 2^64. */
static uint64_t asymmetry_of(int64_t row, int64_t id, const float *value) {
  uint32_t weight = 0;
  if (value) memcpy(&weight, value, sizeof weight);
  return edge_hash(row, id, weight) - edge_hash(id, row, weight);
}

/* Whether the ids of a piece of the entries are as they should be; adds what they say of pairs. */
static int is_sound(const struct rows *r, const struct entries *e, int64_t from, int64_t to,
                    uint64_t *asymmetry) {
  int64_t row = from ? csr_row_of(r->start, e->row, r->of.rows, e->first + from) : e->row,
          before = from ? id_of(e, from - 1) : e->before;
  if (from && r->start[row] == e->first + from) before = -1;
  for (int64_t i = from; i < to; i++) {
    int64_t id = id_of(e, i);
    go_on(r, e, i, &row, &before);
    if (id < 0 || id >= r->of.most || id <= before) return 0;
    *asymmetry += asymmetry_of(row, id, e->value ? e->value + i : NULL);
    before = id;
  }
  return 1;
}

/* Names what is wrong with the ids, in their order; e->row and e->before are then those behind the last one.
 */
static void name_ids(struct check *c, const struct rows *r, struct entries *e) {
  for (int64_t i = 0; i < e->count; i++) {
    int64_t id = id_of(e, i), place = e->first + i;
    go_on(r, e, i, &e->row, &e->before);
    if (id < 0 || id >= r->of.most)
      check_violation(c, VIOLATION_RANGE, "%s[%lld], in row %lld, is %lld; 0 to %lld are allowed", r->of.ids,
                      (long long)place, (long long)e->row, (long long)id, (long long)r->of.most - 1);
    else if (id <= e->before)
      check_violation(c, VIOLATION_ORDER,
                      "%s[%lld], in row %lld, is %lld after %lld; a row must ascend without duplicates",
                      r->of.ids, (long long)place, (long long)e->row, (long long)id, (long long)e->before);
    e->before = id;
  }
}

static void check_ids(struct check *c, struct rows *r, struct entries *e) {
  int sound = 1;
  uint64_t asymmetry = 0;
#pragma omp parallel for schedule(dynamic, 1) reduction(&& : sound) reduction(+ : asymmetry)
  for (int64_t from = 0; from < e->count; from += PIECE)
    sound = sound && is_sound(r, e, from, smaller(from + PIECE, e->count), &asymmetry);
  r->asymmetry += asymmetry;
  if (!sound) {
    name_ids(c, r, e);
    return;
  }
  e->row = csr_row_of(r->start, e->row, r->of.rows, e->first + e->count - 1);
  e->before = id_of(e, e->count - 1);
}

static void check_values(struct check *c, const struct rows *r, const struct entries *e) {
  for (int64_t i = check_first_infinite(e->value, e->count); i < e->count; i++) {
    if (!isfinite(e->value[i]))
      check_violation(c, VIOLATION_VALUE, "%s[%lld] is %g; it must be finite", r->of.values,
                      (long long)(e->first + i), (double)e->value[i]);
  }
}

static int make_entries(struct check *c, struct rows *r, struct entries *e, int64_t most) {
  struct h5_shape shape;
  TRY(h5_shape(&c->d->h5, r->of.ids, &shape));
  *e = (struct entries){.before = -1};
  if (r->of.values) TRY(memory_arrays("a block of values", ROOM(&e->value, most)));
  return shape.type == H5_INT64 ? memory_arrays("a block of ids", ROOM(&e->wide, most))
                                : memory_arrays("a block of ids", ROOM(&e->narrow, most));
}

static int read_entries(struct check *c, const struct rows *r, struct entries *e) {
  struct h5 *h5 = &c->d->h5;
  void *id = e->wide ? (void *)e->wide : (void *)e->narrow;
  TRY(h5_read_rows(h5, r->of.ids, e->first, e->count, e->wide ? H5_INT64 : H5_INT32, id));
  return e->value ? h5_read_rows(h5, r->of.values, e->first, e->count, H5_FLOAT, e->value) : OK;
}

static int check_rows(struct check *c, struct rows *r) {
  ENDED_BY(free_entries) struct entries e = {0};
  int64_t block = smaller(r->of.entries, DATASET_BLOCK / (int64_t)sizeof(int32_t));
  TRY(check_starts(c, r));
  if (!r->start) return OK;
  TRY(make_entries(c, r, &e, block));
  for (; e.first < r->of.entries; e.first += block) {
    e.count = smaller(block, r->of.entries - e.first);
    TRY(read_entries(c, r, &e));
    check_ids(c, r, &e);
    if (e.value) check_values(c, r, &e);
    check_progress(c, r->of.ids, e.first + e.count, r->of.entries);
  }
  return OK;
}

/* Walks the rows in order. next[u] stands in row u at the first column that is not below v: in a symmetric
 * graph that is v itself whenever row v lists u. */
static int name_unmatched(struct check *c, const struct rows *r) {
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

/* Reads the whole graph again, to name what has no reverse. */
static int check_symmetry(struct check *c, struct rows *r) {
  struct dataset *d = c->d;
  TRY(memory_arrays("edges", ROOM(&r->id, d->edges)));
  if (d->weighted) TRY(memory_arrays("edge weights", ROOM(&r->value, d->edges)));
  TRY(h5_read_rows(&d->h5, r->of.ids, 0, d->edges, H5_INT32, r->id));
  if (d->weighted) TRY(h5_read_rows(&d->h5, r->of.values, 0, d->edges, H5_FLOAT, r->value));
  return name_unmatched(c, r);
}

int check_graph(struct check *c) {
  ENDED_BY(free_rows) struct rows r = {.of = c->d->rows[GRAPH_ROWS]};
  int64_t before = c->found;
  if (!c->d->has_graph) return OK;
  TRY(check_rows(c, &r));
  if (c->d->directed || c->found > before || r.asymmetry == 0) return OK;
  return check_symmetry(c, &r);
}

int check_other_rows(struct check *c) {
  for (int kind = FEATURE_ROWS; kind <= HYPER_ROWS; kind++) {
    ENDED_BY(free_rows) struct rows r = {.of = c->d->rows[kind]};
    if (r.of.rows > 0) TRY(check_rows(c, &r));
  }
  return OK;
}
