/* Stamps of a real GPU: skipped where there is none. */
#include "runtime/device/device_list.h"
#include "runtime/profile/profile.h"
#include "tests/check.h"
#include "tests/runtime/profile/seconds.h"

static struct device device;
static void *memory;
enum { BYTES = 1 << 28 };

BEFORE_ALL {
  profile_enable();
  if (device_open(&device, "cuda", 0, 1, 1) != OK) {
    printf("%s\n", error_message());
    return 77;
  }
  return device_alloc(&device, BYTES, &memory, "test");
}

AFTER_ALL {
  device_release(&device, memory);
  device_close(&device);
  profile_free();
}

static int clear(enum stream stream, int times) {
  for (int i = 0; i < times; i++) TRY(device_clear(&device, stream, memory, BYTES));
  return OK;
}

/* 100 x 256 MiB take tens of ms on any GPU and far less to queue. On a busy machine the host may be late:
 * then once more. */
TEST(a_region_lasts_as_long_as_the_work_not_as_its_queueing) {
  enum { TRIES = 20 };
  double measured = 0, whole = 1;
  assert_ok(clear(STREAM_COMPUTE, 1));
  for (int i = 0; i < TRIES && measured <= .8 * whole; i++) {
    assert_ok(device_synchronize(&device, STREAM_COMPUTE));
    double before = profile_seconds("clear"), begun = profile_clock();
    assert_ok(PROFILE("clear", clear(STREAM_COMPUTE, 100)));
    double queued = profile_clock() - begun;
    assert_ok(device_synchronize(&device, STREAM_COMPUTE));
    whole = profile_clock() - begun;
    measured = profile_seconds("clear") - before;
    assert_true(measured <= whole * 1.01);
    if (measured <= queued) measured = 0;
  }
  assert_true(measured > .8 * whole);
}

TEST(streams_are_timed_apart) {
  profile_begin("outer");
  profile_begin_beside(STREAM_EXCHANGE, "beside", 0);
  assert_ok(clear(STREAM_EXCHANGE, 40));
  profile_end_beside(STREAM_EXCHANGE);
  assert_ok(device_record(&device, EVENT_RECEIVED, STREAM_EXCHANGE));
  profile_begin("wait");
  assert_ok(device_wait(&device, STREAM_COMPUTE, EVENT_RECEIVED));
  profile_end();
  profile_end();
  assert_ok(device_synchronize(&device, STREAM_COMPUTE));
  double beside = profile_seconds("beside"), wait = profile_seconds("wait");
  assert_true(beside > 0 && wait > .5 * beside && wait < 1.5 * beside);
  assert_true(profile_seconds("outer") >= wait);
}

TEST(an_empty_region_takes_next_to_nothing) {
  for (int i = 0; i < 1000; i++) {
    profile_begin("empty");
    profile_end();
  }
  assert_ok(device_synchronize(&device, STREAM_COMPUTE));
  assert_true(profile_seconds("empty") > 0 && profile_seconds("empty") < 1000 * 50e-6);
}
