/* SGC: its logits beside the formula, gradients by central differences, and what of it is computed once. */
#include "tests/models/layers/formula.h"

static const struct fixture wide = {.nodes = 61, .features = 150, .classes = 4};

/* P^steps X W + b */
static void check_formula(const struct fixture *f, const char *settings, int steps) {
  open_formula(f, settings);
  struct rows x = input_of(f), logits = rows_of(f->nodes, f->classes);
  for (int k = 0; k < steps; k++) {
    struct rows next = normalised_aggregate_of(f, x);
    free(x.value);
    x = next;
  }
  add_linear(f, x, "layer0.weight", "layer0.bias", logits);
  assert_logits(logits);
  free(x.value);
  free(logits.value);
  fixture_close(&job);
}

TEST(logits_follow_the_formula) {
  check_formula(&plain, "model.type = \"sgc\"\nmodel.layers = 1", 1);
  check_formula(&plain, "model.type = \"sgc\"\nmodel.layers = 2", 2);
  check_formula(&sparse, "model.type = \"sgc\"\nmodel.layers = 3", 3);
  check_formula(&directed_weighted, "model.type = \"sgc\"\nmodel.layers = 4", 4);
  check_formula(&plain, "model.type = \"sgc\"\nmodel.layers = 3\nruntime.once = false", 3);
}

/* Of 121 nodes two that others sum have no arc in, and a loop of weight 0: they are summed times 0. */
TEST(rows_of_no_degree_are_0_to_others) {
  static const struct fixture oneway = {
      .nodes = 121, .features = 5, .classes = 4, .arcs = 1, .directed = 1, .weighted = 1};
  check_formula(&oneway, "model.type = \"sgc\"\nmodel.layers = 1", 1);
  check_formula(&oneway, "model.type = \"sgc\"\nmodel.layers = 2\nruntime.once = false", 2);
}

/* 150 columns are three panels, the last one narrower. */
TEST(panels_go_through_all_aggregations) {
  check_formula(&wide, "model.type = \"sgc\"\nmodel.layers = 2", 2);
  check_formula(&wide, "model.type = \"sgc\"\nmodel.layers = 5", 5);
}

TEST(gradients) {
  check_model(&plain, "model.type = \"sgc\"\nmodel.layers = 2");
  check_model(&plain,
              "model.type = \"sgc\"\nmodel.layers = 3\nruntime.once = false\nmodel.dropout_input = 0.25");
  check_model(&sparse, "model.type = \"sgc\"\nmodel.layers = 3\nmodel.dropout_input = 0.25");
  check_model(&multilabel, "model.type = \"sgc\"");
}

TEST(weighted_and_directed_graphs) {
  check_model(&weighted, "model.type = \"sgc\"\nmodel.norm_edges = \"row\"");
  check_model(&directed, "model.type = \"sgc\"\nmodel.layers = 3\nruntime.once = false");
  check_model(&directed_weighted, "model.type = \"sgc\"\nmodel.norm_edges = \"none\"\nmodel.layers = 3");
}

/* Aggregations in the list, and those of them that are hoisted. */
static int aggregations(const char *settings, int *once) {
  int count = 0;
  open_formula(&wide, settings);
  const struct program *p = &job.trainer.model.program;
  *once = 0;
  for (int s = 0; s < p->steps; s++) {
    count += p->step[s].kind == STEP_AGGREGATE;
    *once += p->step[s].aggregation.once;
  }
  fixture_close(&job);
  return count;
}

TEST(all_aggregations_of_constant_features_are_hoisted) {
  int once;
  assert_int_equal(aggregations("model.type = \"sgc\"\nmodel.layers = 4", &once), 4);
  assert_int_equal(once, 4);
  assert_int_equal(aggregations("model.type = \"sgc\"\nmodel.layers = 4\nruntime.once = false", &once), 8);
  assert_int_equal(once, 0);
}

/* What is between two of them takes a panel, not the width of the features. */
TEST(aggregates_on_their_way_are_panels) {
  open_formula(&wide, "model.type = \"sgc\"\nmodel.layers = 3");
  const struct program *p = &job.trainer.model.program;
  int panels = 0;
  for (int v = 1; v < p->values; v++) {
    if (!program_passes_by(p, v)) continue;
    assert_int_equal(p->value[v].cols, 64);
    panels++;
  }
  assert_int_equal(panels, 2);
  fixture_close(&job);
}
