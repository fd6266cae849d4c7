/* Regions timed by a device, with a device made for the purpose: each stream has a clock that the tests move,
 * a stamp keeps its time, and the device "comes to" stamps only when told. */
#include "runtime/profile/profile.h"
#include "runtime/profile/profile_device.h"
#include "runtime/profile/profile_tree.h"
#include "tests/check.h"
#include "tests/runtime/profile/seconds.h"

enum { STREAMS_MADE = 2, ENOUGH = 20000 };

struct synthetic_stamp {
  double time;
  int64_t number; /* stamps are come to in the order in which they were queued */
};

static struct made {
  double clock[STREAMS_MADE];
  int64_t queued, reached; /* stamps numbered below `reached` are ready */
  int64_t held;            /* not given back yet */
  int closed, broken;
  char ranges[256]; /* what was pushed, "." for each pop */
} made;

static int stamp(void *context, int stream, void **of) {
  struct made *m = context;
  if (m->broken) return -1;
  struct synthetic_stamp *s = malloc(sizeof *s);
  assert_non_null(s);
  *s = (struct synthetic_stamp){m->clock[stream], m->queued++};
  m->held++;
  *of = s;
  return 0;
}

static int seconds_between(void *context, void *from, void *to, double *seconds, int *ready) {
  const struct made *m = context;
  const struct synthetic_stamp *a = from, *b = to;
  *ready = a->number < m->reached && b->number < m->reached;
  *seconds = b->time - a->time;
  return m->broken ? -1 : 0;
}

static void release(void *context, void *of) {
  ((struct made *)context)->held--;
  free(of);
}

static void close_made(void *context) {
  ((struct made *)context)->closed++;
}

static void push(const char *name) {
  strncat(made.ranges, name, sizeof made.ranges - strlen(made.ranges) - 1);
}

static void pop(void) {
  strncat(made.ranges, ".", sizeof made.ranges - strlen(made.ranges) - 1);
}

static const struct profile_device table = {&made, stamp, seconds_between, release, close_made, push, pop};

/* The device is attached and a recording under way; it comes to everything at once until told otherwise. */
BEFORE_EACH {
  made = (struct made){.reached = ENOUGH};
  profile_attach(&table);
  profile_enable();
}

AFTER_EACH {
  profile_detach(&made);
  profile_free();
  assert_int_equal(made.held, 0);
  assert_int_equal(made.closed, 1);
}

static void region(const char *name, double seconds) {
  profile_begin(name);
  made.clock[0] += seconds;
  profile_end();
}

TEST(a_region_lasts_as_long_as_the_device_says) {
  region("spmm", 7);
  region("spmm", 5);
  profile_begin_host("read");
  made.clock[0] += 100;
  profile_end();
  assert_close(profile_seconds("spmm"), 12, 1e-9);
  assert_true(profile_seconds("read") > 0 && profile_seconds("read") < 1);
}

TEST(stamps_are_read_when_the_device_has_come_to_them) {
  made.reached = made.queued;
  region("first", 1);
  int64_t after_first = made.queued;
  region("second", 2);
  profile_resolve();
  assert_true(profile_seconds("first") == 0 && profile_seconds("second") == 0);
  made.reached = after_first;
  assert_close(profile_seconds("first"), 1, 1e-9);
  assert_true(profile_seconds("second") == 0);
  made.reached = ENOUGH;
  assert_close(profile_seconds("second"), 2, 1e-9);
  assert_close(profile_seconds("first"), 1, 1e-9);
}

TEST(children_never_exceed_their_region) {
  struct profile_region *all;
  int64_t count;
  for (int epoch = 0; epoch < 100; epoch++) {
    profile_begin("epoch");
    for (int i = 0; i < epoch % 7; i++) region(i % 2 ? "spmm" : "gemm", .001 * (epoch + i));
    made.clock[0] += .01 * (epoch % 3);
    profile_end();
    if (epoch % 10 == 0) profile_resolve();
  }
  assert_ok(profile_tree(&all, &count));
  assert_int_equal(count, 4);
  assert_int_equal(all[1].calls, 100);
  assert_true(all[2].seconds > 0 && all[2].seconds + all[3].seconds <= all[1].seconds * (1 + 1e-12));
  free(all);
}

TEST(a_region_beside_is_timed_on_its_own_stream) {
  struct profile_region *all;
  int64_t count, events, exchange = -1;
  profile_begin("epoch");
  profile_begin_beside(1, "exchange", 1000);
  made.clock[1] += 3;
  profile_end_beside(1);
  profile_end_beside(1); /* it is not open any more */
  region("own part", 2);
  region("wait", 1);
  profile_end();
  assert_ok(profile_tree(&all, &count));
  for (int64_t i = 1; i < count; i++) {
    if (strcmp(all[i].name, "exchange") == 0) exchange = i;
    assert_int_equal(all[i].beside, strcmp(all[i].name, "exchange") == 0);
  }
  assert_true(exchange > 0);
  assert_int_equal(all[exchange].parent, 1);
  assert_int_equal(all[exchange].calls, 1);
  assert_close(all[exchange].seconds, 3, 1e-9);
  assert_close(all[exchange].bytes, 1000, 0);
  assert_close(all[1].seconds, 3, 1e-9);
  const struct profile_event *event = profile_events(&events);
  assert_int_equal(events, 4);
  for (int64_t i = 0; i < events; i++) assert_int_equal(event[i].track, event[i].region == exchange ? 2 : 1);
  free(all);
}

/* Gaps of the device's time line are kept, whenever its stamps are read. */
TEST(events_lie_on_the_clock_as_far_apart_as_on_the_device) {
  int64_t events;
  for (int i = 0; i < 50; i++) {
    region("work", .25);
    made.clock[0] += .5;
    if (i % 9 == 0) profile_resolve();
  }
  const struct profile_event *event = profile_events(&events);
  assert_int_equal(events, 50);
  for (int64_t i = 1; i < events; i++) assert_close(event[i].start - event[i - 1].start, .75, 1e-9);
  assert_close(event[0].start, profile_clock(), 5);
}

TEST(thousands_of_stamps_wait_and_then_go_back) {
  made.reached = made.queued;
  for (int i = 0; i < 3000; i++) region("work", 1);
  assert_true(made.held >= 6000);
  made.reached = ENOUGH;
  assert_close(profile_seconds("work"), 3000, 1e-6);
  assert_int_equal(made.held, 1); /* the anchor */
}

TEST(ranges_come_in_pairs_recording_or_not) {
  region("a", 1);
  profile_free();
  profile_begin("b");
  region("c", 1);
  profile_end();
  assert_string_equal(made.ranges, "a.bc..");
  assert_true(profile_seconds("b") == 0);
}

TEST(a_device_that_fails_ends_the_recording_and_keeps_the_error) {
  error_raise(FAILED, "file", 1, "function", "the cause");
  profile_begin("epoch");
  made.broken = 1;
  profile_end();
  assert_int_equal(profile_enabled(), 0);
  assert_string_equal(error_message(), "the cause");
  error_clear();
}

TEST(a_device_closed_inside_a_region_takes_its_time_along) {
  struct profile_region *all;
  int64_t count;
  profile_begin("open");
  region("done", 1);
  profile_detach(&made);
  profile_end();
  assert_ok(profile_tree(&all, &count));
  assert_int_equal(all[1].calls, 0);
  assert_int_equal(all[2].calls, 1);
  free(all);
}

TEST(work_adds_up) {
  struct profile_region *all;
  int64_t count;
  for (int i = 0; i < 3; i++) assert_int_equal(PROFILE_WORK("gemm", 10, 100, 42), 42);
  assert_ok(profile_tree(&all, &count));
  assert_close(all[1].bytes, 30, 0);
  assert_close(all[1].flops, 300, 0);
  free(all);
}
