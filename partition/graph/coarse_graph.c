#include "partition/graph/coarse_graph.h"

#include <stdlib.h>
#include <string.h>

#include "partition/graph/graph.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"

void coarse_graph_free(struct coarse_graph *coarse_graph) {
  free(coarse_graph->start);
  free(coarse_graph->col);
  free(coarse_graph->weight);
  free(coarse_graph->share);
  free(coarse_graph->volume);
  *coarse_graph = (struct coarse_graph){0};
}

int64_t coarse_graph_longest_row(const struct coarse_graph *coarse_graph) {
  int64_t longest = 0;
  for (int64_t v = 0; v < coarse_graph->nodes; v++)
    if (coarse_graph->start[v + 1] - coarse_graph->start[v] > longest)
      longest = coarse_graph->start[v + 1] - coarse_graph->start[v];
  return longest;
}

/* What a sample is drawn from. */
struct source {
  const struct csr *pattern;
  const int64_t *id;
  const int32_t *local;
  uint64_t seed;
};

/* The node that a column is, -1: outside, or the row itself. */
static int32_t inside(const struct source *s, int64_t v, int32_t col) {
  if (col == v) return -1;
  return s->local ? s->local[col] : col;
}

static int64_t arcs_inside(const struct source *s, int64_t v) {
  int64_t count = 0;
  for (int64_t e = s->pattern->start[v]; e < s->pattern->start[v + 1]; e++)
    count += inside(s, v, s->pattern->col[e]) >= 0;
  return count;
}

/* Arcs number (j volume + offset) / kept of those inside, j = 0, 1, ... */
static void draw_row(const struct source *s, int64_t v, int64_t volume, int64_t kept, int32_t *col) {
  int64_t offset = kept < volume ? (int64_t)(graph_edge_hash(v, 0, (uint32_t)s->seed) % (uint64_t)volume) : 0;
  int64_t seen = 0, drawn = 0, next = offset / kept;
  for (int64_t e = s->pattern->start[v]; drawn < kept; e++) {
    int32_t u = inside(s, v, s->pattern->col[e]);
    if (u < 0 || seen++ != next) continue;
    col[drawn++] = u;
    next = (drawn * volume + offset) / kept;
  }
}

static int64_t kept_of(int64_t volume) {
  return volume < COARSE_GRAPH_SAMPLE ? volume : COARSE_GRAPH_SAMPLE;
}

int coarse_graph_sample(const struct csr *pattern, const int64_t *id, int64_t count, const int32_t *local,
                        int64_t seed, struct coarse_graph *n) {
  struct source source = {pattern, id, local, (uint64_t)seed};
  *n = (struct coarse_graph){.nodes = count};
  TRY(memory_alloc(&n->start, (count + 1) * (int64_t)sizeof *n->start, "sample of the graph"));
  TRY(memory_alloc(&n->volume, count * (int64_t)sizeof *n->volume, "sample of the graph"));
  TRY(memory_alloc(&n->share, count * (int64_t)sizeof *n->share, "sample of the graph"));
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t i = 0; i < count; i++) n->volume[i] = arcs_inside(&source, id ? id[i] : i);
  for (int64_t i = 0; i < count; i++) {
    n->total += n->volume[i];
    n->start[i + 1] = n->start[i] + kept_of(n->volume[i]);
  }
  TRY(memory_alloc(&n->col, n->start[count] * (int64_t)sizeof *n->col, "sample of the graph"));
#pragma omp parallel for schedule(dynamic, 1024)
  for (int64_t i = 0; i < count; i++) {
    int64_t kept = kept_of(n->volume[i]);
    if (kept == 0) continue;
    n->share[i] = (float)n->volume[i] / (float)kept;
    draw_row(&source, id ? id[i] : i, n->volume[i], kept, n->col + n->start[i]);
  }
  return OK;
}

int tally_init(struct tally *t, int64_t longest) {
  int64_t size = 16;
  while (size < 2 * longest + 2) size *= 2;
  *t = (struct tally){.mask = size - 1};
  TRY(memory_alloc(&t->label, size * (int64_t)sizeof *t->label, "sums by label"));
  TRY(memory_alloc(&t->sum, size * (int64_t)sizeof *t->sum, "sums by label"));
  TRY(memory_alloc(&t->touched, (longest + 1) * (int64_t)sizeof *t->touched, "sums by label"));
  TRY(memory_alloc(&t->row, (longest + 1) * (int64_t)sizeof *t->row, "labels of a row"));
  memset(t->label, -1, (size_t)size * sizeof *t->label);
  return OK;
}

void tally_free(struct tally *t) {
  free(t->label);
  free(t->sum);
  free(t->touched);
  free(t->row);
  *t = (struct tally){0};
}

void tally_clear(struct tally *t) {
  for (int64_t i = 0; i < t->count; i++) t->label[t->touched[i]] = -1;
  t->count = 0;
}

static void add(struct tally *t, int32_t label, float weight) {
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
    add(t, t->row[e], n->weight ? n->weight[first + e] : n->share[v]);
  }
}

/* The nodes of each label, ascending. */
struct members {
  int64_t *start; /* [labels + 1] */
  int32_t *node;  /* [nodes] */
};

static int members_init(const struct coarse_graph *n, const int32_t *label, int64_t labels,
                        struct members *m) {
  TRY(memory_alloc(&m->start, (labels + 2) * (int64_t)sizeof *m->start, "members of clusters"));
  TRY(memory_alloc(&m->node, n->nodes * (int64_t)sizeof *m->node, "members of clusters"));
  int64_t *next = m->start + 1;
  for (int64_t v = 0; v < n->nodes; v++) m->start[label[v] + 2]++;
  for (int64_t c = 0; c < labels; c++) next[c + 1] += next[c];
  for (int64_t v = 0; v < n->nodes; v++) m->node[next[label[v]]++] = (int32_t)v;
  return OK;
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
    coarse->weight[coarse->start[c] + i] = t->sum[t->touched[i]];
  }
}

/* Arcs of a label's members at most, and different labels at most. */
static int64_t longest_contracted(const struct coarse_graph *fine, const struct members *m, int64_t labels) {
  int64_t longest = 0;
  for (int64_t c = 0; c < labels; c++) {
    int64_t arcs = 0;
    for (int64_t i = m->start[c]; i < m->start[c + 1]; i++)
      arcs += fine->start[m->node[i] + 1] - fine->start[m->node[i]];
    if (arcs > longest) longest = arcs;
  }
  int64_t row = coarse_graph_longest_row(fine), bound = longest < labels ? longest : labels;
  return bound > row ? bound : row;
}

/* Arcs below which one thread is faster than the team is called. */
enum { ALONE = 1 << 16 };

/* Counts the rows of `coarse`, or fills them when it has columns. */
static int contract_rows(const struct coarse_graph *fine, const int32_t *label, const struct members *m,
                         int64_t longest, struct coarse_graph *coarse) {
  int code = OK;
#pragma omp parallel if (fine->start[fine->nodes] > ALONE)
  {
    struct tally tally = {0};
    int mine = tally_init(&tally, longest);
#pragma omp for schedule(dynamic, 64)
    for (int64_t c = 0; c < coarse->nodes; c++) {
      if (mine != OK) continue;
      sum_members(&tally, fine, label, m, c);
      if (coarse->col)
        put_row(&tally, coarse, c);
      else
        coarse->start[c + 1] = tally.count;
    }
    tally_free(&tally);
    if (mine != OK) {
#pragma omp atomic write
      code = mine;
    }
  }
  if (code != OK)
    FAIL(code, "out of memory: no room to contract a graph of %lld nodes", (long long)fine->nodes);
  return OK;
}

static int contract(const struct coarse_graph *fine, const int32_t *label, struct members *m,
                    struct coarse_graph *coarse) {
  int64_t labels = coarse->nodes;
  TRY(memory_alloc(&coarse->start, (labels + 1) * (int64_t)sizeof *coarse->start, "contracted graph"));
  TRY(memory_alloc(&coarse->volume, labels * (int64_t)sizeof *coarse->volume, "contracted graph"));
  for (int64_t v = 0; v < fine->nodes; v++) coarse->volume[label[v]] += fine->volume[v];
  TRY(members_init(fine, label, labels, m));
  int64_t longest = longest_contracted(fine, m, labels);
  TRY(contract_rows(fine, label, m, longest, coarse));
  for (int64_t c = 0; c < labels; c++) coarse->start[c + 1] += coarse->start[c];
  int64_t arcs = coarse->start[labels];
  TRY(memory_alloc(&coarse->col, arcs * (int64_t)sizeof *coarse->col, "contracted graph"));
  TRY(memory_alloc(&coarse->weight, arcs * (int64_t)sizeof *coarse->weight, "contracted graph"));
  return contract_rows(fine, label, m, longest, coarse);
}

int coarse_graph_contract(const struct coarse_graph *fine, const int32_t *label, int64_t labels,
                          struct coarse_graph *coarse) {
  struct members members = {0};
  *coarse = (struct coarse_graph){.nodes = labels, .total = fine->total};
  int code = contract(fine, label, &members, coarse);
  free(members.start);
  free(members.node);
  return code;
}
