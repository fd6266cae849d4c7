/* What is known of a type of model before its program is there: how many sums over arcs an epoch has, and for
 * how many levels of rows they may be told apart. */
#include "models/layers/types.h"

#include "tests/check.h"

static struct model_sums sums_of(const char *type, const char *settings, int constant) {
  static struct config config;
  const struct model_type *found = NULL;
  assert_ok(config_parse(&config, settings, "test"));
  assert_ok(model_type_of(type, &found));
  return model_type_sums(found, &config, constant, 40);
}

static void check(struct model_sums sums, int64_t count, double top, int levels) {
  assert_int_equal(sums.count, count);
  assert_close(sums.top, top, 1e-15);
  assert_int_equal(sums.levels, levels);
}

TEST(each_layer_has_a_sum_and_the_lowest_may_be_computed_once) {
  check(sums_of("gcn", "model.layers = 3\nmodel.hidden = 80", 0), 3, .5, 4);
  check(sums_of("gcn", "model.layers = 3\nmodel.hidden = 80", 1), 2, .5, 3);
  check(sums_of("sage", "model.layers = 2\nmodel.hidden = 20", 1), 1, 2, 2);
  check(sums_of("sage", "model.layers = 2\nmodel.aggregator = \"max\"", 1), 2, 1, 3);
  check(sums_of("sage", "model.layers = 2\nmodel.aggregator = \"min\"", 1), 2, 1, 3);
  check(sums_of("mlp", "model.layers = 2", 0), 0, 1, 1);
}

TEST(sums_are_as_wide_as_layers_or_as_logits) {
  assert_int_equal(sums_of("gcn", "model.hidden = 80", 0).width, 80);
  assert_int_equal(sums_of("gcnii", "model.hidden = 24", 0).width, 24);
  assert_int_equal(sums_of("appnp", "model.hidden = 80", 0).width, 40);
  assert_int_equal(sums_of("sgc", "model.hidden = 80", 0).width, 40);
}

TEST(sums_without_layers_are_alike) {
  check(sums_of("appnp", "model.layers = 2\nmodel.steps = 5", 1), 5, 1, 6);
  check(sums_of("gcnii", "model.layers = 4", 1), 4, 1, 5);
  check(sums_of("sgc", "model.layers = 2", 0), 2, 1, 3);
  check(sums_of("sgc", "model.layers = 2", 1), 0, 1, 1);
}

TEST(below_a_batch_norm_all_rows_are_computed) {
  check(sums_of("gcn", "model.layers = 3\nmodel.hidden = 80\nmodel.norm = \"batch\"", 1), 2, .5, 1);
  check(sums_of("gcn", "model.layers = 1\nmodel.hidden = 80\nmodel.norm = \"batch\"", 0), 1, .5, 2);
  assert_int_equal(sums_of("gcnii", "model.norm = \"batch\"", 1).levels, 0);
  check(sums_of("gin", "model.layers = 3", 1), 2, 1, 0);
}

TEST(attention_sums_once_for_each_head) {
  check(sums_of("gat", "model.layers = 3\nmodel.hidden = 80\nmodel.heads_last = 4", 1), 3, 2, 4);
  check(sums_of("gatv2", "model.layers = 2\nmodel.hidden = 40\nmodel.heads_last = 1", 0), 2, 1, 3);
  check(sums_of("agnn", "model.layers = 4", 0), 2, 1, 3);
}

TEST(sums_that_are_trained_are_never_constant) {
  check(sums_of("hgnn", "model.layers = 3\nmodel.hidden = 80", 1), 2, .5, 3);
  check(sums_of("hgnn", "model.layers = 3\nmodel.hidden = 80\nmodel.edge_weights = true", 1), 3, .5, 4);
  check(sums_of("unigin", "model.layers = 3\nmodel.hidden = 80\nmodel.learn_eps = true", 1), 3, .5, 4);
  assert_int_equal(sums_of("gin", "model.layers = 3\nmodel.learn_eps = true", 1).count, 3);
}

TEST(hypergraphs_are_summed_as_graphs_are) {
  static const char *const types[] = {"hgnn", "unigin"};
  for (int i = 0; i < 2; i++) check(sums_of(types[i], "model.layers = 3\nmodel.hidden = 80", 0), 3, .5, 4);
  check(sums_of("unigcnii", "model.layers = 3", 0), 3, 1, 4);
  assert_int_equal(sums_of("unigcnii", "model.norm = \"batch\"", 0).levels, 0);
}
