/* APPNP: its logits beside the formula, and gradients by central differences. */
#include "tests/models/layers/formula.h"

enum { HIDDEN = 6 };

/* (1 - a) P z + a h */
static struct rows step_of_power(const struct fixture *f, struct rows z, struct rows h, double alpha) {
  struct rows y = normalised_aggregate_of(f, z);
  for (int64_t i = 0; i < f->nodes * h.cols; i++) y.value[i] = (1 - alpha) * y.value[i] + alpha * h.value[i];
  free(z.value);
  return y;
}

static void check_formula(const struct fixture *f, const char *settings, int steps, double alpha) {
  open_formula(f, settings);
  struct rows x = input_of(f), hidden = rows_of(f->nodes, HIDDEN), h = rows_of(f->nodes, f->classes),
              z = rows_of(f->nodes, f->classes);
  add_linear(f, x, "layer0.weight", "layer0.bias", hidden);
  clamp(f, hidden);
  add_linear(f, hidden, "layer1.weight", "layer1.bias", h);
  memcpy(z.value, h.value, (size_t)(f->nodes * f->classes) * sizeof *z.value);
  for (int k = 0; k < steps; k++) z = step_of_power(f, z, h, alpha);
  assert_logits(z);
  struct rows all[] = {x, hidden, h, z};
  for (int i = 0; i < 4; i++) free(all[i].value);
  fixture_close(&job);
}

TEST(logits_follow_the_formula) {
  check_formula(&plain, "model.type = \"appnp\"", 10, .1);
  check_formula(&plain, "model.type = \"appnp\"\nmodel.steps = 1\nmodel.alpha = 0.5", 1, .5);
  check_formula(&sparse, "model.type = \"appnp\"\nmodel.steps = 2\nmodel.alpha = 0.25", 2, .25);
  check_formula(&directed_weighted, "model.type = \"appnp\"\nmodel.steps = 5\nmodel.alpha = 0.0", 5, 0);
}

TEST(any_depth) {
  check_model(&plain, "model.type = \"appnp\"\nmodel.layers = 1\nmodel.steps = 3");
  check_model(&plain, "model.type = \"appnp\"\nmodel.steps = 1\nmodel.alpha = 0.3");
  check_model(&plain,
              "model.type = \"appnp\"\nmodel.layers = 3\nmodel.steps = 2\nmodel.dropout_input = 0.25");
  check_model(&plain, "model.type = \"appnp\"\nmodel.activation = \"elu\"\nmodel.dropout = 0.2");
}

TEST(norms_features_and_labels) {
  check_model(&sparse, "model.type = \"appnp\"\nmodel.steps = 4\nmodel.dropout = 0.0");
  check_model(&plain, "model.type = \"appnp\"\nmodel.layers = 3\nmodel.norm = \"layer\"\nmodel.alpha = 0.4");
  check_model(&plain, "model.type = \"appnp\"\nmodel.layers = 3\nmodel.norm = \"batch\"\nmodel.hidden = 5");
  check_model(&plain, "model.type = \"appnp\"\nmodel.layers = 4\nmodel.residual = true");
  check_model(&multilabel, "model.type = \"appnp\"\nmodel.steps = 3");
}

/* The factor 1 - a comes to rows with and without a scale of their own. */
TEST(weighted_and_directed_graphs) {
  check_model(&weighted, "model.type = \"appnp\"\nmodel.steps = 3\nmodel.norm_edges = \"row\"");
  check_model(&directed_weighted, "model.type = \"appnp\"\nmodel.steps = 3");
  check_model(&directed,
              "model.type = \"appnp\"\nmodel.steps = 2\nmodel.alpha = 0.6\nmodel.norm_edges = \"none\"");
}

/* (1 - a) (A + I) z + a h, without a scale of degrees. */
TEST(the_factor_needs_no_scale_of_degrees) {
  open_formula(&plain, "model.type = \"appnp\"\nmodel.layers = 1\nmodel.steps = 1\nmodel.alpha = 0.25\n"
                       "model.norm_edges = \"none\"");
  struct rows x = input_of(&plain), h = rows_of(plain.nodes, plain.classes);
  add_linear(&plain, x, "layer0.weight", "layer0.bias", h);
  struct rows z = aggregate_of(&plain, h, 1, 0);
  for (int64_t i = 0; i < plain.nodes * plain.classes; i++) z.value[i] = .75 * z.value[i] + .25 * h.value[i];
  assert_logits(z);
  free(x.value);
  free(h.value);
  free(z.value);
  fixture_close(&job);
}
