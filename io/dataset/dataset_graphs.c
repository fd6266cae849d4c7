/* A dataset of many graphs, of which each has a label: the nodes of a graph follow each other, and its label
 * stands at the first of them. */
#include "io/dataset/dataset_check_rows.h"
#include "runtime/base/base.h"

static const char starts[] = "/graphs/indptr";

static int read_starts(struct dataset *d, int64_t **start) {
  TRY(memory_arrays("the first nodes of graphs", ROOM(start, d->graphs + 1)));
  return h5_read_rows(&d->h5, starts, 0, d->graphs + 1, H5_INT64, *start);
}

/* What a start may be, behind the one before. */
struct range {
  int64_t least, most;
};

static struct range range_of(const struct dataset *d, const int64_t *start, int64_t g) {
  if (g == 0) return (struct range){0, 0};
  if (g == d->graphs) return (struct range){d->nodes, d->nodes};
  return (struct range){start[g - 1] + 1, d->nodes - 1};
}

int dataset_read_graphs(struct dataset *d, int64_t **start) {
  TRY(read_starts(d, start));
  for (int64_t g = 0; g <= d->graphs; g++) {
    const struct range range = range_of(d, *start, g);
    const int64_t found = (*start)[g];
    if (found < range.least || found > range.most || range.least > range.most)
      FAIL(BAD_INPUT, "%s: %s[%lld] is %lld; %lld to %lld are allowed there", d->h5.path, starts,
           (long long)g, (long long)found, (long long)range.least, (long long)range.most);
  }
  return OK;
}

/* What is wrong ends the search: what follows it would be wrong, too. */
static int check_starts(struct check *c, const int64_t *start) {
  const struct dataset *d = c->d;
  for (int64_t g = 0; g <= d->graphs; g++) {
    const struct range range = range_of(d, start, g);
    if (start[g] >= range.least && start[g] <= range.most) continue;
    check_violation(c, VIOLATION_START, "%s[%lld] is %lld; %lld to %lld are allowed there", starts,
                    (long long)g, (long long)start[g], (long long)range.least, (long long)range.most);
    return 0;
  }
  return 1;
}

/* Arcs that leave the graph of their row, of the nodes [first, last). */
static int check_arcs(struct check *c, int64_t first, int64_t last) {
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
static void check_labels(struct check *c, const int64_t *start) {
  for (int64_t g = 0; c->label && g < c->d->graphs; g++) {
    for (int64_t v = start[g] + 1; v < start[g + 1]; v++)
      if (c->label[v] != -1)
        check_violation(
            c, VIOLATION_LABEL,
            "/node/labels: node %lld has label %d; a graph's label stands at its first node, %lld",
            (long long)v, c->label[v], (long long)start[g]);
  }
}

int check_graphs(struct check *c) {
  FREED int64_t *start = NULL;
  if (c->d->graphs == 0) return OK;
  TRY(read_starts(c->d, &start));
  if (!check_starts(c, start)) return OK;
  check_labels(c, start);
  for (int64_t g = 0; g < c->d->graphs && c->d->has_graph; g++) TRY(check_arcs(c, start[g], start[g + 1]));
  return OK;
}
