/* Hypergraphs, sums over their hyperedges in double and what tables make of them. */
#ifndef TESTS_KERNELS_HYPERGRAPHS_H
#define TESTS_KERNELS_HYPERGRAPHS_H

#include "kernels/ops/incidence.h"
#include "tests/kernels/every_table.h"

struct hypergraph {
  struct csr edges, vertices;
};

static struct hypergraph hypergraph;

static inline void free_hypergraph(void) {
  csr_free(&hypergraph.edges);
  csr_free(&hypergraph.vertices);
}

/* Hyperedge 0 holds every third vertex, 1 none, the others up to five; vertex 1 is in none. */
static inline void draw_hypergraph(int64_t vertices, int64_t edges) {
  free_hypergraph();
  assert_ok(csr_init(&hypergraph.edges, edges, vertices, vertices * 5 + edges * 5, 0));
  struct csr *m = &hypergraph.edges;
  m->nnz = 0;
  for (int64_t e = 0; e < edges; e++) {
    double share = e == 0 ? 1. / 3 : e == 1 ? 0 : fmin(1, 4. / (double)vertices);
    for (int64_t v = 0; v < vertices; v++) {
      int chosen = e == 0 ? v % 3 == 0 : (noise(60, e * vertices + v) + 1) / 2 < share;
      if (chosen && v != 1 && m->nnz < vertices * 5 + edges * 5) m->col[m->nnz++] = (int32_t)v;
    }
    m->start[e + 1] = m->nnz;
  }
  assert_ok(csr_transpose(m, &hypergraph.vertices, NULL));
}

struct scales {
  double *col, *edge, *self, *row; /* NULL: not there */
};

/* sums [edges, width] = B^T c X; y = r (B t sums + s c X), has_halo rows without r. */
static inline void reference(const struct scales *s, const double *x, int64_t width, const uint8_t *has_halo,
                             double *sums, double *y) {
  const struct csr *m = &hypergraph.edges;
  memset(sums, 0, (size_t)(m->rows * width) * sizeof *sums);
  for (int64_t v = 0; v < m->cols; v++) {
    double self = s->self ? s->self[v] * (s->col ? s->col[v] : 1) : 0;
    for (int64_t j = 0; j < width; j++) y[v * width + j] = self * x[v * width + j];
  }
  for (int64_t e = 0; e < m->rows; e++) {
    for (int64_t i = m->start[e]; i < m->start[e + 1]; i++) {
      int64_t v = m->col[i];
      for (int64_t j = 0; j < width; j++) sums[e * width + j] += (s->col ? s->col[v] : 1) * x[v * width + j];
    }
    for (int64_t i = m->start[e]; i < m->start[e + 1]; i++) {
      for (int64_t j = 0; j < width; j++)
        y[m->col[i] * width + j] += (s->edge ? s->edge[e] : 1) * sums[e * width + j];
    }
  }
  for (int64_t v = 0; v < m->cols; v++) {
    for (int64_t j = 0; j < width && s->row && !(has_halo && has_halo[v]); j++) y[v * width + j] *= s->row[v];
  }
}

static inline void *real_or_null(struct kernels *k, const double *value, int64_t count) {
  return value ? reals(k, value, count) : NULL;
}

/* How the sums are made. */
struct way {
  enum incidence_form form;
  int64_t panel;
  enum layout_tiers tiers;
};

static inline void open_incidence(struct kernels *k, const struct way *way, struct incidence *a) {
  const struct layout_plan plan = {.tiers = way->tiers, .vector_threshold = 3};
  assert_ok(incidence_init(k, &hypergraph.edges, &hypergraph.vertices, &plan, way->form, a));
  a->panel = way->panel;
  if (k->ops->incidence->fuses && way->form == INCIDENCE_FUSED) assert_non_null(a->pair);
  if (k->ops->incidence->splits && way->form == INCIDENCE_SPLIT) assert_non_null(a->split.memory);
}

/* which: bits for scales c, t, s, r, for `kept` and for has_halo rows. */
static inline void check(struct kernels *k, const struct way *way, int64_t width, int which) {
  int64_t vertices = hypergraph.edges.cols, edges = hypergraph.edges.rows;
  struct incidence a = {0};
  open_incidence(k, way, &a);
  struct scales s = {which & 1 ? noise_block(1, vertices) : NULL, which & 2 ? noise_block(2, edges) : NULL,
                     which & 4 ? noise_block(3, vertices) : NULL,
                     which & 8 ? noise_block(4, vertices) : NULL};
  double *x = rounded(k, noise_block(5, vertices * width), vertices * width);
  uint8_t *has_halo = host_block(vertices);
  for (int64_t v = 0; v < vertices; v++) has_halo[v] = which & 32 && v % 4 == 2;
  struct incidence_sum op = {.a = &a,
                             .x = padded_matrix(k, x, vertices, width, which % 3 - 1),
                             .col_scale = real_or_null(k, s.col, vertices),
                             .edge_scale = real_or_null(k, s.edge, edges),
                             .self_scale = real_or_null(k, s.self, vertices),
                             .row_scale = real_or_null(k, s.row, vertices),
                             .y = padded_matrix(k, NULL, vertices, width, which % 2)};
  if (which & 32) op.has_halo = device_block(k, has_halo, vertices);
  int apart = which & 32 && k->dtype != k->real; /* has_halo sums cannot lie in y */
  if (apart) op.sums = padded_matrix_of(k, k->real, NULL, vertices, width, OWN_GAPS);
  if (which & 16) op.kept = padded_matrix(k, NULL, edges, width, OWN_GAPS);
  double *sums = host_block(edges * width * 8), *y = host_block(vertices * width * 8);
  reference(&s, x, width, which & 32 ? has_halo : NULL, sums, y);
  int64_t scratch = incidence_workspace(k, &op);
  assert_ok(op_incidence_sum(k, &op));
  assert_true(k->workspace_bytes >= scratch);
  double *bare = apart ? values_of(k, op.sums) : NULL, *ended = values_of(k, op.y);
  for (int64_t i = 0; apart && i < vertices * width; i++) ended[i] = has_halo[i / width] ? bare[i] : ended[i];
  /* Sums of hyperedges are rounded on their way, and may cancel; X is where it is scaled before them. */
  double kept = tolerance_of(k) * (k->dtype == BF16 && s.col ? 1.5 : 1);
  assert_all_close(ended, y, vertices * width, tolerance_of(k) * (k->dtype == BF16 ? 3 : 1));
  if (which & 16) assert_all_close(values_of(k, op.kept), sums, edges * width, kept);
  double *first = values_of(k, op.y);
  assert_ok(op_incidence_sum(k, &op));
  assert_all_equal(values_of(k, op.y), first, vertices * width);
  incidence_free(k, &a);
  free_blocks(k->device);
}

#endif
