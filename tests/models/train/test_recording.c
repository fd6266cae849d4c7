/* When work is queued, recorded and replayed, on a device that only counts. */
#include "models/train/recording.h"

#include "runtime/base/log.h"
#include "runtime/profile/profile.h"
#include "tests/check.h"

static struct {
  int capturing, fails;           /* fails: captures end in an error */
  int queued, recorded, replayed; /* how often the work was */
  int graphs;                     /* that were not freed */
} count;

static int begin(struct device *device, enum stream stream) {
  (void)device;
  assert_int_equal(stream, STREAM_COMPUTE);
  assert_false(count.capturing);
  count.capturing = 1;
  return OK;
}

static int end(struct device *device, enum stream stream, struct device_graph **graph) {
  (void)device, (void)stream;
  assert_true(count.capturing);
  count.capturing = 0;
  *graph = NULL;
  if (count.fails) FAIL(FAILED, "nothing can be recorded");
  count.graphs++;
  *graph = (struct device_graph *)(void *)&count;
  return OK;
}

static int replay(struct device *device, enum stream stream, struct device_graph *graph) {
  (void)device, (void)stream;
  assert_ptr_equal(graph, &count);
  count.replayed++;
  return OK;
}

static void release(struct device *device, struct device_graph *graph) {
  (void)device;
  assert_ptr_equal(graph, &count);
  count.graphs--;
}

static const struct device_ops counting = {
    .stream = {.capture_begin = begin, .capture_end = end, .replay = replay, .graph_free = release}};
static const struct device_ops simple = {.on_host = 1};

static struct config config;
static struct comm comm = {.size = 1};
static struct device device;
static struct kernels kernels;
static struct run run = {.config = &config, .comm = &comm, .device = &device, .kernels = &kernels};

static int work(void *subject, struct run *of) {
  assert_ptr_equal(subject, &count);
  assert_ptr_equal(of, &run);
  ++*(count.capturing ? &count.recorded : &count.queued);
  comm.sent += 100;
  return OK;
}

BEFORE_EACH {
  memset(&count, 0, sizeof count);
  config.runtime.graph = 1;
  device.ops = &counting;
  kernels.moves = 3;
}

static void run_times(struct recording *recording, int times) {
  for (int i = 0; i < times; i++) assert_ok(recording_run(recording, &count, &run, work));
}

static void expect(int queued, int recorded, int replayed) {
  assert_int_equal(count.queued, queued);
  assert_int_equal(count.recorded, recorded);
  assert_int_equal(count.replayed, replayed);
}

TEST(the_first_is_queued_the_second_recorded_all_others_replayed) {
  struct recording recording = {0};
  run_times(&recording, 1);
  expect(1, 0, 0);
  run_times(&recording, 5);
  expect(1, 1, 5);
  recording_forget(&recording, &run);
  assert_int_equal(count.graphs, 0);
  run_times(&recording, 2);
  expect(2, 2, 6);
  recording_forget(&recording, &run);
}

TEST(a_workspace_that_moved_is_recorded_anew) {
  struct recording recording = {0};
  run_times(&recording, 3);
  kernels.moves++;
  run_times(&recording, 3);
  expect(1, 2, 5);
  assert_int_equal(count.graphs, 1);
  recording_forget(&recording, &run);
}

TEST(a_replay_sends_what_was_recorded) {
  struct recording recording = {0};
  comm.sent = 7;
  for (int times = 1; times <= 4; times++) {
    run_times(&recording, 1);
    assert_int_equal(recording.sent, 100);
  }
  expect(1, 1, 3);
  assert_int_equal(comm.sent, 207);
  recording_forget(&recording, &run);
}

TEST(what_cannot_be_recorded_is_queued_from_then_on) {
  struct recording recording = {0};
  count.fails = 1;
  run_times(&recording, 4);
  expect(3 + 1, 1, 0);
  recording_forget(&recording, &run);
  run_times(&recording, 4);
  expect(8, 1, 0);
  assert_string_equal(error_message(), "");
}

TEST(a_setting_and_a_device_can_rule_it_out) {
  struct recording one = {0}, other = {0};
  config.runtime.graph = 0;
  run_times(&one, 4);
  config.runtime.graph = 1;
  device.ops = &simple;
  run_times(&other, 4);
  expect(8, 0, 0);
}

TEST(a_profile_sees_each_piece_of_work) {
  struct recording recording = {0};
  run_times(&recording, 4);
  expect(1, 1, 3);
  profile_enable();
  run_times(&recording, 2);
  expect(3, 1, 3);
  profile_free();
  run_times(&recording, 2);
  expect(3, 1, 5);
  recording_forget(&recording, &run);
  assert_int_equal(count.graphs, 0);
}

BEFORE_ALL {
  log_open(1);
  return OK;
}
