/* Gradients of every parameter by central differences in double, for every combination of settings that
 * changes the formula, on any number of ranks. */
#include "tests/models/slope.h"

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
  RUN_RANK_TESTS(tests);
}
