/* GIN: its logits beside the formula, gradients by central differences, eps of every layer among them. */
#include "tests/models/layers/formula.h"

/* x <- relu(x / sqrt(1 + 1e-5) gain + shift): batch norm with the statistics it starts from. */
static void norm_and_clamp(const struct fixture *f, struct rows x, const char *gain, const char *shift) {
  const struct parameter *g = parameter_named(gain), *s = parameter_named(shift);
  for (int64_t i = 0; i < f->nodes * x.cols; i++)
    x.value[i] = x.value[i] / sqrt(1 + 1e-5) * *element_of(g, i % x.cols) + *element_of(s, i % x.cols);
  clamp(f, x);
}

/* (1 + eps) x + sum of the neighbours' x. */
static struct rows sum_of(const struct fixture *f, struct rows x, double eps) {
  struct rows y = aggregate_of(f, x, 0, 0);
  for (int64_t i = 0; i < f->nodes * x.cols; i++) y.value[i] += (1 + eps) * x.value[i];
  return y;
}

/* Two layers of two linear maps each; eps[l] of each layer. */
static void check_formula(const struct fixture *f, const char *settings, const double *eps) {
  open_formula(f, settings);
  double learned[2];
  for (int l = 0; l < 2; l++) {
    const struct parameter *p = parameter_named(l ? "layer2.eps" : "layer0.eps");
    assert_true((p != NULL) == (eps == NULL));
    learned[l] = p ? *element_of(p, 0) : eps[l];
  }
  struct rows x = input_of(f), h = rows_of(f->nodes, 6), logits = rows_of(f->nodes, f->classes);
  struct rows first = rows_of(f->nodes, 6), second = rows_of(f->nodes, 6), sum[2];
  sum[0] = sum_of(f, x, learned[0]);
  add_linear(f, sum[0], "layer0.weight", NULL, first);
  norm_and_clamp(f, first, "layer0.gain", "layer0.shift");
  add_linear(f, first, "layer1.weight", "layer1.bias", h);
  clamp(f, h);
  sum[1] = sum_of(f, h, learned[1]);
  add_linear(f, sum[1], "layer2.weight", NULL, second);
  norm_and_clamp(f, second, "layer2.gain", "layer2.shift");
  add_linear(f, second, "layer3.weight", "layer3.bias", logits);
  assert_logits(logits);
  struct rows all[] = {x, h, logits, first, second, sum[0], sum[1]};
  for (int i = 0; i < 7; i++) free(all[i].value);
  fixture_close(&job);
}

TEST(logits_follow_the_formula) {
  const double zero[] = {0, 0}, some[] = {.25, .25};
  check_formula(&plain, "model.type = \"gin\"", zero);
  check_formula(&plain, "model.type = \"gin\"\nmodel.eps = 0.25\nruntime.once = false", some);
  check_formula(&sparse, "model.type = \"gin\"\nmodel.eps = 0.25", some);
  check_formula(&directed_weighted, "model.type = \"gin\"\nmodel.eps = 0.25", some);
  check_formula(&plain, "model.type = \"gin\"\nmodel.learn_eps = true", NULL);
  check_formula(&directed_weighted, "model.type = \"gin\"\nmodel.learn_eps = true", NULL);
}

TEST(eps_fixed) {
  check_model(&plain, "model.type = \"gin\"");
  check_model(&plain, "model.type = \"gin\"\nmodel.eps = -0.25\nruntime.once = false\nmodel.layers = 3");
  check_model(&weighted, "model.type = \"gin\"\nmodel.dropout_input = 0.25");
  check_model(&sparse, "model.type = \"gin\"");
}

TEST(eps_learned) {
  check_model(&plain, "model.type = \"gin\"\nmodel.learn_eps = true");
  check_model(&plain, "model.type = \"gin\"\nmodel.learn_eps = true\nmodel.eps = 0.5\nmodel.layers = 3\n"
                      "model.norm = \"layer\"");
  check_model(&sparse, "model.type = \"gin\"\nmodel.learn_eps = true\nmodel.dropout_input = 0.25");
}

TEST(directed_graphs) {
  check_model(&directed, "model.type = \"gin\"\nmodel.learn_eps = true");
  check_model(&directed_weighted, "model.type = \"gin\"\nmodel.norm = \"batch\"\nmodel.layers = 1");
}

/* Both Linears of the first layer, its norm between them, and its eps, which comes first. */
TEST(weight_decay_of_the_first_layer_is_for_both_its_linears) {
  fixture_open(&job, &plain,
               "model.type = \"gin\"\nmodel.learn_eps = true\ntrain.weight_decay = 5e-4\n"
               "train.weight_decay_first_only = true");
  const struct parameters *p = &job.trainer.model.parameters;
  for (int i = 0; i < p->length; i++) {
    const struct parameter *piece = &p->list[i];
    int layer = piece->name[strlen("layer")] - '0';
    assert_int_equal(piece->offset < p->decay_end, layer <= 1);
  }
  fixture_close(&job);
}
