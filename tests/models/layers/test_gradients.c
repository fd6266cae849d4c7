/* Gradients of every parameter by central differences in double, for every combination of settings that
 * changes the formula, on any number of ranks. */
#include "tests/models/layers/slope.h"

TEST(gcn_of_two_layers) {
  check_model(&plain, "model.dropout = 0.0");
  check_model(&plain, "model.dropout = 0.3\nruntime.overlap = false");
}

TEST(gcn_of_one_layer) {
  check_model(&plain, "model.layers = 1");
}

TEST(aggregate_first_and_transform_first_agree_with_the_slope) {
  check_model(&plain, "runtime.once = false\nmodel.hidden = 3");
  check_model(&plain, "runtime.once = false\nmodel.hidden = 2\nmodel.layers = 3\nmodel.activation = \"elu\"");
}

TEST(input_dropout_dense_and_sparse) {
  check_model(&plain, "model.dropout_input = 0.25");
  check_model(&sparse, "model.dropout_input = 0.25");
  check_model(&sparse, "model.dropout_input = 0.0");
}

TEST(batch_norm_uses_the_statistics_of_all_ranks) {
  check_model(&plain, "model.norm = \"batch\"\nmodel.layers = 3");
  check_model(&plain,
              "model.norm = \"batch\"\nmodel.residual = true\nmodel.layers = 4\nmodel.activation = \"elu\"");
}

TEST(layer_norm_and_residuals) {
  check_model(&plain, "model.norm = \"layer\"\nmodel.layers = 3");
  check_model(&plain, "model.residual = true\nmodel.layers = 4\nmodel.activation = \"leaky_relu\"");
  check_model(&plain, "model.norm = \"layer\"\nmodel.residual = true\nmodel.layers = 3\nmodel.bias = false");
}

TEST(edge_norms_and_weights) {
  check_model(&plain, "model.norm_edges = \"row\"");
  check_model(&plain, "model.norm_edges = \"none\"");
  check_model(&weighted, "model.norm_edges = \"both\"");
  check_model(&weighted, "model.norm_edges = \"row\"\nmodel.layers = 3");
}

TEST(directed_graphs_use_the_transposed_shard) {
  check_model(&directed, "model.norm_edges = \"row\"\nmodel.layers = 3");
  check_model(&directed_weighted, "model.norm_edges = \"both\"\nruntime.once = false");
}

TEST(multilabel_loss) {
  check_model(&multilabel, "model.activation = \"elu\"");
}

/* Training nodes without arcs whose loop has weight 0, of which other rows may be summed. */
static int64_t empty_rows(const struct fixture *f) {
  int64_t empty = 0;
  for (int64_t v = 0; v < f->nodes; v++) {
    double degree = has_arc(f, v, v) ? 0 : 1;
    for (int64_t u = 0; u < f->nodes; u++) degree += has_arc(f, v, u) ? (double)arc_weight(f, v, u) : 0;
    empty += degree == 0 && part_of(f, v) == SPLIT_TRAIN;
  }
  return empty;
}

/* Their logits are the bias, which has its gradient from them, too. */
TEST(rows_of_no_degree_count_for_the_last_bias) {
  static const struct fixture alone = {
      .nodes = 61, .features = 5, .classes = 4, .arcs = 1, .train = 80, .weighted = 1};
  static const struct fixture oneway = {
      .nodes = 121, .features = 5, .classes = 4, .arcs = 1, .train = 80, .directed = 1, .weighted = 1};
  static const struct fixture labels = {
      .nodes = 61, .features = 5, .classes = 4, .arcs = 1, .train = 80, .weighted = 1, .multilabel = 1};
  assert_true(empty_rows(&alone) > 0 && empty_rows(&oneway) > 0 && empty_rows(&labels) > 0);
  check_model(&alone, "model.dropout = 0.3");
  check_model(&alone, "model.norm_edges = \"row\"\nmodel.layers = 3");
  check_model(&alone, "model.type = \"sage\"\nmodel.aggregator = \"gcn\"");
  check_model(&oneway, "model.norm_edges = \"both\"\nruntime.overlap = false");
  check_model(&labels, "model.activation = \"elu\"");
}

TEST(rows_that_the_loss_needs) {
  static const struct fixture few = {.nodes = 61, .features = 5, .classes = 4, .arcs = 3, .train = 6};
  static const struct fixture oneway = {
      .nodes = 61, .features = 5, .classes = 4, .arcs = 3, .train = 6, .directed = 1, .weighted = 1};
  check_model(&few, "model.layers = 3\nmodel.residual = true\nmodel.activation = \"elu\"");
  check_model(&oneway, "model.type = \"sage\"\nmodel.layers = 3\nmodel.norm = \"layer\"");
  check_model(
      &few,
      "model.type = \"sage\"\nmodel.layers = 3\nmodel.aggregator = \"max\"\nmodel.activation = \"elu\"");
  check_model(&few, "model.type = \"sage\"\nmodel.layers = 3\nmodel.aggregator = \"min\"");
  check_model(&few, "model.type = \"gcnii\"\nmodel.layers = 3");
  check_model(&oneway, "model.type = \"appnp\"\nmodel.steps = 3");
}

TEST(mlp) {
  check_model(&plain, "model.type = \"mlp\"\nmodel.layers = 3\nmodel.residual = true");
  check_model(&sparse, "model.type = \"mlp\"\nmodel.norm = \"batch\"");
}
