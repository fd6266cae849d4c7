/* Gradients of every parameter by central differences in double, for every combination of settings that
 * changes the formula, on any number of ranks. */
#include "models/epoch.h"
#include "tests/models/fixture.h"

static struct job job;

/* Training loss over all ranks at the current parameters, masks fixed; fills the gradient when asked to. */
static double loss_at(double *gradient) {
  struct run *run = &job.run;
  struct model *model = &job.trainer.model;
  struct scalars scalars = {.epoch = 3, .step = 1, .lr = .01};
  double loss = 0;
  memcpy(run->kernels->scalars, &scalars, sizeof scalars);
  assert_ok(model_forward(model, run, 1));
  struct tensor grad = gradient ? model_logits_grad(model) : (struct tensor){0};
  assert_ok(objective_loss(&job.trainer.objective, run, SPLIT_TRAIN, model_logits(model), grad, &loss));
  assert_ok(comm_reduce(run->comm, &loss, 1, NUMBER_DOUBLE, REDUCE_SUM));
  if (!gradient) return loss;
  assert_ok(model_backward(model, run));
  assert_ok(
      comm_allreduce(run->comm, model->parameters.dw, model->parameters.count, NUMBER_DOUBLE, REDUCE_SUM));
  assert_ok(parameters_download(&model->parameters, run, gradient, model->parameters.dw));
  return loss;
}

/* Where number i of a parameter lies; host memory on the CPU. */
static double *element_of(const struct parameter *piece, int64_t i) {
  double *w = job.trainer.model.parameters.w;
  return w + piece->offset + i / piece->cols * piece->stride + i % piece->cols;
}

static double loss_with(double *element, double value) {
  double kept = *element;
  *element = value;
  double loss = loss_at(NULL);
  *element = kept;
  return loss;
}

static double slope_at(double *element, double h) {
  return (loss_with(element, *element + h) - loss_with(element, *element - h)) / (2 * h);
}

/* Compares up to 24 elements of each parameter. Where the slope misses the gradient but has not settled
 * either (a smaller step moves it), a kink of the activation lies within the step: counted, not compared. */
static void check_parameter(const struct parameter *piece, const double *gradient, double largest,
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
static void move_parameters(const struct parameters *p) {
  for (int i = 0; i < p->length; i++) {
    const struct parameter *piece = &p->list[i];
    for (int64_t j = 0; j < piece->rows * piece->cols; j++)
      *element_of(piece, j) += .05 + (double)(draw((uint64_t)(piece->first + j), 8) % 1000) / 5000;
  }
}

static void check_model(const struct fixture *fixture, const char *settings) {
  char text[2048];
  snprintf(text, sizeof text, "runtime.precision = \"fp64\"\npartition.method = \"random\"\n%s%s",
           strstr(settings, "model.hidden") ? "" : "model.hidden = 6\n", settings);
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

static void gcn_of_two_layers(void **state) {
  (void)state;
  check_model(&plain, "model.dropout = 0.0");
  check_model(&plain, "model.dropout = 0.3\nruntime.overlap = false");
}

static void gcn_of_one_layer(void **state) {
  (void)state;
  check_model(&plain, "model.layers = 1");
}

static void aggregate_first_and_transform_first_agree_with_the_slope(void **state) {
  (void)state;
  check_model(&plain, "runtime.once = false\nmodel.hidden = 3");
  check_model(&plain, "runtime.once = false\nmodel.hidden = 2\nmodel.layers = 3\nmodel.activation = \"elu\"");
}

static void input_dropout_dense_and_sparse(void **state) {
  (void)state;
  check_model(&plain, "model.dropout_input = 0.25");
  check_model(&sparse, "model.dropout_input = 0.25");
  check_model(&sparse, "model.dropout_input = 0.0");
}

static void batch_norm_uses_the_statistics_of_all_ranks(void **state) {
  (void)state;
  check_model(&plain, "model.norm = \"batch\"\nmodel.layers = 3");
  check_model(&plain,
              "model.norm = \"batch\"\nmodel.residual = true\nmodel.layers = 4\nmodel.activation = \"elu\"");
}

static void layer_norm_and_residuals(void **state) {
  (void)state;
  check_model(&plain, "model.norm = \"layer\"\nmodel.layers = 3");
  check_model(&plain, "model.residual = true\nmodel.layers = 4\nmodel.activation = \"leaky_relu\"");
  check_model(&plain, "model.norm = \"layer\"\nmodel.residual = true\nmodel.layers = 3\nmodel.bias = false");
}

static void edge_norms_and_weights(void **state) {
  (void)state;
  check_model(&plain, "model.norm_edges = \"row\"");
  check_model(&plain, "model.norm_edges = \"none\"");
  check_model(&weighted, "model.norm_edges = \"both\"");
  check_model(&weighted, "model.norm_edges = \"row\"\nmodel.layers = 3");
}

static void directed_graphs_use_the_transposed_shard(void **state) {
  (void)state;
  check_model(&directed, "model.norm_edges = \"row\"\nmodel.layers = 3");
  check_model(&directed_weighted, "model.norm_edges = \"both\"\nruntime.once = false");
}

static void multilabel_loss(void **state) {
  (void)state;
  check_model(&multilabel, "model.activation = \"elu\"");
}

static void mlp(void **state) {
  (void)state;
  check_model(&plain, "model.type = \"mlp\"\nmodel.layers = 3\nmodel.residual = true");
  check_model(&sparse, "model.type = \"mlp\"\nmodel.norm = \"batch\"");
}

int main(int argc, char **argv) {
  if (comm_open(&job.comm, &argc, &argv) != OK) return 1;
  if (job.comm.rank != 0 && !freopen("/dev/null", "w", stdout)) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(gcn_of_two_layers),
      cmocka_unit_test(gcn_of_one_layer),
      cmocka_unit_test(aggregate_first_and_transform_first_agree_with_the_slope),
      cmocka_unit_test(input_dropout_dense_and_sparse),
      cmocka_unit_test(batch_norm_uses_the_statistics_of_all_ranks),
      cmocka_unit_test(layer_norm_and_residuals),
      cmocka_unit_test(edge_norms_and_weights),
      cmocka_unit_test(directed_graphs_use_the_transposed_shard),
      cmocka_unit_test(multilabel_loss),
      cmocka_unit_test(mlp),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  comm_close(&job.comm);
  return failed;
}
