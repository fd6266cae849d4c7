/* runtime.rows = "needed" trains as "all" does: losses over some epochs and in evaluations, with dropout, of
 * every model whose steps are served, whatever the share of training nodes, on any number of ranks.
 * GNNTRAIN_TEST_DEVICE=cuda: on GPUs, which have no fp64. */
#include <math.h>

#include "runtime/base/integer.h"
#include "tests/models/fixture.h"

static struct job job;

BEFORE_ALL {
  job_levels_worth = 1;
  const int code = ranks_open(&job.comm);
  return code == OK ? ranks_need_device(&job.comm) : code;
}

AFTER_ALL {
  comm_close(&job.comm);
}

/* A precision, and how far apart two trainings in it may be. */
struct numbers {
  const char *precision;
  double bound;
};

static struct numbers fine(void) {
  return ranks_on_gpu() ? (struct numbers){"fp32", 5e-5} : (struct numbers){"fp64", 1e-11};
}

static struct numbers rough(void) {
  return ranks_on_gpu() ? (struct numbers){"bf16", 2e-2} : (struct numbers){"fp32", 1e-5};
}

enum { EPOCHS = 3, NUMBERS = EPOCHS + SPLIT_COUNT };

/* What a training gives: the loss of each epoch, then those of an evaluation. */
struct outcomes {
  double loss[NUMBERS];
  int64_t rows[PLANS]; /* that its steps have computed */
};

static int64_t rows_computed(const struct program *p, const struct shard *shard, enum value_plan plan) {
  const int steps = plan == TRAINING ? p->steps : p->loss;
  int64_t rows = 0;
  for (int s = 0; s < steps; s++) {
    const struct step_rows *of = &p->step[s].rows[plan];
    if (!p->step[s].aggregation.once) rows += smaller(of->count, shard->own);
  }
  return rows;
}

static struct outcomes train(const struct fixture *f, const char *settings, const char *precision,
                             const char *rows) {
  struct outcomes outcomes = {0};
  struct tally tally;
  char text[1024];
  snprintf(
      text, sizeof text,
      "%s\nruntime.rows = \"%s\"\nruntime.device = \"%s\"\nruntime.precision = \"%s\"\nmodel.hidden = 8\n"
      "partition.method = \"random\"\ntrain.optimizer = \"sgd\"\ntrain.lr = 0.2",
      settings, rows, ranks_device(), precision);
  fixture_open(&job, f, text);
  for (int e = 0; e < EPOCHS; e++)
    assert_ok(epoch_train(&job.trainer.epoch, &job.run, e + 1, &outcomes.loss[e]));
  assert_ok(epoch_evaluate(&job.trainer.epoch, &job.run, &tally));
  for (int s = 0; s < SPLIT_COUNT; s++) outcomes.loss[EPOCHS + s] = tally.loss[s];
  for (enum value_plan plan = TRAINING; plan < PLANS; plan++)
    outcomes.rows[plan] = rows_computed(&job.trainer.model.program, &job.shard, plan);
  fixture_close(&job);
  assert_ok(comm_reduce(&job.comm, outcomes.loss, NUMBERS, NUMBER_DOUBLE, REDUCE_SUM));
  assert_ok(comm_reduce(&job.comm, outcomes.rows, PLANS, NUMBER_INT64, REDUCE_SUM));
  return outcomes;
}

/* Rows that an epoch saves, and an evaluation. */
struct saved {
  int64_t rows[PLANS];
};

/* chunks: bytes of the logits of a chunk where rows are needed (models/program/chunks.c); 0: as ever. */
static struct saved check_chunked(const struct fixture *f, const char *settings, struct numbers numbers,
                                  int64_t chunks) {
  const int64_t whole = chunk_bytes;
  if (chunks > 0) chunk_bytes = chunks;
  const struct outcomes needed = train(f, settings, numbers.precision, "needed");
  chunk_bytes = whole;
  const struct outcomes all = train(f, settings, numbers.precision, "all");
  for (int i = 0; i < NUMBERS; i++)
    if (!(fabs(needed.loss[i] - all.loss[i]) <= numbers.bound * fmax(1, fabs(all.loss[i]))))
      fail_msg("%s, %d%% train: number %d is %.17g, with all rows %.17g", settings, f->train, i,
               needed.loss[i], all.loss[i]);
  return (struct saved){
      {all.rows[TRAINING] - needed.rows[TRAINING], all.rows[EVALUATION] - needed.rows[EVALUATION]}};
}

static void check(const struct fixture *f, const char *settings, struct numbers numbers) {
  if (check_chunked(f, settings, numbers, 0).rows[TRAINING] <= 0)
    fail_msg("%s: the rows are not fewer", settings);
}

static const char *const models[] = {
    "model.type = \"gcn\"\nmodel.layers = 3\nmodel.dropout = 0.5",
    "model.type = \"gcn\"\nmodel.layers = 2\nmodel.dropout = 0.5\nmodel.dropout_input = 0.2\n"
    "model.norm_edges = \"none\"\nruntime.once = false\nruntime.overlap = false",
    "model.type = \"gcn\"\nmodel.layers = 4\nmodel.norm = \"layer\"\nmodel.residual = true\nmodel.dropout = "
    "0.3\n"
    "train.recompute = \"layer\"",
    "model.type = \"gcn\"\nmodel.layers = 3\nmodel.norm = \"batch\"\nmodel.residual = true\nmodel.dropout = "
    "0.5",
    "model.type = \"sage\"\nmodel.layers = 3\nmodel.norm = \"layer\"\nmodel.residual = true\nmodel.dropout = "
    "0.5",
    "model.type = \"sage\"\nmodel.layers = 3\nmodel.norm = \"batch\"\nmodel.aggregator = \"sum\"",
    "model.type = \"sage\"\nmodel.layers = 2\nmodel.aggregator = \"gcn\"\nmodel.dropout = 0.5",
    "model.type = \"sgc\"\nmodel.layers = 2\nruntime.once = false",
    "model.type = \"appnp\"\nmodel.layers = 2\nmodel.steps = 4\nmodel.dropout = 0.5",
    "model.type = \"gcnii\"\nmodel.layers = 4\nmodel.dropout = 0.5",
    "model.type = \"sage\"\nmodel.layers = 3\nmodel.aggregator = \"max\"\nmodel.dropout = 0.5",
    "model.type = \"mlp\"\nmodel.layers = 2\nmodel.dropout = 0.5",
    "model.type = \"agnn\"\nmodel.layers = 4\nmodel.dropout = 0.5",
    "model.type = \"agnn\"\nmodel.layers = 5\nmodel.residual = true\nmodel.learn_first_beta = false\n"
    "train.recompute = \"layer\"",
    "model.type = \"gat\"\nmodel.layers = 3\nmodel.heads = 4\nmodel.heads_last = 2\nmodel.dropout = "
    "0.5\nmodel.dropout_attention = 0.3",
    "model.type = \"gat\"\nmodel.layers = 2\nmodel.heads = 2\nmodel.norm = \"layer\"\nmodel.residual = true\n"
    "train.recompute = \"layer\"",
    "model.type = \"gatv2\"\nmodel.layers = 3\nmodel.heads = 4\nmodel.heads_last = 2\nmodel.dropout = "
    "0.5\nmodel.dropout_attention = 0.3",
};
enum { MODELS = sizeof models / sizeof models[0] };

#ifdef __SANITIZE_ADDRESS__ /* takes ten times as long */
enum { SANITIZED = 1, RANDOM_GRAPHS = 40, SHARES_EACH = 1 };
#else
enum { SANITIZED = 0, RANDOM_GRAPHS = 200, SHARES_EACH = 3 };
#endif

static const int shares[] = {1, 10, 60};

/* GPUs of several ranks take a second to meet, and sanitizers their time: there each model has one kind of
 * graph. */
static int takes_one_kind(void) {
  return SANITIZED || (ranks_on_gpu() && job.comm.size > 1);
}

/* Every share of the first kind of graph where there is one rank; else each kind has another one. */
static void check_models(struct fixture f, struct numbers numbers, int turn) {
  for (int m = 0; m < MODELS; m++) {
    if (takes_one_kind() && m % 3 != turn) continue;
    for (int i = 0; i < 3; i++) {
      f.train = shares[(i + m + turn) % 3];
      if (i == 0 || (i < SHARES_EACH && turn == 0 && job.comm.size == 1 && !ranks_on_gpu()))
        check(&f, models[m], numbers);
    }
  }
}

TEST(training_agrees) {
  check_models((struct fixture){.nodes = 160, .features = 9, .classes = 4, .arcs = 2}, fine(), 0);
}

TEST(training_agrees_on_a_directed_graph) {
  check_models((struct fixture){.nodes = 160, .features = 9, .classes = 4, .arcs = 2, .directed = 1}, fine(),
               1);
}

TEST(training_agrees_in_the_next_precision) {
  check_models((struct fixture){.nodes = 160, .features = 9, .classes = 4, .arcs = 2}, rough(), 2);
}

/* Where few nodes are asked for, evaluations compute fewer rows, too, batch norms among their steps. */
TEST(evaluations_agree) {
  for (int m = 0; m < MODELS; m++) {
    const struct fixture f = {
        .nodes = 300, .features = 9, .classes = 4, .arcs = 1, .train = 2, .asked = 3, .directed = m % 2};
    if (ranks_on_gpu() && job.comm.size > 1 && m % 3) continue;
    const struct saved saved = check_chunked(&f, models[m], fine(), m % 4 == 3 ? 512 : 0);
    if (saved.rows[EVALUATION] <= 0) fail_msg("%s: an evaluation computes all rows", models[m]);
  }
}

TEST(training_agrees_with_weights_labels_and_sparse_features) {
  const struct fixture graphs[] = {
      {.nodes = 160, .features = 9, .classes = 4, .arcs = 2, .train = 10, .weighted = 1},
      {.nodes = 160, .features = 9, .classes = 4, .arcs = 2, .train = 10, .multilabel = 1},
      {.nodes = 160, .features = 60, .classes = 4, .arcs = 2, .train = 10, .sparse = 1, .directed = 1}};
  for (int i = 0; i < 3; i++) {
    check(&graphs[i], "model.type = \"gcn\"\nmodel.layers = 3\nmodel.dropout = 0.5", fine());
    check(&graphs[i], "model.type = \"sage\"\nmodel.layers = 3\nmodel.dropout = 0.5", fine());
  }
}

static const char *const hypergraph_models[] = {
    "model.type = \"hgnn\"\nmodel.layers = 3\nmodel.dropout = 0.5",
    "model.type = \"hgnn\"\nmodel.layers = 2\nmodel.edge_weights = true\nmodel.dropout = 0.5\n"
    "runtime.once = false\nruntime.overlap = false",
    "model.type = \"hgnn\"\nmodel.layers = 4\nmodel.edge_weights = true\nmodel.self_hyperedges = true\n"
    "model.norm = \"layer\"\nmodel.residual = true\ntrain.recompute = \"layer\"",
    "model.type = \"hgnn\"\nmodel.layers = 3\nmodel.norm = \"batch\"\nmodel.dropout = 0.5",
    "model.type = \"unigin\"\nmodel.layers = 3\nmodel.norm = \"layer\"\nmodel.dropout = 0.3",
    "model.type = \"unigcnii\"\nmodel.layers = 4\nmodel.dropout = 0.5"};
enum { HYPERGRAPH_MODELS = sizeof hypergraph_models / sizeof hypergraph_models[0] };

/* Hyperedges of few vertices: few of them, or so many that their rows do not travel. */
static struct fixture small_hyperedges(int many, int train, int asked) {
  return (struct fixture){.nodes = many ? 250 : 400,
                          .features = 9,
                          .classes = 4,
                          .hyperedges = many ? 350 : 180,
                          .arcs = 1,
                          .train = train,
                          .asked = asked};
}

/* Whether vertices or hyperedges travel between ranks; counts[] of the jobs that were seen. */
static int travelled[2];

static void note_travel(struct job *of) {
  travelled[of->shard.hyper.travel] += of->shard.hyper.levels > 0;
}

TEST(training_agrees_on_a_hypergraph) {
  fixture_change = note_travel;
  for (int m = 0; m < HYPERGRAPH_MODELS; m++) {
    if (ranks_on_gpu() && job.comm.size > 1 && m % 2) continue;
    for (int many = 0; many < 2; many++) {
      const struct fixture few = small_hyperedges(many, 1, 0), more = small_hyperedges(many, 20, 0);
      check(&few, hypergraph_models[m], fine());
      check_chunked(&more, hypergraph_models[m], m % 2 ? fine() : rough(), 0);
    }
  }
  fixture_change = NULL;
  assert_true(job.comm.size == 1 || (travelled[TRAVEL_VERTICES] > 0 && travelled[TRAVEL_HYPEREDGES] > 0));
}

TEST(evaluations_agree_on_a_hypergraph) {
  for (int m = 0; m < HYPERGRAPH_MODELS; m++) {
    const struct fixture f = small_hyperedges(m % 2, 1, 2);
    if (ranks_on_gpu() && job.comm.size > 1 && m % 2 == 0) continue;
    const struct saved saved = check_chunked(&f, hypergraph_models[m], fine(), m % 3 == 1 ? 512 : 0);
    if (saved.rows[EVALUATION] <= 0) fail_msg("%s: an evaluation computes all rows", hypergraph_models[m]);
  }
}

static int64_t feature_rows;

/* Of all ranks, that steps read of the features; each step counts. */
static void count_feature_rows(struct job *of) {
  const struct program *p = &of->trainer.model.program;
  feature_rows = 0;
  for (int s = 0; s < p->steps; s++)
    if (p->step[s].in[0] == VALUE_FEATURES || p->step[s].in[1] == VALUE_FEATURES)
      feature_rows += smaller(p->step[s].rows[TRAINING].count, of->shard.own);
  assert_ok(comm_reduce(&of->comm, &feature_rows, 1, NUMBER_INT64, REDUCE_SUM));
}

/* Products of sparse features, their gradient and their dropout. */
TEST(sparse_features_are_multiplied_in_the_rows_that_are_needed) {
  static const char *const types[] = {"gcn", "sage", "gat", "mlp", "gcnii", "sgc", "appnp"};
  fixture_change = count_feature_rows;
  for (int t = 0; t < 7; t++) {
    for (int asked = 0; asked < 2; asked++) {
      const struct fixture f = {.nodes = 200,
                                .features = 60,
                                .classes = 4,
                                .arcs = 1,
                                .train = 3,
                                .asked = asked ? 3 : 0,
                                .sparse = 1,
                                .directed = t % 2};
      char text[256];
      snprintf(text, sizeof text,
               "model.type = \"%s\"\nmodel.layers = 2\nmodel.steps = 2\nmodel.dropout_input = %s", types[t],
               asked ? "0.3" : "0.0");
      train(&f, text, fine().precision, "all");
      const int64_t all = feature_rows;
      check_chunked(&f, text, fine(), 0);
      train(&f, text, fine().precision, "needed");
      if (feature_rows >= all)
        fail_msg("%s: %lld rows of features of %lld", text, (long long)feature_rows, (long long)all);
    }
  }
  fixture_change = NULL;
}

/* On a GPU; the processor has one layout. */
TEST(training_agrees_through_other_layouts) {
  const struct fixture f = {.nodes = 300, .features = 20, .classes = 4, .arcs = 8, .train = 20};
  check(&f, "model.layers = 3\nmodel.dropout = 0.5\nruntime.layout = \"tiles\"", rough());
  if (!ranks_on_gpu()) return;
  check(&f, "model.layers = 3\nmodel.dropout = 0.5\nruntime.layout = \"windows\"", rough());
  check(&f, "model.layers = 3\nmodel.dropout = 0.5\nruntime.layout = \"csr\"", rough());
  check(&f, "model.layers = 3\nmodel.dropout = 0.5\nruntime.layout = \"vectors\"", rough());
}

/* A setting out of a list, or one of two numbers. */
static const char *pick(uint64_t seed, uint32_t what, const char *const *from, uint32_t count) {
  return from[draw(seed, what) % count];
}

static void random_settings(uint64_t seed, char *text, size_t size) {
  static const char *const types[] = {"gcn",   "gcn",   "sage", "sage", "gcnii",
                                      "appnp", "gatv2", "gat",  "sgc",  "mlp"};
  static const char *const aggregators[] = {"mean", "gcn", "sum", "max", "min"}, *const truths[] = {"true",
                                                                                                    "false"};
  static const char *const norms[] = {"none", "none", "layer", "batch"}, *const repeats[] = {"none", "layer"};
  static const char *const activations[] = {"relu", "elu"}, *const rates[] = {"0.0", "0.0", "0.4"};
  const char *type = pick(seed, 20, types, 10), *norm = pick(seed, 21, norms, 4);
  const char *residual = strcmp(type, "gcnii") ? pick(seed, 22, truths, 2) : "false";
  if (!strcmp(type, "gcnii") && !strcmp(norm, "batch")) norm = "layer";
  snprintf(
      text, size,
      "model.type = \"%s\"\nmodel.layers = %u\nmodel.norm = \"%s\"\nmodel.residual = %s\n"
      "model.aggregator = \"%s\"\nmodel.activation = \"%s\"\nmodel.dropout = %s\nmodel.dropout_input = %s\n"
      "model.steps = 3\ntrain.recompute = \"%s\"\nruntime.once = %s\nruntime.overlap = %s",
      type, 2 + draw(seed, 23) % 3, norm, residual, pick(seed, 24, aggregators, 5),
      pick(seed, 25, activations, 2), pick(seed, 26, rates, 3), pick(seed, 27, rates, 3),
      pick(seed, 28, repeats, 2), pick(seed, 29, truths, 2), pick(seed, 30, truths, 2));
}

TEST(training_agrees_on_random_graphs_with_random_settings) {
  const uint64_t graphs = ranks_on_gpu() ? 10 : job.comm.size == 1 ? RANDOM_GRAPHS : 16;
  char text[1024];
  struct saved saved = {{0}};
  for (uint64_t i = 0; i < graphs; i++) {
    const uint64_t seed = graphs * (uint64_t)job.comm.size + i;
    random_settings(seed, text, sizeof text);
    const struct fixture f = {.nodes = 40 + draw(seed, 10) % 60,
                              .features = 5 + draw(seed, 11) % 5,
                              .classes = 3,
                              .arcs = 1 + (int)(draw(seed, 12) % 5),
                              .train = 1 + (int)(draw(seed, 13) % 60),
                              .asked = draw(seed, 19) % 2 ? 0 : 1 + (int)(draw(seed, 31) % 40),
                              .directed = draw(seed, 14) % 2,
                              .weighted = draw(seed, 15) % 2 && !strstr(text, "\"max\"") &&
                                          !strstr(text, "\"min\"") && !strstr(text, "gat"),
                              .sparse = draw(seed, 16) % 5 == 0,
                              .multilabel = draw(seed, 17) % 3 == 0};
    const struct saved more = check_chunked(&f, text, (struct numbers){fine().precision, 10 * fine().bound},
                                            draw(seed, 18) % 2 ? 0 : 512);
    for (int plan = 0; plan < PLANS; plan++) saved.rows[plan] += more.rows[plan];
  }
  assert_true(saved.rows[TRAINING] > 0 && saved.rows[EVALUATION] > 0);
}
