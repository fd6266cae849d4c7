/* Classes of whole graphs: logits beside the formula, gradients by central differences, parts that leave
 * graphs whole, and what is refused. */
#include "tests/models/layers/formula.h"

static const struct fixture many = {.nodes = 120, .features = 5, .classes = 3, .graphs = 14, .arcs = 30};
static const struct fixture oneway = {
    .nodes = 120, .features = 5, .classes = 3, .graphs = 14, .arcs = 30, .directed = 1};
static const struct fixture bags = {
    .nodes = 120, .features = 40, .classes = 3, .graphs = 14, .arcs = 30, .sparse = 1};
static const struct fixture several = {
    .nodes = 120, .features = 5, .classes = 3, .graphs = 14, .arcs = 30, .multilabel = 1};

/* Row of a graph's first node: sum, mean or largest value of its nodes; other rows 0. */
static struct rows readout_of(const struct fixture *f, struct rows x, const char *kind) {
  struct rows y = rows_of(f->nodes, x.cols);
  for (int64_t v = 0; v < f->nodes; v++) {
    const int64_t g = graph_of(f, v), first = graph_begin(f, g), size = graph_begin(f, g + 1) - first;
    for (int64_t j = 0; j < x.cols; j++) {
      double *out = &y.value[first * x.cols + j], in = x.value[v * x.cols + j];
      if (strcmp(kind, "max") == 0)
        *out = v == first || in > *out ? in : *out;
      else
        *out += strcmp(kind, "mean") == 0 ? in / (double)size : in;
    }
  }
  return y;
}

/* One hidden layer of a gcn, its readout and the linear layer above. */
static void check_formula(const struct fixture *f, const char *kind) {
  char settings[64];
  snprintf(settings, sizeof settings, "model.layers = 1\nmodel.readout = \"%s\"", kind);
  open_formula(f, settings);
  struct rows x = input_of(f), product = rows_of(f->nodes, 6), logits = rows_of(f->nodes, f->classes);
  const struct parameter *bias = parameter_named("layer0.bias");
  add_linear(f, x, "layer0.weight", NULL, product);
  struct rows hidden = normalised_aggregate_of(f, product);
  for (int64_t i = 0; i < f->nodes * 6; i++) hidden.value[i] += *element_of(bias, i % 6);
  clamp(f, hidden);
  struct rows readout = readout_of(f, hidden, kind);
  add_linear(f, readout, "layer1.readout", "layer1.readout_bias", logits);
  assert_logits(logits);
  struct rows all[] = {x, product, logits, hidden, readout};
  for (int i = 0; i < 5; i++) free(all[i].value);
  fixture_close(&job);
}

TEST(logits_follow_the_formula) {
  check_formula(&many, "sum");
  check_formula(&many, "mean");
  check_formula(&many, "max");
}

/* H' = relu(P H W + b) of a gcn. */
static struct rows gcn_layer_of(const struct fixture *f, struct rows x, const char *weight,
                                const char *bias) {
  struct rows product = rows_of(f->nodes, 6);
  add_linear(f, x, weight, NULL, product);
  struct rows hidden = normalised_aggregate_of(f, product);
  for (int64_t i = 0; i < f->nodes * 6; i++) hidden.value[i] += *element_of(parameter_named(bias), i % 6);
  clamp(f, hidden);
  free(product.value);
  return hidden;
}

/* What readouts of all layers give, of the features, too, added up. */
static void check_formula_of_all(const struct fixture *f, const char *kind, const char *settings) {
  char text[256];
  snprintf(text, sizeof text, "model.layers = 2\nmodel.readout_layers = \"all\"\nmodel.readout = \"%s\"\n%s",
           kind, settings);
  open_formula(f, text);
  struct rows x = input_of(f), logits = rows_of(f->nodes, f->classes);
  struct rows first = gcn_layer_of(f, x, "layer0.weight", "layer0.bias"),
              second = gcn_layer_of(f, first, "layer1.weight", "layer1.bias");
  struct rows readout[] = {readout_of(f, x, kind), readout_of(f, first, kind), readout_of(f, second, kind)};
  add_linear(f, readout[0], "layer0.readout", NULL, logits);
  add_linear(f, readout[1], "layer1.readout", NULL, logits);
  add_linear(f, readout[2], "layer2.readout", "layer2.readout_bias", logits);
  assert_logits(logits);
  struct rows all[] = {x, logits, first, second, readout[0], readout[1], readout[2]};
  for (int i = 0; i < 7; i++) free(all[i].value);
  fixture_close(&job);
}

TEST(logits_of_all_layers_follow_the_formula) {
  check_formula_of_all(&many, "sum", "");
  check_formula_of_all(&many, "mean", "runtime.once = false");
  check_formula_of_all(&many, "max", "");
  check_formula_of_all(&many, "max", "runtime.once = false");
  check_formula_of_all(&bags, "sum", "");
  check_formula_of_all(&bags, "mean", "");
}

TEST(gradients_of_each_readout) {
  check_model(&many, "model.readout = \"sum\"\nmodel.dropout = 0.3");
  check_model(&many, "model.readout = \"mean\"\nmodel.layers = 3\nmodel.norm = \"batch\"");
  check_model(&many, "model.readout = \"max\"\nmodel.activation = \"elu\"");
  check_model(&bags, "model.readout = \"mean\"\nmodel.dropout_input = 0.25");
  check_model(&several, "model.readout = \"mean\"\nmodel.activation = \"elu\"");
}

TEST(gradients_of_each_type) {
  check_model(&many, "model.type = \"gin\"\nmodel.learn_eps = true\nmodel.readout = \"mean\"");
  check_model(&oneway, "model.type = \"sage\"\nmodel.readout = \"mean\"");
  check_model(&many, "model.type = \"sage\"\nmodel.aggregator = \"max\"\nmodel.readout = \"max\"\n"
                     "model.activation = \"elu\"");
  check_model(&many, "model.type = \"gat\"\nmodel.heads = 2\nmodel.activation = \"elu\"\nmodel.readout = "
                     "\"mean\"");
  check_model(&many, "model.type = \"gatv2\"\nmodel.heads = 2\nmodel.activation = \"elu\"\nmodel.readout = "
                     "\"mean\"");
  check_model(&many, "model.type = \"gcnii\"\nmodel.readout = \"mean\"");
  check_model(&many, "model.type = \"agnn\"\nmodel.layers = 3\nmodel.readout = \"mean\"");
  check_model(&many, "model.type = \"mlp\"\nmodel.readout = \"max\"\nmodel.activation = \"elu\"");
}

/* Parts of an output's gradient come from the layer above, from what is added behind it, and from its
 * readout.
 */
TEST(gradients_of_readouts_of_all_layers) {
  static const char *const models[] = {
      "\"\nmodel.dropout = 0.3\nmodel.residual = true",
      "\"\nmodel.residual = true\nmodel.norm = \"batch\"\nmodel.bias = false",
      "\"\nmodel.type = \"gin\"\nmodel.learn_eps = true",
      "\"\nmodel.type = \"gin\"\nmodel.norm = \"layer\"\nruntime.once = false",
      "\"\nmodel.type = \"sage\"\nmodel.residual = true\nmodel.activation = \"elu\"",
      "\"\nmodel.type = \"sage\"\nmodel.aggregator = \"max\"\nmodel.activation = \"elu\"",
      "\"\nmodel.type = \"gat\"\nmodel.heads = 2\nmodel.activation = \"elu\"\nmodel.residual = true",
      "\"\nmodel.type = \"gatv2\"\nmodel.heads = 2\nmodel.activation = \"elu\"",
      "\"\nmodel.type = \"gcnii\"\nmodel.dropout = 0.3",
      "\"\nmodel.type = \"agnn\"\nmodel.layers = 4\nmodel.residual = true",
      "\"\nmodel.type = \"mlp\"\nmodel.activation = \"elu\"\nmodel.residual = true\nmodel.dropout_input = "
      "0.2"};
  static const char *const kinds[] = {"mean", "sum", "max"};
  char text[512];
  for (int m = 0; m < (int)(sizeof models / sizeof models[0]); m++) {
    for (int k = 0; k < 2; k++) {
      snprintf(text, sizeof text, "%smodel.readout_layers = \"all\"\nmodel.readout = \"%s%s",
               strstr(models[m], "layers") ? "" : "model.layers = 3\n", kinds[(m + k) % 3], models[m]);
      check_model(&many, text);
    }
  }
  check_model(&oneway, "model.type = \"sage\"\nmodel.readout = \"mean\"\nmodel.readout_layers = \"all\"");
  check_model(&bags, "model.readout = \"mean\"\nmodel.readout_layers = \"all\"\nmodel.dropout_input = 0.25");
  check_model(&several,
              "model.readout = \"max\"\nmodel.readout_layers = \"all\"\nmodel.activation = \"elu\"\n"
              "train.recompute = \"layer\"\nmodel.layers = 4");
}

/* Whatever the settings ask for. */
TEST(parts_leave_graphs_whole) {
  fixture_open(&job, &many, "partition.method = \"random\"\npartition.order = \"degree\"");
  const struct shard *shard = &job.shard;
  int64_t count = shard->graphs.count, row = 0;
  assert_int_equal(job.partition.edge_cut, 0);
  assert_int_equal(shard->in.halo.rows, 0);
  assert_true(shard->graphs.start[count] == shard->own && count > 0);
  for (int64_t g = 0; g < count; g++) {
    const int64_t first = shard->global_id[shard->graphs.start[g]], of = graph_of(&many, first);
    assert_int_equal(graph_begin(&many, of), first);
    for (int64_t v = first; v < graph_begin(&many, of + 1); v++) assert_int_equal(shard->global_id[row++], v);
  }
  assert_ok(comm_reduce(&job.comm, &count, 1, NUMBER_INT64, REDUCE_SUM));
  assert_int_equal(count, many.graphs);
  const double balance = partition_edge_balance(&job.partition);
  assert_true(balance < 1.4);
  fixture_close(&job);
}
