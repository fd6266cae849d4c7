/* Models on hypergraphs: logits beside the formulas, gradients by central differences, on any number of ranks
 * and whichever rows travel. Some vertices are in no hyperedge, some have one alone. */
#include "tests/models/layers/hyper_formula.h"

static const struct fixture narrow = {.nodes = 61, .features = 5, .classes = 4, .hyperedges = 160};
static const struct fixture wide = {.nodes = 61, .features = 5, .classes = 4, .hyperedges = 12, .wide = 1};
static const struct fixture thin = {.nodes = 61, .features = 40, .classes = 4, .hyperedges = 45, .sparse = 1};

/* Two layers Z = (P + loop I) H W + b. */
static void check_formula(const struct fixture *f, const char *settings, enum kind kind, int self,
                          double loop) {
  open_formula(f, settings);
  const struct parameter *first = parameter_named("layer0.edge_weight");
  const struct parameter *second = parameter_named("layer1.edge_weight");
  struct rows x = input_of(f), h = rows_of(f->nodes, 6), logits = rows_of(f->nodes, f->classes);
  struct rows px = hyper_aggregate_of(f, x, kind, self, first ? element_of(first, 0) : NULL);
  for (int64_t i = 0; i < f->nodes * x.cols; i++) px.value[i] += loop * x.value[i];
  add_linear(f, px, "layer0.weight", "layer0.bias", h);
  clamp(f, h);
  struct rows ph = hyper_aggregate_of(f, h, kind, self, second ? element_of(second, 0) : NULL);
  for (int64_t i = 0; i < f->nodes * h.cols; i++) ph.value[i] += loop * h.value[i];
  add_linear(f, ph, "layer1.weight", "layer1.bias", logits);
  assert_logits(logits);
  struct rows all[] = {x, h, logits, px, ph};
  for (int i = 0; i < 5; i++) free(all[i].value);
  fixture_close(&job);
}

TEST(hgnn_follows_its_formula) {
  check_formula(&narrow, "model.type = \"hgnn\"", HYPER_NORM, 1, 0);
  check_formula(&narrow, "model.type = \"hgnn\"\nruntime.overlap = false\nruntime.once = false", HYPER_NORM,
                1, 0);
  check_formula(&wide, "model.type = \"hgnn\"\nmodel.self_hyperedges = false", HYPER_NORM, 0, 0);
  check_formula(&thin, "model.type = \"hgnn\"", HYPER_NORM, 1, 0);
  check_formula(&narrow, "model.type = \"hgnn\"\nmodel.edge_weights = true", HYPER_NORM, 1, 0);
  check_formula(&wide, "model.type = \"hgnn\"\nmodel.edge_weights = true\nruntime.overlap = false",
                HYPER_NORM, 1, 0);
  check_formula(&narrow, "model.type = \"hgnn\"\nruntime.incidence = \"split\"", HYPER_NORM, 1, 0);
  check_formula(&wide, "model.type = \"hgnn\"\nruntime.incidence = \"split\"", HYPER_NORM, 1, 0);
}

/* Blocks of vertices are made where they are asked for, and nowhere else. */
TEST(sums_over_hyperedges_take_the_form_that_is_set) {
  static const char *const settings[] = {"model.type = \"hgnn\"\nruntime.incidence = \"split\"",
                                         "model.type = \"hgnn\"\nruntime.incidence = \"steps\"",
                                         "model.type = \"hgnn\"",
                                         "model.type = \"hgnn\"\nruntime.layout = \"csr\""};
  static const enum incidence_form form[] = {INCIDENCE_SPLIT, INCIDENCE_STEPS, INCIDENCE_AUTO,
                                             INCIDENCE_STEPS};
  for (int i = 0; i < 4; i++) {
    fixture_open(&job, &narrow, settings[i]);
    const struct incidence *inner = &job.trainer.model.propagation.forward.way.inner;
    assert_int_equal(inner->form, form[i]);
    assert_int_equal(inner->split.memory != NULL, i == 0);
    fixture_close(&job);
  }
}

TEST(unigin_follows_its_formula) {
  check_formula(&narrow, "model.type = \"unigin\"\nmodel.eps = 0.5", HYPER_SUM, 1, 1.5);
  check_formula(&wide, "model.type = \"unigin\"\nmodel.self_hyperedges = false", HYPER_SUM, 0, 1);
}

/* S = (1 - a) P H + a H0, Z = (1 - b) S + b S W with b = log(lambda / l + 1), one convolution. */
static void check_unigcnii(const struct fixture *f, const char *settings, int self) {
  open_formula(f, settings);
  double a = .1, b = log(.5 + 1);
  const struct parameter *w = parameter_named("layer1.weight");
  struct rows x = input_of(f), h0 = rows_of(f->nodes, 6), z = rows_of(f->nodes, 6),
              logits = rows_of(f->nodes, f->classes);
  add_linear(f, x, "layer0.weight", "layer0.bias", h0);
  clamp(f, h0);
  struct rows s = hyper_aggregate_of(f, h0, HYPER_DEGREE, self, NULL);
  for (int64_t i = 0; i < f->nodes * 6; i++) s.value[i] = (1 - a) * s.value[i] + a * h0.value[i];
  for (int64_t i = 0; i < f->nodes * 6; i++) {
    for (int64_t j = 0; j < 6; j++) z.value[i] += b * s.value[i / 6 * 6 + j] * *element_of(w, j * 6 + i % 6);
    z.value[i] += (1 - b) * s.value[i];
  }
  clamp(f, z);
  add_linear(f, z, "layer2.weight", "layer2.bias", logits);
  assert_logits(logits);
  struct rows all[] = {x, h0, z, logits, s};
  for (int i = 0; i < 5; i++) free(all[i].value);
  fixture_close(&job);
}

TEST(unigcnii_follows_its_formula) {
  check_unigcnii(&narrow, "model.type = \"unigcnii\"\nmodel.layers = 1", 1);
  check_unigcnii(&wide, "model.type = \"unigcnii\"\nmodel.layers = 1\nmodel.self_hyperedges = false", 0);
}

TEST(unigcnii_has_the_gradient_of_its_loss) {
  check_model(&narrow, "model.type = \"unigcnii\"\nmodel.layers = 3\nmodel.dropout = 0.3");
  check_model(&wide, "model.type = \"unigcnii\"\nmodel.layers = 2\nmodel.activation = \"elu\"");
}

TEST(hgnn_has_the_gradient_of_its_loss) {
  check_model(&narrow, "model.type = \"hgnn\"\nmodel.layers = 3");
  check_model(&narrow, "model.type = \"hgnn\"\nruntime.once = false\nmodel.hidden = 3\nmodel.dropout = 0.3");
  check_model(&wide, "model.type = \"hgnn\"\nruntime.overlap = false\nmodel.norm = \"batch\"");
  check_model(&thin, "model.type = \"hgnn\"\nmodel.dropout_input = 0.25\nmodel.residual = true\n"
                     "model.layers = 3\nmodel.activation = \"elu\"");
  check_model(&narrow, "model.type = \"hgnn\"\nruntime.incidence = \"split\"\nmodel.layers = 3");
}

/* Their logits are the bias, which has its gradient from them, too; products come first, 32 columns to 4. */
TEST(vertices_in_no_hyperedge_count_for_the_last_bias) {
  check_model(&narrow, "model.type = \"hgnn\"\nmodel.self_hyperedges = false\nmodel.hidden = 32\n"
                       "runtime.rows = \"all\"");
  check_model(&wide, "model.type = \"hgnn\"\nmodel.self_hyperedges = false\nmodel.hidden = 32\n"
                     "runtime.rows = \"all\"\nruntime.incidence = \"split\"");
  check_model(&narrow, "model.type = \"hgnn\"\nmodel.edge_weights = true\nmodel.self_hyperedges = false\n"
                       "model.hidden = 32\nruntime.rows = \"all\"");
}

TEST(trained_weights_of_hyperedges_have_theirs) {
  check_model(&narrow, "model.type = \"hgnn\"\nmodel.edge_weights = true\nmodel.layers = 3");
  check_model(&wide, "model.type = \"hgnn\"\nmodel.edge_weights = true\nmodel.activation = \"elu\"");
}

TEST(unigin_has_the_gradient_of_its_loss) {
  check_model(&narrow, "model.type = \"unigin\"\nmodel.layers = 3\nmodel.norm = \"layer\"");
  check_model(&wide, "model.type = \"unigin\"\nmodel.learn_eps = true\nmodel.activation = \"elu\"");
}

/* The fixtures are such that one makes vertices travel and the other hyperedges. */
TEST(both_kinds_of_rows_have_travelled) {
  fixture_open(&job, &wide, "model.type = \"hgnn\"\npartition.method = \"random\"");
  if (job.comm.size > 1) assert_int_equal(job.shard.hyper.travel, TRAVEL_HYPEREDGES);
  fixture_close(&job);
  fixture_open(&job, &narrow, "model.type = \"hgnn\"\npartition.method = \"random\"");
  if (job.comm.size > 1) assert_int_equal(job.shard.hyper.travel, TRAVEL_VERTICES);
  fixture_close(&job);
}

TEST(settings_that_do_not_fit_are_refused) {
  static const struct fixture graph = {.nodes = 61, .features = 5, .classes = 4};
  static char text[1024];
  static char path[64];
  struct comm comm = job.comm;
  snprintf(path, sizeof path, "refused.%d.h5", comm.size); /* tests may run side by side */
  for (int i = 0; i < 2; i++) {
    memset(&job, 0, sizeof job);
    job.comm = comm;
    if (comm.rank == 0) fixture_write(i ? &narrow : &graph, path);
    assert_ok(comm_barrier(&job.comm));
    snprintf(text, sizeof text, "model.type = \"%s\"\ndataset.path = \"%s\"\nlog.dir = \"%s.run\"\n",
             i ? "gcn" : "hgnn", path, path);
    assert_ok(config_parse(&job.config, text, "test"));
    assert_fails(job_setup(&job), BAD_INPUT,
                 i ? "has no /graph to train on; model.type hgnn, unigcnii"
                   : "has no /hypergraph, on which model.type = \"hgnn\" runs");
    job_free(&job);
    assert_ok(comm_barrier(&job.comm));
    if (comm.rank == 0) assert_int_equal(remove(path), 0);
  }
}
