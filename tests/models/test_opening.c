/* What a thread opens while others read. On a machine with a GPU the device is that, else the host;
 * GNNTRAIN_TEST_DEVICE=cuda: skipped without a GPU for each rank. */
#include <stdlib.h>

#include "models/opening.h"
#include "runtime/device_list.h"
#include "tests/check.h"

static struct comm comm;
static struct config config;
static struct opening opening;
static struct device device;
static struct kernels kernels;

static int start(const char *name, enum precision precision) {
  error_clear();
  config.runtime.precision = precision;
  snprintf(config.runtime.device, sizeof config.runtime.device, "%s", name);
  return opening_start(&opening, &comm, &config, 2, &device, &kernels);
}

static void end(void) {
  opening_stop(&opening);
  kernels_close(&kernels);
  device_close(&device);
  error_clear();
}

static int is_there(const char *name) {
  for (int i = 0; device_list[i]; i++)
    if (strcmp(device_list[i]->name, name) == 0) return device_list[i]->available() >= comm.local_size;
  return 0;
}

static void the_host_needs_no_thread(void **state) {
  (void)state;
  assert_ok(start("cpu", PRECISION_FP32));
  assert_null(opening.aside.call);
  assert_string_equal(device.ops->name, "cpu");
  assert_ok(opening_finish(&opening));
  assert_int_equal(device.threads, 2);
  end();
}

static void the_best_device_there_is_is_opened(void **state) {
  (void)state;
  assert_ok(start("auto", PRECISION_FP32));
  assert_string_equal(device.ops->name, is_there("cuda") ? "cuda" : "cpu");
  assert_ptr_equal(comm.device, &device);
  assert_ok(opening_finish(&opening));
  void *block = NULL;
  assert_ok(device_alloc(&device, 64, &block, "a block"));
  device_release(&device, block);
  assert_ok(comm_barrier(&comm));
  end();
}

static void a_stop_at_any_time_ends_the_thread_and_keeps_the_error(void **state) {
  (void)state;
  for (int steps = 0; steps <= 2; steps++) { /* at once; while the ranks connect; while they first speak */
    assert_ok(start("auto", PRECISION_FP32));
    while (!aside_wait(&opening.aside, .01) && opening.steps < steps) continue;
    error_raise(BAD_INPUT, "file", 1, "function", "row %d is not sorted", 7);
    opening_stop(&opening);
    assert_false(opening.aside.running);
    assert_string_equal(error_message(), "row 7 is not sorted");
    opening_stop(&opening);
    end();
  }
}

static void a_precision_that_the_device_lacks_is_refused(void **state) {
  (void)state;
  enum precision lacking = is_there("cuda") ? PRECISION_FP64 : PRECISION_BF16;
  assert_int_equal(start("auto", lacking), BAD_INPUT);
  if (comm.rank == 0) assert_non_null(strstr(error_message(), "is not there on device"));
  end();
}

static void a_device_that_is_not_there_is_refused(void **state) {
  (void)state;
  assert_int_equal(start("abacus", PRECISION_FP32), BAD_INPUT);
  if (comm.rank == 0) assert_non_null(strstr(error_message(), "\"abacus\" is not in this build"));
  end();
  if (is_there("cuda")) return;
  assert_int_equal(start("cuda", PRECISION_FP32), BAD_INPUT);
  if (comm.rank == 0) assert_non_null(strstr(error_message(), "\"cuda\""));
  end();
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_host_needs_no_thread),
      cmocka_unit_test(the_best_device_there_is_is_opened),
      cmocka_unit_test(a_stop_at_any_time_ends_the_thread_and_keeps_the_error),
      cmocka_unit_test(a_precision_that_the_device_lacks_is_refused),
      cmocka_unit_test(a_device_that_is_not_there_is_refused),
  };
  if (comm_open(&comm, &argc, &argv) != OK) return FAILED;
  comm.timeout = 60;
  if (getenv("GNNTRAIN_TEST_DEVICE") && !is_there(getenv("GNNTRAIN_TEST_DEVICE"))) {
    comm_close(&comm);
    return 77;
  }
  int failures = cmocka_run_group_tests(tests, NULL, NULL);
  comm_close(&comm);
  return failures;
}
