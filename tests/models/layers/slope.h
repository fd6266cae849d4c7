/* Gradients of every parameter of a model by central differences in double, over all ranks. */
#ifndef TESTS_MODELS_LAYERS_SLOPE_H
#define TESTS_MODELS_LAYERS_SLOPE_H

#include "models/train/epoch.h"
#include "tests/models/fixture.h"

static struct job job;
RANK_TESTS(job.comm);

/* Training loss over all ranks at the current parameters, masks fixed; fills the gradient when asked to. */
static inline double loss_at(double *gradient) {
  struct run *run = &job.run;
  struct model *model = &job.trainer.model;
  struct scalars scalars = {.epoch = 3, .step = 1, .lr = .01};
  struct epoch *epoch = &job.trainer.epoch;
  memcpy(run->kernels->scalars, &scalars, sizeof scalars);
  assert_ok(gradient ? epoch_gradients(epoch, run) : epoch_forward(epoch, run));
  double loss = outcome_sum(epoch->objective->outcome, epoch->objective->chunks).loss;
  assert_ok(comm_reduce(run->comm, &loss, 1, NUMBER_DOUBLE, REDUCE_SUM));
  if (!gradient) return loss;
  assert_ok(
      comm_allreduce(run->comm, model->parameters.dw, model->parameters.count, NUMBER_DOUBLE, REDUCE_SUM));
  assert_ok(parameters_download(&model->parameters, run, gradient, model->parameters.dw));
  return loss;
}

/* Where number i of a parameter lies; host memory on the CPU. */
static inline double *element_of(const struct parameter *piece, int64_t i) {
  double *w = job.trainer.model.parameters.w;
  return w + piece->offset + i / piece->cols * piece->stride + i % piece->cols;
}

static inline double loss_with(double *element, double value) {
  double kept = *element;
  *element = value;
  double loss = loss_at(NULL);
  *element = kept;
  return loss;
}

static inline double slope_at(double *element, double h) {
  return (loss_with(element, *element + h) - loss_with(element, *element - h)) / (2 * h);
}

/* Compares up to 24 elements of each parameter. Where the slope misses the gradient but has not settled
 * either (a smaller step moves it), a kink of the activation lies within the step: counted, not compared. */
static inline void check_parameter(const struct parameter *piece, const double *gradient, double largest,
                                   int *checked, int *kinks) {
  const double h = 1e-5;
  int64_t count = piece->rows * piece->cols, step = count > 24 ? count / 24 : 1;
  for (int64_t i = 0; i < count; i += step) {
    double *element = element_of(piece, i), mine = gradient[piece->first + i];
    double slope = slope_at(element, h), missed = fabs(slope - mine);
    double bound = 1e-6 * fmax(fmax(fabs(slope), fabs(mine)), 1e-2 * largest);
    if (missed <= bound) {
      (*checked)++;
    } else if (fabs(slope_at(element, h / 8) - slope) > .5 * missed) {
      (*kinks)++;
    } else {
      fail_msg("%s[%lld]: gradient %.12g, slope %.12g, allowed %.3g", piece->name, (long long)i, mine, slope,
               bound);
    }
  }
}

/* Moves every element: a bias of exactly 0 puts nodes without input on the kink of ReLU. */
static inline void move_parameters(const struct parameters *p) {
  for (int i = 0; i < p->length; i++) {
    const struct parameter *piece = &p->list[i];
    for (int64_t j = 0; j < piece->rows * piece->cols; j++)
      *element_of(piece, j) += .05 + (double)(draw((uint64_t)(piece->first + j), 8) % 1000) / 5000;
  }
}

static inline void check_model(const struct fixture *fixture, const char *settings) {
  char text[2048];
  snprintf(text, sizeof text, "runtime.precision = \"fp64\"\npartition.method = \"random\"\n%s%s",
           strstr(settings, "model.hidden") ? "" : "model.hidden = 6\n", settings);
  job_levels_worth = 1; /* whatever it saves, rows are left out */
  fixture_open(&job, fixture, text);
  const struct parameters *p = &job.trainer.model.parameters;
  double *gradient = calloc((size_t)p->numbers, sizeof *gradient), largest = 0;
  move_parameters(p);
  loss_at(gradient);
  int checked = 0, kinks = 0;
  for (int64_t i = 0; i < p->numbers; i++) largest = fmax(largest, fabs(gradient[i]));
  assert_true(largest > 1e-3);
  for (int i = 0; i < p->length; i++) check_parameter(&p->list[i], gradient, largest, &checked, &kinks);
  assert_true(checked >= 15);
  assert_true(kinks * 20 <= checked);
  free(gradient);
  fixture_close(&job);
}

static const struct fixture plain = {.nodes = 61, .features = 5, .classes = 4};
static const struct fixture sparse = {.nodes = 61, .features = 40, .classes = 4, .sparse = 1};
static const struct fixture weighted = {.nodes = 61, .features = 5, .classes = 4, .weighted = 1};
static const struct fixture directed = {.nodes = 61, .features = 5, .classes = 4, .directed = 1};
static const struct fixture directed_weighted = {
    .nodes = 61, .features = 9, .classes = 4, .directed = 1, .weighted = 1};
static const struct fixture multilabel = {.nodes = 61, .features = 5, .classes = 4, .multilabel = 1};

#endif
