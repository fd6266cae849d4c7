/* Models of which outputs wait in the host's memory for the backward (models/program/offload.c) train as
 * others do, to the last bit, and take less memory of the device: on any number of ranks.
 * GNNTRAIN_TEST_DEVICE=cuda: on GPUs, recorded or not. */
#include "tests/models/fixture.h"

static struct job job;

BEFORE_ALL {
  const int code = ranks_open(&job.comm);
  return code == OK ? ranks_need_device(&job.comm) : code;
}

AFTER_ALL {
  comm_close(&job.comm);
}

enum { EPOCHS = 4 };

struct trained {
  double loss[EPOCHS], validation[EPOCHS];
  int64_t bytes, device; /* of values; of all buffers but the parameters */
  int waits;
};

static struct trained train(const struct fixture *f, const char *settings, const char *offload) {
  struct trained of = {0};
  char text[1024];
  snprintf(text, sizeof text,
           "%s\nruntime.device = \"%s\"\nruntime.offload = \"%s\"\npartition.method = \"random\"\n"
           "train.optimizer = \"sgd\"\ntrain.lr = 0.1",
           settings, ranks_device(), offload);
  fixture_open(&job, f, text);
  const struct program *p = &job.trainer.model.program;
  of.bytes = p->bytes;
  of.waits = p->saved.waits;
  of.device = job.trainer.model.arena.used -
              4 * job.trainer.model.parameters.count * dtype_bytes(job.kernels.real);
  for (int e = 0; e < EPOCHS; e++) {
    struct tally tally;
    assert_ok(epoch_train(&job.trainer.epoch, &job.run, e + 1, &of.loss[e]));
    assert_ok(epoch_evaluate(&job.trainer.epoch, &job.run, &tally));
    of.validation[e] = tally.loss[SPLIT_VAL];
  }
  fixture_close(&job);
  return of;
}

static void check(const struct fixture *f, const char *settings, int layers) {
  const struct trained features = train(f, settings, "features"), away = train(f, settings, "activations"),
                       all = train(f, settings, "none");
  assert_int_equal(all.waits, 0);
  if (away.waits < layers) fail_msg("%s: %d outputs wait, not %d", settings, away.waits, layers);
  assert_true(ranks_on_gpu() || away.loss[EPOCHS - 1] != away.loss[0]);
  if (features.waits > 2 || features.waits > away.waits)
    fail_msg("%s: %d inputs wait", settings, features.waits);
  assert_memory_equal(features.loss, all.loss, sizeof all.loss);
  assert_memory_equal(features.validation, all.validation, sizeof all.validation);
  assert_memory_equal(away.validation, all.validation, sizeof all.validation);
  for (int e = 0; e < EPOCHS; e++)
    if (away.loss[e] != all.loss[e])
      fail_msg("%s: loss %.17g, not %.17g", settings, away.loss[e], all.loss[e]);
}

/* And how many outputs wait, at least. */
static const struct {
  const char *settings;
  int waits;
} models[] = {
    {"model.layers = 4\nmodel.dropout = 0.5", 2},
    {"model.layers = 4\nmodel.norm = \"batch\"\nmodel.residual = true\nruntime.rows = \"all\"", 3},
    {"model.layers = 4\nmodel.norm = \"layer\"\ntrain.recompute = \"layer\"", 1},
    {"model.type = \"sage\"\nmodel.layers = 4\nmodel.aggregator = \"max\"", 3},
    {"model.type = \"gat\"\nmodel.layers = 4\nmodel.heads = 2\nmodel.activation = \"elu\"", 3},
    {"model.type = \"gatv2\"\nmodel.layers = 3\nmodel.heads = 2", 2},
    {"model.type = \"gin\"\nmodel.layers = 3\nmodel.learn_eps = true", 2},
    {"model.type = \"gcnii\"\nmodel.layers = 5\nmodel.dropout = 0.5", 3},
    {"model.type = \"agnn\"\nmodel.layers = 4", 2},
    {"model.type = \"mlp\"\nmodel.layers = 4\nruntime.graph = false", 2},
};
enum { MODELS = sizeof models / sizeof models[0] };

static void check_models(const struct fixture *f, int turn) {
  char text[512];
  for (int m = 0; m < MODELS; m++) {
    if (ranks_on_gpu() && job.comm.size > 1 && m % 2 == turn) continue;
    snprintf(text, sizeof text, "%s\nmodel.hidden = 12\nruntime.precision = \"%s\"", models[m].settings,
             ranks_on_gpu() ? (m % 2 ? "bf16" : "fp32") : "fp64");
    check(f, text, models[m].waits);
  }
}

TEST(what_waits_on_the_host_comes_back_as_it_was) {
  const struct fixture f = {.nodes = 160, .features = 5, .classes = 7, .arcs = 4, .train = 60};
  check_models(&f, 0);
}

TEST(what_waits_of_few_needed_rows_comes_back_as_it_was) {
  const struct fixture f = {.nodes = 160, .features = 5, .classes = 7, .arcs = 2, .train = 10, .directed = 1};
  check_models(&f, 1);
}

TEST(what_waits_of_readouts_comes_back_as_it_was) {
  const struct fixture f = {.nodes = 300, .features = 5, .classes = 7, .arcs = 20, .graphs = 40};
  char text[512];
  static const char *const types[] = {"gcn\"\nmodel.residual = true\nmodel.readout = \"mean",
                                      "gin\"\nmodel.readout = \"mean",
                                      "gat\"\nmodel.heads = 2\nmodel.readout = \"max"};
  for (int t = 0; t < 3; t++) {
    snprintf(text, sizeof text,
             "model.type = \"%s\"\nmodel.readout_layers = \"all\"\nmodel.layers = 4\nmodel.hidden = 12\n"
             "runtime.precision = \"%s\"",
             types[t], ranks_on_gpu() ? (t % 2 ? "bf16" : "fp32") : "fp64");
    check(&f, text, 3);
  }
}

TEST(outputs_that_wait_with_chunks_of_logits_come_back) {
  const struct fixture f = {.nodes = 160, .features = 5, .classes = 19, .arcs = 4};
  const int64_t whole = chunk_bytes;
  chunk_bytes = 2048;
  check(&f, "model.layers = 4\nmodel.hidden = 12\nmodel.dropout = 0.5", 2);
  assert_int_equal(chunk_bytes, 2048);
  chunk_bytes = whole;
}

/* Two of eight outputs are there at a time, and what a layer works on. */
TEST(outputs_that_wait_take_no_memory_of_the_device) {
  const struct fixture f = {.nodes = 331, .features = 5, .classes = 7};
  static const char *const settings = "model.type = \"sage\"\nmodel.layers = 8\nmodel.hidden = 64";
  const struct trained away = train(&f, settings, "activations"), all = train(&f, settings, "none");
  if (5 * away.bytes > 3 * all.bytes)
    fail_msg("%lld bytes, more than three fifths of %lld", (long long)away.bytes, (long long)all.bytes);
}

/* The sums of the first layer are as wide as 40 others, and are not there while the model is at its most. */
TEST(a_constant_input_that_waits_takes_no_memory_next_to_the_loss) {
  const struct fixture f = {.nodes = 331, .features = 640, .classes = 7};
  static const char *const settings = "model.layers = 6\nmodel.hidden = 256";
  const struct trained away = train(&f, settings, "features"), all = train(&f, settings, "none");
  assert_int_equal(away.waits, 1);
  assert_memory_equal(away.loss, all.loss, sizeof all.loss);
  if (10 * away.bytes > 9 * all.bytes)
    fail_msg("%lld bytes, more than nine tenths of %lld", (long long)away.bytes, (long long)all.bytes);
}

/* Features as they are read in every epoch, by themselves or beside their aggregate. The processor reads
 * floats where the shard has them. */
TEST(features_that_wait_take_no_memory_next_to_the_loss) {
  static const struct {
    const char *settings;
    int waits;
  } types[] = {{"model.type = \"gat\"\nmodel.layers = 5\nmodel.heads = 2\nmodel.hidden = 128", 1},
               {"model.type = \"mlp\"\nmodel.layers = 6\nmodel.hidden = 256", 1},
               {"model.type = \"sage\"\nmodel.layers = 6\nmodel.hidden = 256", 2}};
  const struct fixture f = {.nodes = 331, .features = 640, .classes = 7, .train = 60};
  for (int t = 0; t < 3; t++) {
    char text[256];
    snprintf(text, sizeof text, "%s\nruntime.precision = \"%s\"", types[t].settings,
             ranks_on_gpu() ? "fp32" : "fp64");
    const struct trained away = train(&f, text, "features"), all = train(&f, text, "none");
    assert_int_equal(away.waits, types[t].waits);
    assert_memory_equal(away.loss, all.loss, sizeof all.loss);
    assert_memory_equal(away.validation, all.validation, sizeof all.validation);
    if (10 * away.device > 9 * all.device)
      fail_msg("%s: %lld bytes, more than nine tenths of %lld", text, (long long)away.device,
               (long long)all.device);
  }
}

/* Input dropout reads them in a copy that differs from epoch to epoch. */
TEST(features_with_input_dropout_stay) {
  const struct fixture f = {.nodes = 331, .features = 64, .classes = 7};
  const struct trained of = train(&f, "model.type = \"mlp\"\nmodel.dropout_input = 0.2\nmodel.layers = 3",
                                  "features");
  assert_int_equal(of.waits, 0);
}

/* A look for what is not finite ends half of the way: then what waits is back. */
static void check_unfinished(const struct fixture *f, const char *settings) {
  double loss[2][2];
  for (int looks = 0; looks < 2; looks++) {
    int layer;
    fixture_open(&job, f, settings);
    assert_true(job.trainer.model.program.saved.waits > 0);
    assert_ok(epoch_train(&job.trainer.epoch, &job.run, 1, &loss[looks][0]));
    if (looks) assert_ok(model_find_nonfinite(&job.trainer.model, &job.run, 1, &layer));
    if (looks) assert_int_equal(layer, -1);
    assert_ok(epoch_train(&job.trainer.epoch, &job.run, 2, &loss[looks][1]));
    fixture_close(&job);
  }
  assert_memory_equal(loss[0], loss[1], sizeof loss[0]);
}

TEST(a_pass_that_is_not_finished_leaves_the_constant_input_as_it_was) {
  const struct fixture f = {.nodes = 331, .features = 640, .classes = 7};
  static const char *const away =
      "model.hidden = 256\nruntime.offload = \"features\"\nruntime.device = \"cpu\"";
  char text[256];
  snprintf(text, sizeof text, "model.layers = 3\n%s", away);
  check_unfinished(&f, text);
  snprintf(text, sizeof text, "model.layers = 4\nmodel.type = \"mlp\"\nruntime.precision = \"fp64\"\n%s",
           away);
  check_unfinished(&f, text);
}
