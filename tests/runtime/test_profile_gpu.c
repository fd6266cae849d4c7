/* Stamps of a real GPU: skipped where there is none. */
#include "runtime/device_list.h"
#include "runtime/profile.h"
#include "tests/check.h"

static struct device device;
static void *memory;
enum { BYTES = 1 << 28 };

static int open_gpu(void **state) {
  (void)state;
  profile_enable();
  if (device_open(&device, "cuda", 0, 1, 1) != OK) {
    printf("%s\n", error_message());
    fflush(stdout);
    exit(77);
  }
  return device_alloc(&device, BYTES, &memory, "test");
}

static int close_gpu(void **state) {
  (void)state;
  device_release(&device, memory);
  device_close(&device);
  profile_free();
  return 0;
}

static int clear(enum stream stream, int times) {
  for (int i = 0; i < times; i++) TRY(device_clear(&device, stream, memory, BYTES));
  return OK;
}

/* 100 x 256 MiB take tens of ms on any GPU and far less to queue. */
static void a_region_lasts_as_long_as_the_work_not_as_its_queueing(void **state) {
  (void)state;
  assert_ok(clear(STREAM_COMPUTE, 1));
  assert_ok(device_synchronize(&device, STREAM_COMPUTE));
  double begun = profile_clock();
  assert_ok(PROFILE("clear", clear(STREAM_COMPUTE, 100)));
  double queued = profile_clock() - begun;
  assert_ok(device_synchronize(&device, STREAM_COMPUTE));
  double whole = profile_clock() - begun, measured = profile_seconds("clear");
  assert_true(measured > queued && measured <= whole * 1.01);
  assert_true(measured > .8 * whole);
}

static void streams_are_timed_apart(void **state) {
  (void)state;
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

static void an_empty_region_takes_next_to_nothing(void **state) {
  (void)state;
  for (int i = 0; i < 1000; i++) {
    profile_begin("empty");
    profile_end();
  }
  assert_ok(device_synchronize(&device, STREAM_COMPUTE));
  assert_true(profile_seconds("empty") > 0 && profile_seconds("empty") < 1000 * 50e-6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_region_lasts_as_long_as_the_work_not_as_its_queueing),
      cmocka_unit_test(streams_are_timed_apart),
      cmocka_unit_test(an_empty_region_takes_next_to_nothing),
  };
  return cmocka_run_group_tests(tests, open_gpu, close_gpu);
}
