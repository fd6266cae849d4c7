/* Attention with dynamic scores: its logits beside the formula, gradients by central differences. Some nodes
 * have no neighbours, some a stored self loop. */
#include "tests/models/layers/formula.h"

/* e_vu of a head, from its columns of both products. */
static double score_of(const struct parameter *a, int64_t first, int64_t width, const double *left,
                       const double *right) {
  double sum = 0;
  for (int64_t j = 0; j < width; j++) {
    double s = left[j] + right[j];
    sum += *element_of(a, first + j) * (s > 0 ? s : .2 * s);
  }
  return sum;
}

/* One layer without its end: y_v, heads side by side, or their mean. */
static struct rows attention_of(const struct fixture *f, struct rows x, int layer, int64_t heads,
                                int64_t width, int mean) {
  char name[3][32];
  static const char *const what[] = {"left", "right", "attention"};
  for (int i = 0; i < 3; i++) snprintf(name[i], sizeof name[i], "layer%d.%s", layer, what[i]);
  struct rows left = rows_of(f->nodes, heads * width), right = rows_of(f->nodes, heads * width);
  struct rows y = rows_of(f->nodes, mean ? width : heads * width);
  add_linear(f, x, name[0], NULL, left);
  add_linear(f, x, name[1], NULL, right);
  for (int64_t v = 0; v < f->nodes; v++) {
    for (int64_t h = 0; h < heads; h++) {
      double total = 0, *sum = calloc((size_t)width, sizeof *sum);
      for (int64_t u = 0; u < f->nodes; u++) {
        if (u != v && !has_arc(f, v, u)) continue;
        const double *x_u = left.value + u * left.cols + h * width;
        const double *r_v = right.value + v * right.cols + h * width;
        double e = exp(score_of(parameter_named(name[2]), h * width, width, x_u, r_v));
        total += e;
        for (int64_t j = 0; j < width; j++) sum[j] += e * x_u[j];
      }
      for (int64_t j = 0; j < width; j++)
        y.value[v * y.cols + (mean ? 0 : h * width) + j] += sum[j] / total / (mean ? (double)heads : 1);
      free(sum);
    }
  }
  free(left.value);
  free(right.value);
  return y;
}

static void add_bias(const struct fixture *f, const char *name, struct rows y) {
  const struct parameter *b = parameter_named(name);
  for (int64_t i = 0; i < f->nodes * y.cols; i++) y.value[i] += *element_of(b, i % y.cols);
}

static void check_formula(const struct fixture *f, const char *settings, int64_t heads_last) {
  open_formula(f, settings);
  struct rows x = input_of(f), h = attention_of(f, x, 0, 3, 2, 0);
  add_bias(f, "layer0.bias", h);
  clamp(f, h);
  struct rows logits = attention_of(f, h, 1, heads_last, f->classes, 1);
  add_bias(f, "layer1.bias", logits);
  assert_logits(logits);
  struct rows all[] = {x, h, logits};
  for (int i = 0; i < 3; i++) free(all[i].value);
  fixture_close(&job);
}

TEST(logits_follow_the_formula) {
  const char *settings = "model.type = \"gatv2\"\nmodel.heads = 3\nmodel.dropout_attention = 0.5";
  check_formula(&plain, settings, 1);
  check_formula(&sparse, settings, 1);
  check_formula(&directed, settings, 1);
  check_formula(&directed, "model.type = \"gatv2\"\nmodel.heads = 3\nmodel.heads_last = 4", 4);
  check_formula(&plain,
                "model.type = \"gatv2\"\nmodel.heads = 3\nmodel.heads_last = 2\nruntime.overlap = false", 2);
}

TEST(without_attention_dropout) {
  check_model(&plain, "model.type = \"gatv2\"\nmodel.heads = 2\nmodel.dropout = 0.0");
  check_model(&plain,
              "model.type = \"gatv2\"\nmodel.heads = 2\nmodel.heads_last = 3\nmodel.activation = \"elu\"\n"
              "model.layers = 3\nruntime.overlap = false");
}

TEST(with_attention_dropout) {
  check_model(&plain,
              "model.type = \"gatv2\"\nmodel.heads = 3\nmodel.dropout_attention = 0.4\nmodel.layers = 3");
  check_model(&plain,
              "model.type = \"gatv2\"\nmodel.heads = 1\nmodel.heads_last = 2\nmodel.dropout_attention = 0.6\n"
              "model.dropout_input = 0.25\nmodel.activation = \"elu\"");
}

TEST(more_heads_than_a_random_block_serves) {
  check_model(&plain,
              "model.type = \"gatv2\"\nmodel.hidden = 20\nmodel.heads = 10\nmodel.dropout_attention = 0.4");
}

TEST(directed_graphs_use_both_shards) {
  check_model(&directed,
              "model.type = \"gatv2\"\nmodel.heads = 2\nmodel.dropout_attention = 0.3\nmodel.layers = 3");
  check_model(&directed,
              "model.type = \"gatv2\"\nmodel.heads = 3\nmodel.heads_last = 2\nmodel.dropout_attention = 0.3");
}

TEST(one_layer) {
  check_model(&plain,
              "model.type = \"gatv2\"\nmodel.layers = 1\nmodel.hidden = 7\nmodel.dropout_attention = 0.3");
}

TEST(sparse_features_norms_and_residuals) {
  check_model(&sparse, "model.type = \"gatv2\"\nmodel.heads = 2\nmodel.dropout_input = 0.25");
  check_model(&plain,
              "model.type = \"gatv2\"\nmodel.heads = 2\nmodel.norm = \"layer\"\nmodel.residual = true\n"
              "model.layers = 4\nmodel.dropout_attention = 0.3");
  check_model(&plain,
              "model.type = \"gatv2\"\nmodel.heads = 2\nmodel.norm = \"batch\"\nmodel.residual = true\n"
              "model.layers = 3\nmodel.bias = false");
}
