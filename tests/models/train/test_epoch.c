/* Epochs as the device sees them: replayed ones are the queued ones bit for bit, rates come from the
 * schedule, nothing is allocated once they are steady, a gradient that is not finite stops everything; and
 * training does not depend on how far ahead of the host the device works. GNNTRAIN_TEST_DEVICE=cuda: on GPUs.
 */
#include "models/train/epoch.h"
#include "models/train/state/rundir.h"
#include "runtime/device/device_list.h"
#include "tests/models/fixture.h"

static struct job job;
static const struct fixture plain = {.nodes = 211, .features = 9, .classes = 4};

static void open_plain(const char *settings) {
  char text[1024];
  const char *device = getenv("GNNTRAIN_TEST_DEVICE");
  snprintf(text, sizeof text,
           "runtime.device = \"%s\"\nmodel = {hidden = 24, layers = 3, norm = \"batch\", dropout = 0.3, "
           "residual = true}\n%s",
           device ? device : "cpu", settings);
  fixture_open(&job, &plain, text);
}

static double *weights_now(void) {
  struct parameters *p = &job.trainer.model.parameters;
  double *w = calloc((size_t)p->numbers, sizeof *w);
  assert_ok(parameters_download(p, &job.run, w, p->w));
  return w;
}

static struct result epoch_of(int64_t epoch, int evaluates) {
  struct result result;
  assert_ok(epoch_queue(&job.trainer.epoch, &job.run, epoch));
  if (evaluates) assert_ok(epoch_queue_evaluation(&job.trainer.epoch, &job.run));
  assert_ok(epoch_queue_result(&job.trainer.epoch, &job.run));
  assert_ok(epoch_collect(&job.trainer.epoch, &job.run, epoch, &result));
  return result;
}

static int parameter_of(const char *name) {
  const struct parameters *p = &job.trainer.model.parameters;
  int i = 0;
  while (strcmp(p->list[i].name, name) != 0) i++;
  return i;
}

static int can_replay(void) {
  return device_can_capture(&job.device);
}

/* Twelve epochs, each third evaluated; from the eighth on the workspace lies elsewhere. */
static double *train_twelve(const char *settings, struct result *last, int64_t *count) {
  open_plain(settings);
  for (int64_t epoch = 1; epoch <= 12; epoch++) {
    void *workspace;
    if (epoch == 8)
      assert_ok(kernels_workspace(&job.kernels, 2 * job.kernels.workspace_bytes + 4096, &workspace));
    *last = epoch_of(epoch, epoch % 3 == 0);
  }
  int replays = can_replay() && job.config.runtime.graph;
  assert_int_equal(job.trainer.epoch.training.graph != NULL, replays);
  assert_int_equal(job.trainer.epoch.evaluation.graph != NULL, replays);
  double *w = weights_now();
  *count = job.trainer.model.parameters.numbers;
  fixture_close(&job);
  return w;
}

TEST(replayed_epochs_are_queued_ones_bit_for_bit) {
  struct result queued, replayed;
  int64_t count;
  double *one = train_twelve("runtime.graph = false", &queued, &count);
  double *other = train_twelve("", &replayed, &count);
  assert_true(count > 0);
  assert_memory_equal(one, other, (size_t)count * sizeof *one);
  assert_memory_equal(&queued.outcome, &replayed.outcome, sizeof queued.outcome);
  assert_true(isfinite(queued.outcome.loss) && queued.outcome.loss > 0);
  assert_true(queued.ms > 0 && replayed.ms > 0);
  free(one);
  free(other);
}

TEST(steady_epochs_allocate_nothing) {
  open_plain("");
  for (int64_t epoch = 1; epoch <= 4; epoch++) epoch_of(epoch, 1);
  int64_t allocations = job.device.allocations, moves = job.kernels.moves;
  for (int64_t epoch = 5; epoch <= 25; epoch++) epoch_of(epoch, 1);
  assert_int_equal(job.device.allocations, allocations);
  assert_int_equal(job.kernels.moves, moves);
  fixture_close(&job);
}

TEST(rates_come_from_the_schedule) {
  const int64_t starts[] = {0, RATES - 3, 2 * RATES - 1};
  open_plain("train.epochs = 3000\ntrain.schedule = \"cosine\"\ntrain.warmup = 1000");
  for (int i = 0; i < 3; i++) {
    job.trainer.state.epoch = starts[i];
    job.trainer.state.step = starts[i] + 5;
    assert_ok(epoch_begin(&job.trainer.epoch, &job.run, job.trainer.state.epoch, job.trainer.state.step));
    for (int64_t epoch = starts[i] + 1; epoch <= starts[i] + 6; epoch++) {
      struct result result = epoch_of(epoch, 0);
      assert_int_equal(result.scalars.epoch, epoch);
      assert_int_equal(result.scalars.step, epoch + 5);
      assert_true(result.scalars.lr == rates_lr(&job.config, epoch));
    }
  }
  fixture_close(&job);
}

/* Infinity in a weight of layer 1 after three good epochs. */
TEST(a_gradient_that_is_not_finite_freezes_the_training) {
  struct parameters *p = NULL;
  int layer = -1;
  open_plain("");
  p = &job.trainer.model.parameters;
  for (int64_t epoch = 1; epoch <= 3; epoch++) assert_false(epoch_of(epoch, 1).scalars.frozen);
  double *before = weights_now();
  before[p->list[parameter_of("layer1.weight")].first] = INFINITY;
  assert_ok(parameters_upload(p, &job.run, p->w, before));
  for (int64_t epoch = 4; epoch <= 6; epoch++) {
    struct result result = epoch_of(epoch, 0);
    assert_true(result.scalars.frozen);
    assert_int_equal(result.scalars.epoch, 4);
    assert_int_equal(result.scalars.step, 4);
    double *after = weights_now();
    assert_memory_equal(before, after, (size_t)p->numbers * sizeof *after);
    free(after);
  }
  assert_ok(model_find_nonfinite(&job.trainer.model, &job.run, 1, &layer));
  assert_int_equal(layer, 1);
  free(before);
  fixture_close(&job);
}

/* What a whole run leaves. */
struct ending {
  struct best best;
  int64_t epochs, count;
  double *w, *best_w;
};

static double *copy_of(const double *from, int64_t count) {
  double *copy = malloc((size_t)count * sizeof *copy);
  return memcpy(copy, from, (size_t)count * sizeof *copy);
}

/* With the device `ahead` epochs of the host. */
static struct ending run_ahead(int ahead, const char *settings) {
  struct trainer *trainer = &job.trainer;
  open_plain(settings);
  trainer->ahead = ahead;
  assert_ok(rundir_open(&job.run, 0));
  assert_ok(trainer_run(trainer, &job.run));
  const struct state *state = &trainer->state;
  assert_int_equal(trainer->epoch.queued, state->epoch);
  struct ending ending = {.best = state->best,
                          .epochs = state->epoch,
                          .count = state->count,
                          .w = copy_of(state->w, state->count),
                          .best_w = copy_of(state->best_w, state->count)};
  fixture_close(&job);
  return ending;
}

TEST(training_does_not_depend_on_how_far_the_device_is_ahead) {
  const char *const settings[] = {
      "train.patience = 4\ntrain.lr = 0.05",
      "train.patience = 7\ntrain.eval_every = 3\ntrain.lr = 0.05\ncheckpoint.every = 5",
      "train.epochs = 23\ntrain.eval_every = 4\ncheckpoint.every = 6",
      "train.epochs = 1",
  };
  for (int i = 0; i < 4; i++) {
    struct ending near = run_ahead(0, settings[i]), far = run_ahead(1, settings[i]);
    size_t bytes = (size_t)near.count * sizeof *near.w;
    assert_int_equal(near.epochs, far.epochs);
    assert_memory_equal(&near.best, &far.best, sizeof near.best);
    assert_true(near.best.epoch > 0 && bytes > 0);
    assert_memory_equal(near.w, far.w, bytes);
    assert_memory_equal(near.best_w, far.best_w, bytes);
    free(near.w), free(far.w), free(near.best_w), free(far.best_w);
  }
}

/* Waiting for the device cannot be recorded. */
static int work_that_waits(void *subject, struct run *run) {
  struct trainer *trainer = subject;
  TRY(rates_advance(&trainer->epoch.rates, run));
  return device_synchronize(run->device, STREAM_COMPUTE);
}

TEST(work_that_cannot_be_recorded_is_queued) {
  struct recording recording = {0};
  struct scalars scalars;
  open_plain("");
  for (int i = 1; i <= 4; i++) {
    assert_ok(recording_run(&recording, &job.trainer, &job.run, work_that_waits));
    assert_ok(device_download(&job.device, STREAM_COMPUTE, &scalars, job.kernels.scalars, sizeof scalars));
    assert_ok(device_synchronize(&job.device, STREAM_COMPUTE));
    assert_int_equal(scalars.epoch, i);
  }
  assert_null(recording.graph);
  assert_int_equal(recording.plain, can_replay());
  job.trainer.epoch.queued = 4;
  for (int64_t epoch = 5; epoch <= 8; epoch++) assert_int_equal(epoch_of(epoch, 1).scalars.epoch, epoch);
  assert_int_equal(job.trainer.epoch.training.graph != NULL, can_replay());
  fixture_close(&job);
}

BEFORE_ALL {
  TRY(ranks_open(&job.comm));
  return ranks_need_device(&job.comm);
}

AFTER_ALL {
  comm_close(&job.comm);
}
