/* A GPU that is not there: streams are clocks, events order them, memory is counted and holds nothing. */
#include "runtime/device/device_list.h"
#include "tests/check.h"

static struct device device;

BEFORE_EACH {
  assert_ok(device_simulate(&device, "NVIDIA H200", 1000, 1));
}

AFTER_EACH {
  device_close(&device);
}

static double ms_between(int from, int to) {
  double ms = -1;
  assert_ok(device_elapsed(&device, from, to, &ms));
  return ms;
}

TEST(streams_are_clocks_of_their_own) {
  assert_ok(device_mark(&device, 0, STREAM_COMPUTE));
  assert_ok(device_delay(&device, STREAM_COMPUTE, 2));
  assert_ok(device_delay(&device, STREAM_EXCHANGE, 5));
  assert_ok(device_mark(&device, 1, STREAM_COMPUTE));
  assert_ok(device_mark(&device, 2, STREAM_EXCHANGE));
  assert_float_equal(ms_between(0, 1), 2000, 1e-3);
  assert_float_equal(ms_between(0, 2), 5000, 1e-3);
}

TEST(a_stream_that_waits_goes_on_with_the_later_of_both) {
  assert_ok(device_delay(&device, STREAM_COMPUTE, 2));
  assert_ok(device_record(&device, EVENT_PACKED, STREAM_COMPUTE));
  assert_ok(device_mark(&device, 0, STREAM_COMPUTE));
  assert_ok(device_wait(&device, STREAM_EXCHANGE, EVENT_PACKED));
  assert_ok(device_delay(&device, STREAM_EXCHANGE, 3));
  assert_ok(device_record(&device, EVENT_RECEIVED, STREAM_EXCHANGE));
  assert_ok(device_delay(&device, STREAM_COMPUTE, 1)); /* beside the exchange */
  assert_ok(device_wait(&device, STREAM_COMPUTE, EVENT_RECEIVED));
  assert_ok(device_mark(&device, 1, STREAM_COMPUTE));
  assert_float_equal(ms_between(0, 1), 3000, 1e-3);
  assert_ok(device_delay(&device, STREAM_COMPUTE, 4));
  assert_ok(device_wait(&device, STREAM_COMPUTE, EVENT_RECEIVED)); /* long there */
  assert_ok(device_mark(&device, 2, STREAM_COMPUTE));
  assert_float_equal(ms_between(1, 2), 4000, 1e-3);
}

TEST(memory_is_counted_and_not_taken) {
  void *much = NULL, *more = NULL;
  assert_ok(device_alloc(&device, (int64_t)1 << 44, &much, "sixteen TiB"));
  assert_ok(device_alloc(&device, 24, &more, "a little"));
  assert_true(much && more && much != more);
  assert_true(device.ops->memory.used(&device) == ((int64_t)1 << 44) + 24);
  assert_true(device.ops->memory.left(&device) == 1000 - (((int64_t)1 << 44) + 24));
  device_release(&device, much);
  assert_true(device.ops->memory.used(&device) == 24);
  assert_true(device.ops->memory.peak(&device) == ((int64_t)1 << 44) + 24);
  device_release(&device, more);
}
