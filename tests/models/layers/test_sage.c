/* GraphSAGE: its logits beside the formula, gradients by central differences. Some nodes have no neighbours,
 * some a stored self loop. */
#include "tests/models/layers/formula.h"

/* Two layers: H = relu(X W_self + P X W + b), logits alike without the activation. */
static void check_formula(const struct fixture *f, const char *settings, double self, int mean, int alone) {
  open_formula(f, settings);
  struct rows x = input_of(f), h = rows_of(f->nodes, 6), logits = rows_of(f->nodes, f->classes);
  struct rows px = aggregate_of(f, x, self, mean);
  add_linear(f, px, "layer0.weight", "layer0.bias", h);
  if (!alone) add_linear(f, x, "layer0.self", NULL, h);
  clamp(f, h);
  struct rows ph = aggregate_of(f, h, self, mean);
  add_linear(f, ph, "layer1.weight", "layer1.bias", logits);
  if (!alone) add_linear(f, h, "layer1.self", NULL, logits);
  assert_logits(logits);
  struct rows all[] = {x, h, logits, px, ph};
  for (int i = 0; i < 5; i++) free(all[i].value);
  fixture_close(&job);
}

TEST(logits_follow_the_formula) {
  check_formula(&plain, "model.type = \"sage\"", 0, 1, 0);
  check_formula(&sparse, "model.type = \"sage\"", 0, 1, 0);
  check_formula(&directed_weighted, "model.type = \"sage\"", 0, 1, 0);
  check_formula(&plain, "model.type = \"sage\"\nmodel.aggregator = \"sum\"", 0, 0, 0);
  check_formula(&directed_weighted, "model.type = \"sage\"\nmodel.aggregator = \"sum\"\nruntime.once = false",
                0, 0, 0);
  check_formula(&plain, "model.type = \"sage\"\nmodel.aggregator = \"gcn\"", 1, 1, 1);
  check_formula(&weighted, "model.type = \"sage\"\nmodel.aggregator = \"gcn\"", 1, 1, 1);
}

TEST(mean_and_sum_in_both_orders) {
  check_model(&plain, "model.type = \"sage\"");
  check_model(&plain, "model.type = \"sage\"\nruntime.once = false\nmodel.hidden = 3\nmodel.layers = 3");
  check_model(&plain, "model.type = \"sage\"\nruntime.once = false\nmodel.hidden = 2\nmodel.layers = 3");
  check_model(&plain,
              "model.type = \"sage\"\nmodel.aggregator = \"sum\"\nmodel.layers = 3\nmodel.bias = false");
}

TEST(gcn_aggregator) {
  check_model(&plain, "model.type = \"sage\"\nmodel.aggregator = \"gcn\"\nmodel.layers = 3");
  check_model(&weighted, "model.type = \"sage\"\nmodel.aggregator = \"gcn\"\nmodel.dropout_input = 0.25");
}

/* M_v = max, or min, over the neighbours u of relu(x_u W_p + b_p), 0 without neighbours. */
static struct rows pooled(const struct fixture *f, struct rows x, int smallest, const char *weight,
                          const char *bias) {
  struct rows value = rows_of(f->nodes, 6), most = rows_of(f->nodes, 6);
  add_linear(f, x, weight, bias, value);
  clamp(f, value);
  for (int64_t v = 0; v < f->nodes; v++) {
    for (int64_t u = 0, first = 1; u < f->nodes; u++) {
      if (!has_arc(f, v, u)) continue;
      for (int64_t j = 0; j < 6; j++) {
        const double x_u = value.value[u * 6 + j], so_far = first ? x_u : most.value[v * 6 + j];
        most.value[v * 6 + j] = smallest ? fmin(so_far, x_u) : fmax(so_far, x_u);
      }
      first = 0;
    }
  }
  free(value.value);
  return most;
}

static void check_pool_formula(const struct fixture *f, const char *settings) {
  const int smallest = strstr(settings, "min") != NULL;
  open_formula(f, settings);
  struct rows x = input_of(f), h = rows_of(f->nodes, 6), logits = rows_of(f->nodes, f->classes);
  struct rows mx = pooled(f, x, smallest, "layer0.pool", "layer0.pool_bias");
  add_linear(f, mx, "layer0.weight", "layer0.bias", h);
  add_linear(f, x, "layer0.self", NULL, h);
  clamp(f, h);
  struct rows mh = pooled(f, h, smallest, "layer1.pool", "layer1.pool_bias");
  add_linear(f, mh, "layer1.weight", "layer1.bias", logits);
  add_linear(f, h, "layer1.self", NULL, logits);
  assert_logits(logits);
  struct rows all[] = {x, h, logits, mx, mh};
  for (int i = 0; i < 5; i++) free(all[i].value);
  fixture_close(&job);
}

static void check_pooling(const char *pool) {
  static const char *const settings[] = {"",
                                         "model.layers = 3\nmodel.hidden = 5",
                                         "model.layers = 1",
                                         "model.layers = 4\nmodel.residual = true\nmodel.norm = \"layer\"",
                                         "model.norm = \"batch\"\nmodel.dropout_input = 0.25",
                                         "runtime.overlap = false\nmodel.bias = false"};
  char text[512];
  check_pool_formula(&plain, pool);
  check_pool_formula(&sparse, pool);
  check_pool_formula(&directed, pool);
  for (int i = 0; i < (int)(sizeof settings / sizeof settings[0]); i++) {
    snprintf(text, sizeof text, "%s%s", pool, settings[i]);
    check_model(i % 2 ? &directed : &plain, text);
  }
  check_model(&sparse, pool);
}

TEST(max_pooling) {
  check_pooling("model.type = \"sage\"\nmodel.aggregator = \"max\"\n");
}

TEST(min_pooling) {
  check_pooling("model.type = \"sage\"\nmodel.aggregator = \"min\"\n");
}

TEST(one_layer) {
  check_model(&plain, "model.type = \"sage\"\nmodel.layers = 1");
}

TEST(sparse_features) {
  check_model(&sparse, "model.type = \"sage\"");
  check_model(&sparse, "model.type = \"sage\"\nmodel.aggregator = \"sum\"\nmodel.dropout_input = 0.25");
}

TEST(norms_and_residuals) {
  check_model(&plain,
              "model.type = \"sage\"\nmodel.norm = \"batch\"\nmodel.residual = true\nmodel.layers = 4");
  check_model(&plain,
              "model.type = \"sage\"\nmodel.norm = \"layer\"\nmodel.residual = true\nmodel.layers = 4\n"
              "model.activation = \"elu\"");
}

TEST(weighted_and_directed_graphs) {
  check_model(&weighted, "model.type = \"sage\"\nmodel.layers = 3");
  check_model(&directed, "model.type = \"sage\"\nmodel.layers = 3");
  check_model(&directed_weighted, "model.type = \"sage\"\nmodel.aggregator = \"sum\"\nruntime.once = false");
}
