/* In fp64 nothing between the file and the loss is rounded to float: logits and the first loss beside those
 * of formulas in doubles, on weights and features whose sums and quotients are no floats. */
#include "tests/models/layers/hyper_formula.h"

static const struct fixture dense = {.nodes = 61, .features = 5, .classes = 4, .weighted = 1, .thirds = 1};
static const struct fixture oneway = {
    .nodes = 61, .features = 5, .classes = 4, .weighted = 1, .directed = 1, .thirds = 1};
static const struct fixture thin = {.nodes = 61, .features = 40, .classes = 4, .sparse = 1, .thirds = 1};
static const struct fixture binary = {.nodes = 61, .features = 5, .classes = 4, .thirds = 1};
static const struct fixture incidences = {
    .nodes = 61, .features = 5, .classes = 4, .hyperedges = 160, .thirds = 1};

typedef struct rows aggregate(const struct fixture *f, struct rows x);

static struct rows mean_of(const struct fixture *f, struct rows x) {
  return aggregate_of(f, x, 0, 1);
}

static struct rows self_mean_of(const struct fixture *f, struct rows x) {
  return aggregate_of(f, x, 1, 1);
}

static struct rows hyper_mean_of(const struct fixture *f, struct rows x) {
  return hyper_aggregate_of(f, x, HYPER_NORM, 1, NULL);
}

/* Mean cross entropy over the training nodes. */
static double loss_of(const struct fixture *f, struct rows logits) {
  double loss = 0, nodes = 0;
  for (int64_t v = 0; v < f->nodes; v++) {
    const double *row = logits.value + v * logits.cols;
    double sum = 0;
    if (draw((uint64_t)v, 7) % 3 != SPLIT_TRAIN) continue;
    for (int64_t c = 0; c < logits.cols; c++) sum += exp(row[c]);
    loss += log(sum) - row[draw((uint64_t)v, 5) % (uint32_t)f->classes];
    nodes++;
  }
  return loss / nodes;
}

/* Two layers Z = P H W (+ H W_self) + b of normalised features. */
static void check(const struct fixture *f, const char *settings, aggregate *propagated) {
  char text[512];
  snprintf(text, sizeof text, "dataset.normalize = \"row\"\nmodel.dropout = 0.0\n%s", settings);
  open_formula(f, text);
  const char *const self[] = {"layer0.self", "layer1.self"};
  struct rows x = input_of(f), h = rows_of(f->nodes, 6), logits = rows_of(f->nodes, f->classes);
  normalise_rows(f, x);
  struct rows px = propagated(f, x);
  add_linear(f, px, "layer0.weight", "layer0.bias", h);
  if (parameter_named(self[0])) add_linear(f, x, self[0], NULL, h);
  clamp(f, h);
  struct rows ph = propagated(f, h);
  add_linear(f, ph, "layer1.weight", "layer1.bias", logits);
  if (parameter_named(self[1])) add_linear(f, h, self[1], NULL, logits);
  assert_logits(logits);
  double expected = loss_of(f, logits);
  assert_close(loss_at(NULL), expected, 1e-13 * expected);
  struct rows all[] = {x, h, logits, px, ph};
  for (int i = 0; i < 5; i++) free(all[i].value);
  fixture_close(&job);
}

TEST(degrees_of_weights_are_doubles) {
  check(&dense, "model.type = \"gcn\"", normalised_aggregate_of);
  check(&dense, "model.type = \"gcn\"\nmodel.norm_edges = \"row\"", self_mean_of);
  check(&oneway, "model.type = \"gcn\"\nmodel.norm_edges = \"row\"", self_mean_of);
  check(&dense, "model.type = \"sage\"", mean_of);
  check(&oneway, "model.type = \"sage\"", mean_of);
}

TEST(normalised_features_are_doubles) {
  check(&binary, "model.type = \"gcn\"", normalised_aggregate_of);
  check(&binary, "model.type = \"gcn\"\nruntime.once = false", normalised_aggregate_of);
  check(&binary, "model.type = \"sage\"", mean_of);
  check(&incidences, "model.type = \"hgnn\"", hyper_mean_of);
}

TEST(normalised_sparse_features_are_doubles) {
  check(&thin, "model.type = \"gcn\"", normalised_aggregate_of);
  check(&thin, "model.type = \"sage\"", mean_of);
}

TEST(their_transpose_has_the_gradient) {
  check_model(&thin, "model.type = \"gcn\"\ndataset.normalize = \"row\"\nmodel.dropout_input = 0.3");
  check_model(&binary, "model.type = \"gcn\"\ndataset.normalize = \"row\"\nmodel.dropout_input = 0.3");
}
