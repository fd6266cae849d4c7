/* Steps that run by chunks of rows (models/program/chunks.c) train and evaluate as those of all rows at once
 * do: losses over some epochs, logits, losses and counts of an evaluation, of every model whose logits a
 * product makes, on any number of ranks. GNNTRAIN_TEST_DEVICE=cuda: on GPUs, which have no fp64. */
#include <math.h>

#include "models/session/classes.h"
#include "tests/models/fixture.h"

static struct job job;
static int64_t whole;

BEFORE_ALL {
  whole = chunk_bytes;
  const int code = ranks_open(&job.comm);
  return code == OK ? ranks_need_device(&job.comm) : code;
}

AFTER_ALL {
  comm_close(&job.comm);
}

enum { EPOCHS = 3, CLASSES = 7 };

struct outcomes {
  double loss[EPOCHS];
  double *logits; /* [own, classes] of the evaluation behind them */
  struct tally tally;
  struct class_score score[CLASSES];
  int64_t rows;
  int chunks;
};

static int take(void *context, struct run *run, const struct logits *logits) {
  struct outcomes *of = context;
  of->chunks++;
  return run_download(run, of->logits + logits->first * CLASSES, logits->logits);
}

/* rows: of a chunk; 0: all. */
static struct outcomes train(const struct fixture *f, const char *settings, int64_t rows) {
  struct outcomes of = {0};
  char text[1024];
  const int64_t number = ranks_on_gpu() ? 4 : 8, stride = tensor_pitch(CLASSES * number);
  chunk_bytes = rows > 0 ? rows * stride : whole;
  snprintf(text, sizeof text,
           "%s\nruntime.device = \"%s\"\nruntime.precision = \"%s\"\nmodel.hidden = 6\n"
           "partition.method = \"random\"\ntrain.optimizer = \"sgd\"\ntrain.lr = 0.2",
           settings, ranks_device(), ranks_on_gpu() ? "fp32" : "fp64");
  fixture_open(&job, f, text);
  struct trainer *trainer = &job.trainer;
  for (int e = 0; e < EPOCHS; e++) assert_ok(epoch_train(&trainer->epoch, &job.run, e + 1, &of.loss[e]));
  assert_ok(epoch_evaluate(&trainer->epoch, &job.run, &of.tally));
  of.rows = job.shard.own;
  of.logits = calloc((size_t)(of.rows * CLASSES + 1), sizeof *of.logits);
  assert_ok(model_forward(&trainer->model, &job.run, 0, take, &of));
  assert_ok(classes_count(&trainer->model, &job.run, SPLIT_TEST, &(struct class_counts){.score = of.score}));
  assert_int_equal(trainer->model.program.chunk.rows, of.chunks > 1 ? rows : 0);
  fixture_close(&job);
  return of;
}

static void assert_near(double a, double b, const char *settings, const char *what) {
  const double bound = ranks_on_gpu() ? 5e-5 : 1e-12;
  if (!(fabs(a - b) <= bound * fmax(1, fabs(b)))) fail_msg("%s: %s %.17g, not %.17g", settings, what, a, b);
}

static void check(const struct fixture *f, const char *settings, int64_t rows) {
  struct outcomes chunked = train(f, settings, rows), all = train(f, settings, 0);
  assert_int_equal(all.chunks, 1);
  assert_int_equal(chunked.chunks, (all.rows + rows - 1) / rows);
  for (int e = 0; e < EPOCHS; e++) assert_near(chunked.loss[e], all.loss[e], settings, "loss");
  for (int64_t i = 0; i < all.rows * CLASSES; i++)
    assert_near(chunked.logits[i], all.logits[i], settings, "logit");
  for (int s = 0; s < SPLIT_COUNT; s++) {
    assert_near(chunked.tally.loss[s], all.tally.loss[s], settings, "loss of a split");
    for (int i = 0; i < 3; i++) assert_true(chunked.tally.score[s][i] == all.tally.score[s][i]);
  }
  assert_memory_equal(chunked.score, all.score, sizeof all.score);
  free(chunked.logits);
  free(all.logits);
}

static const char *const models[] = {
    "model.layers = 3\nmodel.dropout = 0.5",
    "model.layers = 3\nmodel.norm = \"layer\"\nmodel.residual = true\ntrain.recompute = \"layer\"",
    "model.layers = 3\nmodel.norm = \"batch\"\nruntime.rows = \"all\"",
    "model.type = \"sage\"\nmodel.layers = 3\nmodel.dropout = 0.5\nmodel.residual = true",
    "model.type = \"sage\"\nmodel.layers = 2\nmodel.aggregator = \"max\"\nruntime.once = false",
    "model.type = \"gcnii\"\nmodel.layers = 4\nmodel.dropout = 0.5",
    "model.type = \"gin\"\nmodel.layers = 2\nmodel.learn_eps = true",
    "model.type = \"sgc\"\nmodel.layers = 2",
    "model.type = \"mlp\"\nmodel.layers = 3\nmodel.dropout = 0.5\nmodel.norm = \"layer\"",
    "model.type = \"mlp\"\nmodel.layers = 4\nmodel.dropout = 0.5",
};
enum { MODELS = sizeof models / sizeof models[0] };

/* GPUs of several ranks take a second to meet: there each model has one of the two turns. */
static void check_models(const struct fixture *f, int64_t rows, int turn) {
  for (int m = 0; m < MODELS; m++)
    if (!ranks_on_gpu() || job.comm.size == 1 || m % 2 == turn) check(f, models[m], rows);
}

TEST(chunks_train_as_all_rows_do) {
  const struct fixture f = {.nodes = 160, .features = 5, .classes = CLASSES, .arcs = 4, .train = 60};
  check_models(&f, 11, 0);
}

TEST(chunks_train_as_all_rows_do_for_few_training_nodes) {
  const struct fixture f = {
      .nodes = 160, .features = 5, .classes = CLASSES, .arcs = 2, .train = 10, .directed = 1};
  check_models(&f, 3, 1);
}

TEST(chunks_train_as_all_rows_do_with_several_labels_a_node) {
  const struct fixture f = {
      .nodes = 97, .features = 5, .classes = CLASSES, .arcs = 4, .multilabel = 1, .weighted = 1};
  check(&f, models[0], 1);
  check(&f, models[3], 13);
}

TEST(chunks_train_as_all_rows_do_for_graphs) {
  const struct fixture f = {.nodes = 160, .features = 5, .classes = CLASSES, .arcs = 20, .graphs = 16};
  check(&f, "model.layers = 3\nmodel.readout = \"mean\"\nmodel.dropout = 0.5", 11);
  check(&f,
        "model.layers = 3\nmodel.readout = \"mean\"\nmodel.readout_layers = \"all\"\nmodel.residual = true",
        7);
  check(&f, "model.type = \"sage\"\nmodel.readout = \"max\"\nmodel.readout_layers = \"all\"", 13);
}

static int64_t bytes_with(const struct fixture *f, int64_t bytes) {
  chunk_bytes = bytes;
  fixture_open(&job, f, "model.layers = 3\nmodel.hidden = 8\nruntime.rows = \"all\"");
  const int64_t all = job.trainer.model.program.bytes;
  fixture_close(&job);
  return all;
}

/* Without them logits and their gradient take 18 times as much as an output of a hidden layer. */
TEST(chunks_take_less_memory) {
  const struct fixture f = {.nodes = 331, .features = 5, .classes = 72};
  assert_true(3 * bytes_with(&f, 2048) < bytes_with(&f, whole));
}

/* Logits that sums over arcs leave, or that a metric of ranks wants to see at once, stay as they are. */
TEST(other_logits_come_at_once) {
  const struct fixture f = {.nodes = 97, .features = 5, .classes = 2};
  const char *const settings[] = {"model.type = \"gat\"\nmodel.heads = 2", "model.hidden = 16",
                                  "model.type = \"mlp\"\ntrain.metric = \"roc_auc\""};
  for (int i = 0; i < 3; i++) {
    chunk_bytes = 256;
    fixture_open(&job, &f, settings[i]);
    assert_int_equal(job.trainer.model.program.chunk.rows, 0);
    assert_int_equal(model_logits(&job.trainer.model).rows, job.shard.own);
    fixture_close(&job);
  }
}
