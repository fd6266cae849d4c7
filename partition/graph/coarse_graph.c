#include "partition/graph/coarse_graph.h"

#include "partition/graph/graph.h"
#include "runtime/base/base.h"
#include "runtime/base/edge_hash.h"

void coarse_graph_free(struct coarse_graph *coarse_graph) {
  free_all(coarse_graph->start, coarse_graph->col, coarse_graph->weight, coarse_graph->share,
           coarse_graph->volume);
  *coarse_graph = (struct coarse_graph){0};
}

int64_t coarse_graph_longest_row(const struct coarse_graph *coarse_graph) {
  int64_t longest = 0;
  for (int64_t v = 0; v < coarse_graph->nodes; v++)
    longest = larger(longest, coarse_graph->start[v + 1] - coarse_graph->start[v]);
  return longest;
}

/* What a sample is drawn from. */
struct source {
  const struct csr *pattern;
  int64_t first;     /* what node 0 stands for */
  const int64_t *id; /* NULL: nodes are the rows */
  const int32_t *local;
  uint64_t seed;
};

static int64_t row_of(const struct source *s, int64_t i) {
  return s->id ? s->id[i] : i;
}

/* The node that a column of node i's row is, -1: outside, or the node itself. */
static int32_t inside(const struct source *s, int64_t i, int32_t col) {
  if (s->id) return col == s->id[i] ? -1 : s->local[col];
  return col == s->first + i ? -1 : col;
}

static int64_t arcs_inside(const struct source *s, int64_t i) {
  int64_t count = 0, row = row_of(s, i);
  for (int64_t e = s->pattern->start[row]; e < s->pattern->start[row + 1]; e++)
    count += inside(s, i, s->pattern->col[e]) >= 0;
  return count;
}

/* Arcs number (j volume + offset) / kept of those inside, j = 0, 1, ... */
static void draw_row(const struct source *s, int64_t i, int64_t volume, int64_t kept, int32_t *col) {
  const uint64_t drawn_by = edge_hash(s->first + i, 0, (uint32_t)s->seed);
  int64_t offset = kept < volume ? (int64_t)(drawn_by % (uint64_t)volume) : 0;
  int64_t seen = 0, drawn = 0, next = offset / kept;
  for (int64_t e = s->pattern->start[row_of(s, i)]; drawn < kept; e++) {
    int32_t u = inside(s, i, s->pattern->col[e]);
    if (u < 0 || seen++ != next) continue;
    col[drawn++] = u;
    next = (drawn * volume + offset) / kept;
  }
}

int coarse_graph_sample(const struct csr *pattern, int64_t first, const int64_t *id, int64_t count,
                        const int32_t *local, int64_t seed, struct coarse_graph *n) {
  struct source source = {pattern, first, id, local, (uint64_t)seed};
  *n = (struct coarse_graph){.nodes = count};
  TRY(memory_arrays("sample of the graph", ROOM(&n->start, count + 1), ROOM(&n->volume, count),
                    ROOM(&n->share, count)));
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t i = 0; i < count; i++) n->volume[i] = arcs_inside(&source, i);
  for (int64_t i = 0; i < count; i++) {
    n->total += n->volume[i];
    n->start[i + 1] = n->start[i] + smaller(n->volume[i], COARSE_GRAPH_SAMPLE);
  }
  TRY(memory_arrays("sample of the graph", ROOM(&n->col, n->start[count])));
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t i = 0; i < count; i++) {
    int64_t kept = n->start[i + 1] - n->start[i];
    if (kept == 0) continue;
    n->share[i] = (float)n->volume[i] / (float)kept;
    draw_row(&source, i, n->volume[i], kept, n->col + n->start[i]);
  }
  return OK;
}

/* Row v of both, from m->start[v] on where m has columns; returns its length. */
static int64_t add_rows(const struct csr *a, const struct csr *b, int64_t v, struct csr *m) {
  int64_t i = a->start[v], j = b->start[v], length = 0;
  while (i < a->start[v + 1] || j < b->start[v + 1]) {
    int32_t x = i < a->start[v + 1] ? a->col[i] : INT32_MAX, y = j < b->start[v + 1] ? b->col[j] : INT32_MAX;
    int32_t col = x < y ? x : y;
    float weight = (x == col ? a->weight[i] : 0) + (y == col ? b->weight[j] : 0);
    i += x == col;
    j += y == col;
    if (col == v) continue;
    if (m->col) m->col[m->start[v] + length] = col;
    if (m->col) m->weight[m->start[v] + length] = weight;
    length++;
  }
  return length;
}

int coarse_graph_symmetrise(const struct coarse_graph *g, struct csr *symmetric) {
  ENDED_BY(csr_free) struct csr back = {0}, forth = {0};
  struct csr rows = {.rows = g->nodes,
                     .cols = g->nodes,
                     .nnz = g->start[g->nodes],
                     .start = g->start,
                     .col = g->col,
                     .weight = g->weight};
  TRY(csr_transpose(&rows, &back, NULL));
  TRY(csr_transpose(&back, &forth, NULL)); /* the same as rows, ascending */
  TRY(memory_arrays("a symmetric graph", ROOM(&symmetric->start, g->nodes + 1)));
  symmetric->rows = symmetric->cols = g->nodes;
  for (int64_t v = 0; v < g->nodes; v++)
    symmetric->start[v + 1] = symmetric->start[v] + add_rows(&back, &forth, v, symmetric);
  symmetric->nnz = symmetric->start[g->nodes];
  TRY(memory_arrays("a symmetric graph", ROOM(&symmetric->col, symmetric->nnz),
                    ROOM(&symmetric->weight, symmetric->nnz)));
  for (int64_t v = 0; v < g->nodes; v++) add_rows(&back, &forth, v, symmetric);
  return OK;
}

int tally_init(struct tally *t, int64_t longest) {
  int64_t size = 16;
  while (size < 2 * longest + 2) size *= 2;
  *t = (struct tally){.mask = size - 1};
  TRY(memory_arrays("sums by label", ROOM(&t->label, size), ROOM(&t->sum, size),
                    ROOM(&t->touched, longest + 1)));
  TRY(memory_arrays("labels of a row", ROOM(&t->row, longest + 1)));
  memset(t->label, -1, (size_t)size * sizeof *t->label);
  return OK;
}

void tally_free(struct tally *t) {
  free_all(t->label, t->sum, t->touched, t->row);
  *t = (struct tally){0};
}

void tally_clear(struct tally *t) {
  for (int64_t i = 0; i < t->count; i++) t->label[t->touched[i]] = -1;
  t->count = 0;
}

void tally_add(struct tally *t, int32_t label, double weight) {
  int64_t at = (int64_t)((uint32_t)label * 2654435769u >> 7) & t->mask;
  while (t->label[at] >= 0 && t->label[at] != label) at = (at + 1) & t->mask;
  if (t->label[at] < 0) {
    t->label[at] = label;
    t->sum[at] = 0;
    t->touched[t->count++] = (int32_t)at;
  }
  t->sum[at] += weight;
}

/* Labels are fetched in a loop of their own: they lie anywhere, and the fetches overlap. */
void tally_row(struct tally *t, const struct coarse_graph *n, int64_t v, const int32_t *label,
               int32_t except) {
  int64_t first = n->start[v], count = n->start[v + 1] - first;
  for (int64_t e = 0; e < count; e++) t->row[e] = label[n->col[first + e]];
  for (int64_t e = 0; e < count; e++) {
    if (t->row[e] == except || n->col[first + e] == v) continue;
    tally_add(t, t->row[e], (double)(n->weight ? n->weight[first + e] : n->share[v]));
  }
}

/* The nodes of each label, ascending. */
struct members {
  int64_t *start; /* [labels + 1] */
  int32_t *node;  /* [nodes] */
};

static void members_free(struct members *m) {
  free_all(m->start, m->node);
}

/* Arcs of one contracted row. */
static void sum_members(struct tally *t, const struct coarse_graph *fine, const int32_t *label,
                        const struct members *m, int64_t c) {
  tally_clear(t);
  for (int64_t i = m->start[c]; i < m->start[c + 1]; i++) tally_row(t, fine, m->node[i], label, (int32_t)c);
}

static void put_row(const struct tally *t, struct coarse_graph *coarse, int64_t c) {
  for (int64_t i = 0; i < t->count; i++) {
    coarse->col[coarse->start[c] + i] = t->label[t->touched[i]];
    coarse->weight[coarse->start[c] + i] = (float)t->sum[t->touched[i]];
  }
}

/* Arcs of a label's members at most, and different labels at most. */
static int64_t longest_contracted(const struct coarse_graph *fine, const struct members *m, int64_t labels) {
  int64_t longest = 0;
  for (int64_t c = 0; c < labels; c++) {
    int64_t arcs = 0;
    for (int64_t i = m->start[c]; i < m->start[c + 1]; i++)
      arcs += fine->start[m->node[i] + 1] - fine->start[m->node[i]];
    longest = larger(longest, arcs);
  }
  return larger(smaller(longest, labels), coarse_graph_longest_row(fine));
}

/* Arcs below which one thread is faster than the team is called. */
enum { ALONE = 1 << 16 };

/* Counts the rows of `coarse`, or fills them when it has columns. */
static int contract_rows(const struct coarse_graph *fine, const int32_t *label, const struct members *m,
                         int64_t longest, struct coarse_graph *coarse) {
  int code = OK;
#pragma omp parallel reduction(max : code) if (fine->start[fine->nodes] > ALONE)
  {
    struct tally tally = {0};
    code = tally_init(&tally, longest);
#pragma omp for schedule(dynamic, 64)
    for (int64_t c = 0; c < coarse->nodes; c++) {
      if (code != OK) continue;
      sum_members(&tally, fine, label, m, c);
      if (coarse->col)
        put_row(&tally, coarse, c);
      else
        coarse->start[c + 1] = tally.count;
    }
    tally_free(&tally);
  }
  if (code != OK)
    FAIL(code, "out of memory: no room to contract a graph of %lld nodes", (long long)fine->nodes);
  return OK;
}

static int contract(const struct coarse_graph *fine, const int32_t *label, struct members *m,
                    struct coarse_graph *coarse) {
  int64_t labels = coarse->nodes;
  TRY(memory_arrays("contracted graph", ROOM(&coarse->start, labels + 1), ROOM(&coarse->volume, labels)));
  for (int64_t v = 0; v < fine->nodes; v++) coarse->volume[label[v]] += fine->volume[v];
  TRY(memory_arrays("members of clusters", ROOM(&m->start, labels + 1), ROOM(&m->node, fine->nodes)));
  group_by_key(label, fine->nodes, labels, m->start, m->node);
  int64_t longest = longest_contracted(fine, m, labels);
  TRY(contract_rows(fine, label, m, longest, coarse));
  for (int64_t c = 0; c < labels; c++) coarse->start[c + 1] += coarse->start[c];
  int64_t arcs = coarse->start[labels];
  TRY(memory_arrays("contracted graph", ROOM(&coarse->col, arcs), ROOM(&coarse->weight, arcs)));
  return contract_rows(fine, label, m, longest, coarse);
}

int coarse_graph_contract(const struct coarse_graph *fine, const int32_t *label, int64_t labels,
                          struct coarse_graph *coarse) {
  ENDED_BY(members_free) struct members members = {0};
  *coarse = (struct coarse_graph){.nodes = labels, .total = fine->total};
  return contract(fine, label, &members, coarse);
}
