/* Models of which the signs of some outputs are kept in place of these (models/program/signs.c) train as
 * others do, to the last bit, and take less memory: on any number of ranks. GNNTRAIN_TEST_DEVICE=cuda: on
 * GPUs. */
#include "tests/models/fixture.h"

static struct job job;
static int saving;

static void save(struct job *of) {
  assert_ok(model_save(&of->trainer.model, &of->run, saving));
}

BEFORE_ALL {
  fixture_change = save;
  const int code = ranks_open(&job.comm);
  return code == OK ? ranks_need_device(&job.comm) : code;
}

AFTER_ALL {
  comm_close(&job.comm);
}

enum { EPOCHS = 3 };

struct trained {
  double loss[EPOCHS];
  int64_t bytes;
  int signs; /* values that are signs */
};

static struct trained train(const struct fixture *f, const char *settings, const char *precision, int signs) {
  struct trained of = {0};
  char text[1024];
  saving = signs;
  snprintf(text, sizeof text,
           "%s\nruntime.device = \"%s\"\nruntime.precision = \"%s\"\npartition.method = \"random\"\n"
           "train.optimizer = \"sgd\"\ntrain.lr = 0.2",
           settings, ranks_device(), precision);
  fixture_open(&job, f, text);
  const struct program *p = &job.trainer.model.program;
  for (int v = 0; v < p->values; v++) of.signs += p->value[v].dtype == BITS;
  of.bytes = p->bytes;
  for (int e = 0; e < EPOCHS; e++) assert_ok(epoch_train(&job.trainer.epoch, &job.run, e + 1, &of.loss[e]));
  fixture_close(&job);
  return of;
}

static void check(const struct fixture *f, const char *settings, const char *precision, int signs) {
  const struct trained kept = train(f, settings, precision, 1), all = train(f, settings, precision, 0);
  assert_int_equal(all.signs, 0);
  if (kept.signs < signs || (signs == 0 && kept.signs > 0))
    fail_msg("%s: signs of %d outputs, not of %d", settings, kept.signs, signs);
  assert_true(kept.loss[EPOCHS - 1] != kept.loss[0]);
  for (int e = 0; e < EPOCHS; e++)
    if (kept.loss[e] != all.loss[e])
      fail_msg("%s: loss %.17g, not %.17g", settings, kept.loss[e], all.loss[e]);
}

/* And how many outputs each leaves but for their signs: sums over arcs come before a product where that
 * makes wider rows, or where it saves rows, which may be more often; and always in gin. */
static const struct {
  const char *settings;
  int signs;
} models[] = {
    {"model.layers = 3\nmodel.hidden = 6\nmodel.dropout = 0.5", 1},
    {"model.layers = 3\nmodel.hidden = 13\nmodel.dropout = 0.5\nmodel.bias = false\nruntime.once = false", 1},
    {"model.layers = 2\nmodel.hidden = 6\nmodel.activation = \"elu\"", 0},
    {"model.layers = 2\nmodel.hidden = 6\nmodel.norm = \"layer\"", 0},
    {"model.type = \"gin\"\nmodel.layers = 3\nmodel.hidden = 9\nmodel.dropout = 0.3", 2},
    {"model.type = \"sage\"\nmodel.layers = 3\nmodel.hidden = 6", 0},
};

static void check_models(const struct fixture *f, const char *precision) {
  for (size_t m = 0; m < sizeof models / sizeof models[0]; m++)
    check(f, models[m].settings, precision, models[m].signs);
}

TEST(signs_serve_as_well_as_outputs) {
  const struct fixture f = {.nodes = 160, .features = 5, .classes = 19, .arcs = 4, .train = 60};
  check_models(&f, ranks_on_gpu() ? "fp32" : "fp64");
  if (ranks_on_gpu()) check_models(&f, "bf16");
}

TEST(signs_serve_as_well_where_few_rows_are_needed) {
  const struct fixture f = {
      .nodes = 160, .features = 5, .classes = 19, .arcs = 2, .train = 10, .directed = 1};
  check_models(&f, "fp32");
}

TEST(signs_take_less_memory) {
  const struct fixture f = {.nodes = 331, .features = 5, .classes = 72};
  static const char *const settings = "model.layers = 4\nmodel.type = \"gin\"\nmodel.hidden = 64";
  const struct trained kept = train(&f, settings, "fp32", 1), all = train(&f, settings, "fp32", 0);
  assert_true(1.2 * (double)kept.bytes < (double)all.bytes);
}
