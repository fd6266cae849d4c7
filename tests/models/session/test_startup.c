/* What a thread opens while others read. On a machine with a GPU the device is that, else the host;
 * GNNTRAIN_TEST_DEVICE=cuda: skipped without a GPU for each rank. */
#include <stdlib.h>

#include "models/session/startup.h"
#include "runtime/device/device_list.h"
#include "tests/ranks.h"

static struct comm comm;
static struct config config;
static struct startup startup;
static struct device device;
static struct kernels kernels;

static int start(const char *name, enum precision precision) {
  error_clear();
  config.runtime.precision = precision;
  snprintf(config.runtime.device, sizeof config.runtime.device, "%s", name);
  return startup_begin(&startup, &comm, &config, 2, &device, &kernels);
}

static void end(void) {
  startup_stop(&startup);
  kernels_close(&kernels);
  device_close(&device);
  error_clear();
}

TEST(the_host_needs_no_thread) {
  assert_ok(start("cpu", PRECISION_FP32));
  assert_null(startup.worker.call);
  assert_string_equal(device.ops->name, "cpu");
  assert_ok(startup_finish(&startup));
  assert_int_equal(device.threads, 2);
  end();
}

TEST(the_best_device_there_is_is_opened) {
  assert_ok(start("auto", PRECISION_FP32));
  assert_string_equal(device.ops->name, ranks_have("cuda", comm.local_size) ? "cuda" : "cpu");
  assert_ptr_equal(comm.device, &device);
  assert_ok(startup_finish(&startup));
  void *block = NULL;
  assert_ok(device_alloc(&device, 64, &block, "a block"));
  device_release(&device, block);
  assert_ok(comm_barrier(&comm));
  end();
}

TEST(a_stop_at_any_time_ends_the_thread_and_keeps_the_error) {
  for (int steps = 0; steps <= 2; steps++) { /* at once; while the ranks connect; while they first speak */
    assert_ok(start("auto", PRECISION_FP32));
    while (!worker_wait(&startup.worker, .01) && startup.steps < steps) continue;
    error_raise(BAD_INPUT, "file", 1, "function", "row %d is not sorted", 7);
    startup_stop(&startup);
    assert_false(startup.worker.running);
    assert_string_equal(error_message(), "row 7 is not sorted");
    startup_stop(&startup);
    end();
  }
}

TEST(a_precision_that_the_device_lacks_is_refused) {
  enum precision lacking = ranks_have("cuda", comm.local_size) ? PRECISION_FP64 : PRECISION_BF16;
  assert_int_equal(start("auto", lacking), BAD_INPUT);
  if (comm.rank == 0) assert_non_null(strstr(error_message(), "is not there on device"));
  end();
}

TEST(a_device_that_is_not_there_is_refused) {
  assert_int_equal(start("abacus", PRECISION_FP32), BAD_INPUT);
  if (comm.rank == 0) assert_non_null(strstr(error_message(), "\"abacus\" is not in this build"));
  end();
  if (ranks_have("cuda", comm.local_size)) return;
  assert_int_equal(start("cuda", PRECISION_FP32), BAD_INPUT);
  if (comm.rank == 0) assert_non_null(strstr(error_message(), "\"cuda\""));
  end();
}

BEFORE_ALL {
  TRY(ranks_open(&comm));
  return ranks_need_device(&comm);
}

AFTER_ALL {
  comm_close(&comm);
}
