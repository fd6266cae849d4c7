/* Graph attention, with scores of Velickovic et al. and with dynamic ones (gatv2): logits beside the formula,
 * gradients by central differences. Some nodes have no neighbours, some a stored self loop. */
#include "tests/models/layers/formula.h"

/* The models, and their parameters of a layer: the products that rows enter by as u and as v, and what scores
 * are made of. */
static const struct kind {
  const char *type;
  const char *of_u, *of_v, *score[2]; /* score[1] NULL: dynamic */
} kinds[] = {{"gat", "weight", "weight", {"left", "right"}}, {"gatv2", "left", "right", {"attention", NULL}}};

static double leaky_relu(double x) {
  return x > 0 ? x : .2 * x;
}

static const struct parameter *parameter_of(int layer, const char *what) {
  char name[32];
  snprintf(name, sizeof name, "layer%d.%s", layer, what);
  return parameter_named(name);
}

static struct rows product_of(const struct fixture *f, struct rows x, int layer, const char *what,
                              int64_t cols) {
  char name[32];
  struct rows product = rows_of(f->nodes, cols);
  snprintf(name, sizeof name, "layer%d.%s", layer, what);
  add_linear(f, x, name, NULL, product);
  return product;
}

/* e_vu of a head, whose columns begin at `first`. */
static double score_of(const struct kind *kind, int layer, int64_t first, int64_t width, const double *x_u,
                       const double *x_v) {
  const struct parameter *a = parameter_of(layer, kind->score[0]);
  double sum = 0;
  if (!kind->score[1]) {
    for (int64_t j = 0; j < width; j++) sum += *element_of(a, first + j) * leaky_relu(x_u[j] + x_v[j]);
    return sum;
  }
  const struct parameter *r = parameter_of(layer, kind->score[1]);
  for (int64_t j = 0; j < width; j++)
    sum += *element_of(a, first + j) * x_u[j] + *element_of(r, first + j) * x_v[j];
  return leaky_relu(sum);
}

/* One layer without its end: y_v, heads side by side, or their mean. */
static struct rows attention_of(const struct fixture *f, const struct kind *kind, struct rows x, int layer,
                                int64_t heads, int64_t width, int mean) {
  struct rows of_u = product_of(f, x, layer, kind->of_u, heads * width),
              of_v = product_of(f, x, layer, kind->of_v, heads * width);
  struct rows y = rows_of(f->nodes, mean ? width : heads * width);
  for (int64_t v = 0; v < f->nodes; v++) {
    for (int64_t h = 0; h < heads; h++) {
      double total = 0, *sum = calloc((size_t)width, sizeof *sum);
      for (int64_t u = 0; u < f->nodes; u++) {
        if (u != v && !has_arc(f, v, u)) continue;
        const double *x_u = of_u.value + u * of_u.cols + h * width;
        const double *x_v = of_v.value + v * of_v.cols + h * width;
        double e = exp(score_of(kind, layer, h * width, width, x_u, x_v));
        total += e;
        for (int64_t j = 0; j < width; j++) sum[j] += e * x_u[j];
      }
      for (int64_t j = 0; j < width; j++)
        y.value[v * y.cols + (mean ? 0 : h * width) + j] += sum[j] / total / (mean ? (double)heads : 1);
      free(sum);
    }
  }
  free(of_u.value);
  free(of_v.value);
  return y;
}

static void add_bias(const struct fixture *f, const char *name, struct rows y) {
  const struct parameter *b = parameter_named(name);
  for (int64_t i = 0; i < f->nodes * y.cols; i++) y.value[i] += *element_of(b, i % y.cols);
}

/* settings: beside model.type, of both models. */
static void check_formula(const struct fixture *f, const char *settings, int64_t heads_last) {
  for (int i = 0; i < 2; i++) {
    char text[256];
    snprintf(text, sizeof text, "model.type = \"%s\"\nmodel.heads = 3\n%s", kinds[i].type, settings);
    open_formula(f, text);
    struct rows x = input_of(f), h = attention_of(f, &kinds[i], x, 0, 3, 2, 0);
    add_bias(f, "layer0.bias", h);
    clamp(f, h);
    struct rows logits = attention_of(f, &kinds[i], h, 1, heads_last, f->classes, 1);
    add_bias(f, "layer1.bias", logits);
    assert_logits(logits);
    struct rows all[] = {x, h, logits};
    for (int j = 0; j < 3; j++) free(all[j].value);
    fixture_close(&job);
  }
}

TEST(logits_follow_the_formula) {
  check_formula(&plain, "model.dropout_attention = 0.5", 1);
  check_formula(&sparse, "model.dropout_attention = 0.5", 1);
  check_formula(&directed, "model.dropout_attention = 0.5", 1);
  check_formula(&directed, "model.heads_last = 4", 4);
  check_formula(&plain, "model.heads_last = 2\nruntime.overlap = false", 2);
}

/* Row sums of the coefficients, share of the positive ones included: where every W h is the same, so is Z. */
TEST(coefficients_of_a_row_add_up_to_one) {
  open_formula(&directed, "model.type = \"gat\"\nmodel.layers = 1\nmodel.heads_last = 3\nmodel.bias = false");
  struct run *run = &job.run;
  struct model *model = &job.trainer.model;
  struct tensor x = features_tensor(&model->features), logits = model_logits(model);
  for (int64_t i = 0; i < x.rows * x.cols; i++) ((double *)x.data)[i / x.cols * x.stride + i % x.cols] = 1;
  assert_ok(model_forward(model, run, 0, NULL, NULL));
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

static void check_both(const struct fixture *f, const char *settings) {
  for (int i = 0; i < 2; i++) {
    char text[256];
    snprintf(text, sizeof text, "model.type = \"%s\"\n%s", kinds[i].type, settings);
    check_model(f, text);
  }
}

TEST(without_attention_dropout) {
  check_both(&plain, "model.heads = 2\nmodel.dropout = 0.0");
  check_both(&plain, "model.heads = 2\nmodel.heads_last = 3\nmodel.activation = \"elu\"\nmodel.layers = 3\n"
                     "runtime.overlap = false");
}

TEST(with_attention_dropout) {
  check_both(&plain, "model.heads = 3\nmodel.dropout_attention = 0.4\nmodel.layers = 3");
  check_both(&plain, "model.heads = 1\nmodel.heads_last = 2\nmodel.dropout_attention = 0.6\n"
                     "model.dropout_input = 0.25\nmodel.activation = \"elu\"");
}

TEST(more_heads_than_a_random_block_serves) {
  check_both(&plain, "model.hidden = 20\nmodel.heads = 10\nmodel.dropout_attention = 0.4");
}

/* Gat's gradients need the transposed shard, gatv2's both. */
TEST(directed_graphs) {
  check_both(&directed, "model.heads = 2\nmodel.dropout_attention = 0.3\nmodel.layers = 3");
  check_both(&directed, "model.heads = 3\nmodel.heads_last = 2\nmodel.dropout_attention = 0.3");
}

TEST(one_layer) {
  check_both(&plain, "model.layers = 1\nmodel.hidden = 7\nmodel.dropout_attention = 0.3");
}

TEST(sparse_features_norms_and_residuals) {
  check_both(&sparse, "model.heads = 2\nmodel.dropout_input = 0.25");
  check_both(&plain, "model.heads = 2\nmodel.norm = \"layer\"\nmodel.residual = true\nmodel.layers = 4\n"
                     "model.dropout_attention = 0.3");
  check_both(&plain, "model.heads = 2\nmodel.norm = \"batch\"\nmodel.residual = true\nmodel.layers = 3\n"
                     "model.bias = false");
}
