/* Graph attention: its logits beside the formula, gradients by central differences. Some nodes have no
 * neighbours, some a stored self loop. */
#include "tests/models/layers/formula.h"

/* One layer without its end: y_v, heads side by side, or their mean. */
static struct rows attention_of(const struct fixture *f, struct rows x, int layer, int64_t heads,
                                int64_t width, int mean) {
  char name[3][32];
  static const char *const what[] = {"weight", "left", "right"};
  for (int i = 0; i < 3; i++) snprintf(name[i], sizeof name[i], "layer%d.%s", layer, what[i]);
  const struct parameter *l = parameter_named(name[1]), *r = parameter_named(name[2]);
  struct rows product = rows_of(f->nodes, heads * width);
  struct rows y = rows_of(f->nodes, mean ? width : heads * width);
  add_linear(f, x, name[0], NULL, product);
  for (int64_t v = 0; v < f->nodes; v++) {
    for (int64_t h = 0; h < heads; h++) {
      double total = 0, *sum = calloc((size_t)width, sizeof *sum);
      for (int64_t u = 0; u < f->nodes; u++) {
        if (u != v && !has_arc(f, v, u)) continue;
        const double *x_u = product.value + u * product.cols + h * width;
        const double *x_v = product.value + v * product.cols + h * width;
        double e = 0;
        for (int64_t j = 0; j < width; j++)
          e += *element_of(l, h * width + j) * x_u[j] + *element_of(r, h * width + j) * x_v[j];
        e = exp(e > 0 ? e : .2 * e);
        total += e;
        for (int64_t j = 0; j < width; j++) sum[j] += e * x_u[j];
      }
      for (int64_t j = 0; j < width; j++)
        y.value[v * y.cols + (mean ? 0 : h * width) + j] += sum[j] / total / (mean ? (double)heads : 1);
      free(sum);
    }
  }
  free(product.value);
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
  const char *settings = "model.type = \"gat\"\nmodel.heads = 3\nmodel.dropout_attention = 0.5";
  check_formula(&plain, settings, 1);
  check_formula(&sparse, settings, 1);
  check_formula(&directed, settings, 1);
  check_formula(&directed, "model.type = \"gat\"\nmodel.heads = 3\nmodel.heads_last = 4", 4);
  check_formula(&plain,
                "model.type = \"gat\"\nmodel.heads = 3\nmodel.heads_last = 2\nruntime.overlap = false", 2);
}

/* Row sums of the coefficients, share of the positive ones included: where every W h is the same, so is Z. */
TEST(coefficients_of_a_row_add_up_to_one) {
  open_formula(&directed, "model.type = \"gat\"\nmodel.layers = 1\nmodel.heads_last = 3\nmodel.bias = false");
  struct run *run = &job.run;
  struct model *model = &job.trainer.model;
  struct tensor x = features_tensor(&model->features), logits = model_logits(model);
  for (int64_t i = 0; i < x.rows * x.cols; i++) ((double *)x.data)[i / x.cols * x.stride + i % x.cols] = 1;
  assert_ok(model_forward(model, run, 0));
  const struct parameter *w = parameter_named("layer0.weight");
  for (int64_t c = 0; c < logits.cols; c++) {
    double expected = 0;
    for (int64_t h = 0; h < 3; h++) {
      for (int64_t i = 0; i < w->rows; i++) expected += *element_of(w, i * w->cols + h * logits.cols + c) / 3;
    }
    for (int64_t v = 0; v < logits.rows; v++)
      assert_close(((double *)logits.data)[v * logits.stride + c], expected, 1e-12);
  }
  fixture_close(&job);
}

TEST(without_attention_dropout) {
  check_model(&plain, "model.type = \"gat\"\nmodel.heads = 2\nmodel.dropout = 0.0");
  check_model(&plain,
              "model.type = \"gat\"\nmodel.heads = 2\nmodel.heads_last = 3\nmodel.activation = \"elu\"\n"
              "model.layers = 3\nruntime.overlap = false");
}

TEST(with_attention_dropout) {
  check_model(&plain,
              "model.type = \"gat\"\nmodel.heads = 3\nmodel.dropout_attention = 0.4\nmodel.layers = 3");
  check_model(&plain,
              "model.type = \"gat\"\nmodel.heads = 1\nmodel.heads_last = 2\nmodel.dropout_attention = 0.6\n"
              "model.dropout_input = 0.25\nmodel.activation = \"elu\"");
}

TEST(more_heads_than_a_random_block_serves) {
  check_model(&plain,
              "model.type = \"gat\"\nmodel.hidden = 20\nmodel.heads = 10\nmodel.dropout_attention = 0.4");
}

TEST(directed_graphs_use_the_transposed_shard) {
  check_model(&directed,
              "model.type = \"gat\"\nmodel.heads = 2\nmodel.dropout_attention = 0.3\nmodel.layers = 3");
  check_model(&directed,
              "model.type = \"gat\"\nmodel.heads = 3\nmodel.heads_last = 2\nmodel.dropout_attention = 0.3");
}

TEST(one_layer) {
  check_model(&plain,
              "model.type = \"gat\"\nmodel.layers = 1\nmodel.hidden = 7\nmodel.dropout_attention = 0.3");
}

TEST(sparse_features_norms_and_residuals) {
  check_model(&sparse, "model.type = \"gat\"\nmodel.heads = 2\nmodel.dropout_input = 0.25");
  check_model(&plain, "model.type = \"gat\"\nmodel.heads = 2\nmodel.norm = \"layer\"\nmodel.residual = true\n"
                      "model.layers = 4\nmodel.dropout_attention = 0.3");
  check_model(&plain, "model.type = \"gat\"\nmodel.heads = 2\nmodel.norm = \"batch\"\nmodel.residual = true\n"
                      "model.layers = 3\nmodel.bias = false");
}
