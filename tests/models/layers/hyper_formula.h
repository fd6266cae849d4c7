/* P of hypergraphs as its formula has it, one incidence at a time. */
#ifndef TESTS_MODELS_LAYERS_HYPER_FORMULA_H
#define TESTS_MODELS_LAYERS_HYPER_FORMULA_H

#include "tests/models/layers/formula.h"

/* The hypergraph with own hyperedges where they are wanted. */
struct members {
  int64_t edges, nodes;
  uint8_t *has;
  double *size, *degree;
};

static inline struct members members_of(const struct fixture *f, int self) {
  struct members m = {f->hyperedges + f->nodes, f->nodes, NULL, NULL, NULL};
  m.has = calloc((size_t)(m.edges * m.nodes), 1);
  m.size = calloc((size_t)m.edges, sizeof *m.size);
  m.degree = calloc((size_t)m.nodes, sizeof *m.degree);
  uint8_t *alone = calloc((size_t)m.nodes, 1);
  for (int64_t e = 0; e < m.edges; e++) {
    for (int64_t v = 0; v < m.nodes; v++) {
      int own = e >= f->hyperedges && e - f->hyperedges == v && self && !alone[v];
      m.has[e * m.nodes + v] = (uint8_t)(e < f->hyperedges ? has_member(f, e, v) : own);
      m.size[e] += m.has[e * m.nodes + v];
      m.degree[v] += m.has[e * m.nodes + v];
    }
    for (int64_t v = 0; v < m.nodes && m.size[e] == 1; v++) alone[v] |= m.has[e * m.nodes + v];
  }
  free(alone);
  return m;
}

static inline void members_free(struct members *m) {
  free(m->has);
  free(m->size);
  free(m->degree);
}

enum kind { HYPER_SUM, HYPER_NORM, HYPER_DEGREE };

static inline double root(double x) {
  return x > 0 ? 1 / sqrt(x) : 0;
}

/* What hyperedge e gives to its vertices is t times the sum over them. weight NULL: 1. */
static inline double factor_of(const struct members *m, enum kind kind, int64_t e, const double *weight,
                               int64_t weights) {
  double degrees = 0, w = weight && e < weights ? weight[e] : 1;
  if (kind == HYPER_SUM) return w;
  if (kind == HYPER_NORM) return w / m->size[e];
  for (int64_t v = 0; v < m->nodes; v++) degrees += m->has[e * m->nodes + v] * m->degree[v];
  return root(degrees / m->size[e]) / m->size[e];
}

static inline struct rows hyper_aggregate_of(const struct fixture *f, struct rows x, enum kind kind, int self,
                                             const double *weight) {
  struct members m = members_of(f, self);
  struct rows y = rows_of(f->nodes, x.cols);
  for (int64_t e = 0; e < m.edges; e++) {
    double t = m.size[e] > 0 ? factor_of(&m, kind, e, weight, f->hyperedges) : 0;
    for (int64_t j = 0; j < x.cols; j++) {
      double sum = 0;
      for (int64_t v = 0; v < m.nodes; v++)
        sum += m.has[e * m.nodes + v] * (kind == HYPER_NORM ? root(m.degree[v]) : 1) *
               x.value[v * x.cols + j];
      for (int64_t v = 0; v < m.nodes; v++)
        y.value[v * x.cols + j] += m.has[e * m.nodes + v] * (kind == HYPER_SUM ? 1 : root(m.degree[v])) * t *
                                   sum;
    }
  }
  members_free(&m);
  return y;
}

#endif
