/* What a pass does beside its gradient: dropout in training only, drawn anew each epoch, the same on any
 * number of ranks; which evaluation counts as the best; and how numbers reach the device. */
#include "models/train/epoch.h"
#include "tests/models/fixture.h"
#include "tests/ranks.h"

static struct job job;
RANK_TESTS(job.comm);
static const struct fixture plain = {.nodes = 211, .features = 9, .classes = 4};

/* Zeros in the hidden layer's output on all ranks after a pass, and the sum of its elements. */
static void pass(uint32_t epoch, int training, int64_t *zeros, double *sum) {
  struct run *run = &job.run;
  struct scalars scalars = {.epoch = epoch, .step = 1, .lr = .01};
  memcpy(run->kernels->scalars, &scalars, sizeof scalars);
  assert_ok(model_forward(&job.trainer.model, run, training, NULL, NULL));
  struct tensor hidden = model_embedding(&job.trainer.model);
  double *value = calloc((size_t)(hidden.rows * hidden.cols + 1), sizeof *value);
  assert_ok(run_download(run, value, hidden));
  *zeros = 0;
  *sum = 0;
  for (int64_t i = 0; i < hidden.rows * hidden.cols; i++) {
    *zeros += value[i] == 0;
    *sum += value[i];
  }
  free(value);
  assert_ok(comm_sum_int64(run->comm, zeros));
  assert_ok(comm_reduce(run->comm, sum, 1, NUMBER_DOUBLE, REDUCE_SUM));
}

static void open_plain(const char *settings) {
  char text[512];
  snprintf(text, sizeof text,
           "runtime.precision = \"fp64\"\nmodel.hidden = 16\nmodel.activation = \"elu\"\n%s", settings);
  fixture_open(&job, &plain, text);
}

TEST(hidden_dropout_acts_in_training_only) {
  int64_t evaluated, trained, elements = plain.nodes * 16;
  double kept, dropped;
  open_plain("model.dropout = 0.4");
  pass(1, 0, &evaluated, &kept);
  pass(1, 1, &trained, &dropped);
  assert_int_equal(evaluated, 0);
  assert_true(fabs((double)trained / (double)elements - .4) < .05);
  fixture_close(&job);
}

TEST(dropout_is_drawn_anew_each_epoch_and_repeats) {
  int64_t zeros;
  double first, second, again;
  open_plain("model.dropout = 0.4");
  pass(1, 1, &zeros, &first);
  pass(2, 1, &zeros, &second);
  pass(1, 1, &zeros, &again);
  assert_true(fabs(first - second) > 1e-6);
  assert_true(first == again);
  fixture_close(&job);
}

TEST(input_dropout_changes_the_first_aggregate) {
  int64_t zeros;
  double evaluated, first, second;
  open_plain("model.dropout = 0.0\nmodel.dropout_input = 0.5");
  pass(1, 0, &zeros, &evaluated);
  pass(1, 1, &zeros, &first);
  pass(2, 1, &zeros, &second);
  assert_true(fabs(first - evaluated) > 1e-6 && fabs(first - second) > 1e-6);
  fixture_close(&job);
}

TEST(an_epoch_lowers_the_loss_and_counts_its_step) {
  double first = 0, last = 0;
  open_plain("model.dropout = 0.0\ntrain.lr = 0.05");
  for (int64_t epoch = 1; epoch <= 30; epoch++) {
    double loss = 0;
    assert_ok(epoch_train(&job.trainer.epoch, &job.run, epoch, &loss));
    assert_ok(comm_reduce(&job.comm, &loss, 1, NUMBER_DOUBLE, REDUCE_SUM));
    if (epoch == 1) first = loss;
    last = loss;
  }
  assert_close(first, log(4), .3);
  assert_true(last < .9 * first);
  assert_int_equal(job.kernels.scalars->step, 30);
  fixture_close(&job);
}

/* The gradient of one step, summed over ranks, in doubles; the caller frees it. */
static double *gradient_in(const char *precision, int64_t *count) {
  struct run *run = &job.run;
  struct parameters *p = &job.trainer.model.parameters;
  char text[512];
  double loss;
  snprintf(text, sizeof text,
           "runtime.precision = \"%s\"\nmodel = {hidden = 16, layers = 3, norm = \"layer\", activation = "
           "\"elu\"}\n",
           precision);
  fixture_open(&job, &plain, text);
  assert_ok(epoch_train(&job.trainer.epoch, run, 1, &loss));
  *count = p->numbers;
  double *gradient = calloc((size_t)p->numbers, sizeof *gradient);
  assert_ok(parameters_download(p, run, gradient, p->dw));
  fixture_close(&job);
  return gradient;
}

/* The double gradient is checked by differences and is the same on any number of ranks, so this is the
 * agreement of one step in fp32 between ranks, too. */
TEST(gradient_in_fp32_is_that_in_fp64_to_1e_5_of_its_largest) {
  int64_t count, same;
  double *exact = gradient_in("fp64", &count), *narrow = gradient_in("fp32", &same), largest = 0, worst = 0;
  assert_int_equal(count, same);
  for (int64_t i = 0; i < count; i++) {
    largest = fmax(largest, fabs(exact[i]));
    worst = fmax(worst, fabs(exact[i] - narrow[i]));
  }
  assert_true(largest > 1e-3 && worst > 0);
  assert_true(worst <= 1e-5 * largest);
  free(exact);
  free(narrow);
}

static double loss_of_an_epoch(const char *settings) {
  static const struct fixture wide = {.nodes = 97, .features = 150, .classes = 4};
  double loss = 0;
  char text[256];
  snprintf(text, sizeof text, "model.dropout = 0.0\nmodel.hidden = 24\n%s", settings);
  fixture_open(&job, &wide, text);
  assert_ok(epoch_train(&job.trainer.epoch, &job.run, 1, &loss));
  assert_ok(epoch_train(&job.trainer.epoch, &job.run, 2, &loss));
  assert_ok(comm_reduce(&job.comm, &loss, 1, NUMBER_DOUBLE, REDUCE_SUM));
  fixture_close(&job);
  return loss;
}

/* 150 columns pass in panels of 64; in fp32 they are borrowed, in fp64 copied. */
TEST(the_input_aggregated_once_in_panels_trains_like_the_input_itself) {
  double once = loss_of_an_epoch("runtime.precision = \"fp64\""), narrow = loss_of_an_epoch("");
  double always = loss_of_an_epoch("runtime.precision = \"fp64\"\nruntime.once = false");
  assert_close(once, always, 1e-12);
  assert_close(narrow, always, 1e-5);
}

TEST(the_first_gradient_that_is_not_finite_is_named) {
  int found = 99;
  open_plain("model.layers = 3");
  struct parameters *p = &job.trainer.model.parameters;
  assert_ok(model_find_nonfinite_gradient(&job.trainer.model, &job.run, &found));
  assert_int_equal(found, -1);
  for (int i = 0; i < 3; i++) { /* the backward pass goes from the last parameter to the first */
    ((double *)p->dw)[p->list[i].offset + 3] = i == 1 ? NAN : INFINITY;
    assert_ok(model_find_nonfinite_gradient(&job.trainer.model, &job.run, &found));
    assert_int_equal(found, i);
  }
  fixture_close(&job);
}

/* An evaluation of the weights as they are, with that result. */
static void offer(int64_t epoch, double val, double loss) {
  struct trainer *trainer = &job.trainer;
  trainer->state.epoch = epoch;
  assert_ok(snapshot_take(&trainer->snapshots, &trainer->model, &job.run, epoch));
  if (state_offer(&trainer->state, val, loss, .5)) snapshot_keep(&trainer->snapshots, epoch);
}

TEST(best_is_highest_metric_then_lower_loss_then_earliest) {
  const struct best *best = &job.trainer.state.best;
  open_plain("");
  offer(1, .6, 1.0);
  offer(2, .5, 0.1);
  assert_int_equal(best->epoch, 1);
  offer(3, .6, 0.9);
  assert_int_equal(best->epoch, 3);
  offer(4, .6, 0.9);
  assert_int_equal(best->epoch, 3);
  offer(5, .7, 2.0);
  assert_int_equal(best->epoch, 5);
  fixture_close(&job);
}

/* Weights and statistics of each epoch hold its number. */
static void set_weights(double value) {
  struct model *model = &job.trainer.model;
  for (int64_t i = 0; i < model->parameters.count; i++) ((double *)model->parameters.w)[i] = value;
  const struct norm_state *norm = &model->program.norm[0];
  for (int64_t i = 0; i < norm->statistics; i++) ((double *)norm->running)[i] = -value;
}

TEST(best_keeps_the_parameters_of_its_epoch) {
  struct state *kept = &job.trainer.state;
  struct snapshots *snapshots = &job.trainer.snapshots;
  const double val[] = {.6, .5, .7, .4, .4, .4, .8, .3};
  const int best[] = {1, 1, 3, 3, 3, 3, 7, 7};
  open_plain("model.norm = \"batch\"");
  for (int epoch = 1; epoch <= 8; epoch++) {
    set_weights(epoch);
    offer(epoch, val[epoch - 1], 1);
    set_weights(99);
    if (epoch % 2 == 0) assert_ok(state_capture_best(kept, snapshots, &job.trainer.model, &job.run));
    if (epoch % 2) continue;
    assert_true(kept->best_w[0] == best[epoch - 1] && kept->best_w[kept->count - 1] == best[epoch - 1]);
    assert_true(kept->best_statistics[kept->statistics_count - 1] == -best[epoch - 1]);
  }
  assert_ok(state_capture(kept, &job.trainer.model, &job.run));
  assert_true(kept->w[0] == 99 && kept->statistics[0] == -99);
  assert_ok(snapshot_restore(snapshots, &job.trainer.model, &job.run, 8));
  assert_true(((double *)job.trainer.model.parameters.w)[0] == 8);
  fixture_close(&job);
}

/* Rows of 5 numbers arrive as they are, those of floats from 7 apart, and the gaps behind them are zeros. */
static void check_arrived(struct tensor t) {
  const unsigned char *bytes = t.data;
  int64_t size = dtype_bytes(t.dtype);
  double *value = calloc((size_t)(t.rows * t.cols), sizeof *value);
  assert_ok(run_download(&job.run, value, t));
  for (int64_t i = 0; i < t.rows * t.cols; i++)
    assert_true(value[i] == (double)(i / t.cols * 7 + i % t.cols));
  for (int64_t i = 0; i < t.rows * t.stride * size; i++)
    assert_true(i / size % t.stride < t.cols || bytes[i] == 0);
  free(value);
}

TEST(uploaded_rows_have_zeros_behind_them) {
  enum { ROWS = 31, COLS = 5, APART = 7 };
  static const enum dtype types[] = {F64, F32, BF16};
  float narrow[ROWS * APART];
  double wide[ROWS * COLS];
  for (int i = 0; i < ROWS * APART; i++) narrow[i] = (float)i;
  for (int i = 0; i < ROWS * COLS; i++) wide[i] = i / COLS * APART + i % COLS;
  open_plain("");
  for (int i = 0; i < 3; i++) {
    struct tensor t = tensor_padded(NULL, types[i], ROWS, COLS);
    t.data = malloc((size_t)tensor_bytes(t));
    for (int floats = 0; floats < 2; floats++) {
      memset(t.data, 0xFF, (size_t)tensor_bytes(t));
      assert_ok(floats ? run_upload_floats(&job.run, t, (struct floats){narrow, APART, NULL})
                       : run_upload(&job.run, t, wide));
      check_arrived(t);
    }
    free(t.data);
  }
  fixture_close(&job);
}
