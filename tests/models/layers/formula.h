/* A model's logits without dropout, beside what its formula gives, one node at a time, on the whole graph. */
#ifndef TESTS_MODELS_LAYERS_FORMULA_H
#define TESTS_MODELS_LAYERS_FORMULA_H

#include "tests/models/layers/slope.h"

/* Rows of doubles on the host, one a node of the whole graph. */
struct rows {
  int64_t cols;
  double *value;
};

static inline struct rows rows_of(int64_t nodes, int64_t cols) {
  return (struct rows){cols, calloc((size_t)nodes * (size_t)cols, sizeof(double))};
}

static inline struct rows input_of(const struct fixture *f) {
  struct rows x = rows_of(f->nodes, f->features);
  for (int64_t i = 0; i < f->nodes * f->features; i++)
    x.value[i] = (double)feature_of(f, i / f->features, i % f->features);
  return x;
}

/* A parameter of the open job, by name; NULL when there is none. */
static inline const struct parameter *parameter_named(const char *name) {
  const struct parameters *p = &job.trainer.model.parameters;
  for (int i = 0; i < p->length; i++) {
    if (strcmp(p->list[i].name, name) == 0) return &p->list[i];
  }
  return NULL;
}

/* y = (y +) x W + bias, each where it is there; parameters "layer<l>.<name>". */
static inline void add_linear(const struct fixture *f, struct rows x, const char *weight, const char *bias,
                              struct rows y) {
  const struct parameter *w = parameter_named(weight), *b = bias ? parameter_named(bias) : NULL;
  assert_non_null(w);
  assert_true(w->rows == x.cols && w->cols == y.cols);
  for (int64_t v = 0; v < f->nodes; v++) {
    for (int64_t j = 0; j < y.cols; j++) {
      double sum = b ? *element_of(b, j) : 0;
      for (int64_t i = 0; i < x.cols; i++) sum += x.value[v * x.cols + i] * *element_of(w, i * w->cols + j);
      y.value[v * y.cols + j] += sum;
    }
  }
}

static inline void clamp(const struct fixture *f, struct rows x) {
  for (int64_t i = 0; i < f->nodes * x.cols; i++) x.value[i] = x.value[i] > 0 ? x.value[i] : 0;
}

/* y_v = sum over the arcs (v <- u) of weight x_u, over the sum of weights when `mean`. self: weight of a self
 * loop where none is stored. */
static inline struct rows aggregate_of(const struct fixture *f, struct rows x, double self, int mean) {
  struct rows y = rows_of(f->nodes, x.cols);
  for (int64_t v = 0; v < f->nodes; v++) {
    double degree = 0;
    for (int64_t u = 0; u < f->nodes; u++) {
      double w = has_arc(f, v, u) ? (f->weighted ? (double)arc_weight(f, v, u) : 1) : u == v ? self : 0;
      degree += w;
      for (int64_t j = 0; j < x.cols; j++) y.value[v * x.cols + j] += w * x.value[u * x.cols + j];
    }
    for (int64_t j = 0; j < x.cols && mean && degree > 0; j++) y.value[v * x.cols + j] /= degree;
  }
  return y;
}

/* Each row divided by its sum, where that is not 0. */
static inline void normalise_rows(const struct fixture *f, struct rows x) {
  for (int64_t v = 0; v < f->nodes; v++) {
    double *row = x.value + v * x.cols, sum = 0;
    for (int64_t j = 0; j < x.cols; j++) sum += row[j];
    for (int64_t j = 0; j < x.cols && sum != 0; j++) row[j] /= sum;
  }
}

/* D~^-1/2 A~ D~^-1/2 x, A~ with exactly one self loop a node, a stored one as it is; 0^-1/2 is 0. */
static inline struct rows normalised_aggregate_of(const struct fixture *f, struct rows x) {
  struct rows one = rows_of(f->nodes, 1), scaled = rows_of(f->nodes, x.cols);
  for (int64_t v = 0; v < f->nodes; v++) one.value[v] = 1;
  struct rows scale = aggregate_of(f, one, 1, 0);
  for (int64_t v = 0; v < f->nodes; v++) scale.value[v] = scale.value[v] > 0 ? 1 / sqrt(scale.value[v]) : 0;
  for (int64_t i = 0; i < f->nodes * x.cols; i++) scaled.value[i] = x.value[i] * scale.value[i / x.cols];
  struct rows y = aggregate_of(f, scaled, 1, 0);
  for (int64_t i = 0; i < f->nodes * x.cols; i++) y.value[i] *= scale.value[i / x.cols];
  free(one.value);
  free(scaled.value);
  free(scale.value);
  return y;
}

/* The open job's logits of own rows are those of `expected`. */
static inline void assert_logits(struct rows expected) {
  struct run *run = &job.run;
  struct model *model = &job.trainer.model;
  assert_ok(model_forward(model, run, 0, NULL, NULL));
  struct tensor logits = model_logits(model);
  assert_int_equal(logits.cols, expected.cols);
  double *value = calloc((size_t)(logits.rows * logits.cols + 1), sizeof *value), size = 0;
  assert_ok(run_download(run, value, logits));
  for (int64_t i = 0; i < logits.rows * logits.cols; i++) {
    double wanted = expected.value[run->shard->global_id[i / logits.cols] * logits.cols + i % logits.cols];
    assert_close(value[i], wanted, 1e-13 * fmax(1, fabs(wanted)));
    size = fmax(size, fabs(wanted));
  }
  assert_true(size > .01 || logits.rows == 0);
  free(value);
}

/* A job in double whose parameters have been moved off their start. */
static inline void open_formula(const struct fixture *f, const char *settings) {
  char text[1024];
  snprintf(text, sizeof text,
           "runtime.precision = \"fp64\"\npartition.method = \"random\"\nmodel.hidden = 6\n%s", settings);
  fixture_open(&job, f, text);
  move_parameters(&job.trainer.model.parameters);
}

#endif
