/* Attention by cosines: its logits beside the formula, gradients by central differences. Some nodes have no
 * neighbours, some a stored self loop, some rows are zero behind the first layer's ReLU. */
#include "tests/models/layers/formula.h"

static double product(struct rows x, int64_t v, int64_t u) {
  double sum = 0;
  for (int64_t j = 0; j < x.cols; j++) sum += x.value[v * x.cols + j] * x.value[u * x.cols + j];
  return sum;
}

static double cosine(struct rows x, int64_t v, int64_t u) {
  double lengths = sqrt(product(x, v, v) * product(x, u, u));
  return lengths > 0 ? product(x, v, u) / lengths : 0;
}

/* sum_u softmax_u(beta cos(x_v, x_u)) x_u */
static struct rows attention_of(const struct fixture *f, struct rows x, const char *beta) {
  struct rows y = rows_of(f->nodes, x.cols);
  for (int64_t v = 0; v < f->nodes; v++) {
    double total = 0;
    for (int64_t u = 0; u < f->nodes; u++) {
      if (u != v && !has_arc(f, v, u)) continue;
      double weight = exp(*element_of(parameter_named(beta), 0) * cosine(x, v, u));
      total += weight;
      for (int64_t j = 0; j < x.cols; j++) y.value[v * x.cols + j] += weight * x.value[u * x.cols + j];
    }
    for (int64_t j = 0; j < x.cols; j++) y.value[v * x.cols + j] /= total;
  }
  return y;
}

static void check_formula(const struct fixture *f, const char *settings) {
  open_formula(f, settings);
  struct rows x = input_of(f), h = rows_of(f->nodes, 6), logits = rows_of(f->nodes, f->classes);
  add_linear(f, x, "layer0.weight", "layer0.bias", h);
  clamp(f, h);
  struct rows once = attention_of(f, h, "layer1.beta"), twice = attention_of(f, once, "layer2.beta");
  add_linear(f, twice, "layer3.weight", "layer3.bias", logits);
  assert_logits(logits);
  struct rows all[] = {x, h, logits, once, twice};
  for (int i = 0; i < 5; i++) free(all[i].value);
  fixture_close(&job);
}

TEST(logits_follow_the_formula) {
  check_formula(&plain, "model.type = \"agnn\"\nmodel.layers = 4");
  check_formula(&sparse, "model.type = \"agnn\"\nmodel.layers = 4\nruntime.overlap = false");
  check_formula(&directed, "model.type = \"agnn\"\nmodel.layers = 4");
}

TEST(one_propagation_and_three) {
  check_model(&plain, "model.type = \"agnn\"\nmodel.layers = 3\nmodel.dropout = 0.0");
  check_model(&plain, "model.type = \"agnn\"\nmodel.layers = 5\nruntime.overlap = false");
}

TEST(directed_graphs_use_both_shards) {
  check_model(&directed, "model.type = \"agnn\"\nmodel.layers = 4\nmodel.activation = \"elu\"");
}

TEST(sparse_features_norms_and_residuals) {
  check_model(&sparse, "model.type = \"agnn\"\nmodel.layers = 4\nmodel.dropout_input = 0.25");
  check_model(&plain,
              "model.type = \"agnn\"\nmodel.layers = 5\nmodel.norm = \"batch\"\nmodel.residual = true");
}

/* Where a bias of -9 makes every row zero: no cosine, no gradient, no NaN. */
TEST(rows_of_zeros_have_no_direction) {
  open_formula(&plain, "model.type = \"agnn\"\nmodel.layers = 4");
  double gradient[256];
  const struct parameter *bias = parameter_named("layer0.bias"), *weight = parameter_named("layer0.weight");
  const struct parameter *beta = parameter_named("layer1.beta");
  assert_true(job.trainer.model.parameters.numbers <= 256);
  for (int64_t j = 0; j < bias->cols; j++) *element_of(bias, j) = -9;
  assert_true(isfinite(loss_at(gradient)));
  for (int64_t i = 0; i < weight->rows * weight->cols; i++) assert_true(gradient[weight->first + i] == 0);
  assert_true(gradient[beta->first] == 0);
  fixture_close(&job);
}

/* Neither a gradient nor weight decay moves it; the next one is trained. */
TEST(the_first_beta_may_stay_one) {
  fixture_open(&job, &plain,
               "model.type = \"agnn\"\nmodel.layers = 4\nmodel.learn_first_beta = false\n"
               "train.weight_decay = 0.1\nruntime.precision = \"fp64\"");
  for (int64_t epoch = 1; epoch <= 3; epoch++) {
    double loss = 0;
    assert_ok(epoch_train(&job.trainer.epoch, &job.run, epoch, &loss));
  }
  assert_true(*element_of(parameter_named("layer1.beta"), 0) == 1);
  assert_true(*element_of(parameter_named("layer2.beta"), 0) != 1);
  fixture_close(&job);
}

TEST(two_layers_are_too_few) {
  fixture_open(&job, &plain, "model.type = \"mlp\"");
  struct model model = {0};
  strcpy(job.config.model.type, "agnn");
  assert_fails(model_init(&model, &job.run), BAD_INPUT, "model.layers = 2");
  model_free(&model, &job.run);
  fixture_close(&job);
}
