#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/stop.h"
#include "tests/check.h"

/* The wait status of a child that installs the handlers, gets the signals up to 0 and exits with what
 * stop_requested says. */
static int child(const int *signals) {
  pid_t pid = fork();
  if (pid == 0) {
    stop_install();
    if (stop_requested()) _exit(99);
    for (int i = 0; signals[i]; i++) raise(signals[i]);
    _exit(stop_requested());
  }
  int status = 0;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return status;
}

static void each_signal_becomes_a_request(void **state) {
  (void)state;
  static const int signals[] = {SIGTERM, SIGINT, SIGUSR1};
  for (int i = 0; i < 3; i++) {
    int status = child((int[]){signals[i], 0});
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), signals[i]);
  }
}

static void the_first_signal_is_the_one_reported(void **state) {
  (void)state;
  int status = child((int[]){SIGUSR1, SIGTERM, SIGTERM, SIGINT, SIGUSR1, 0});
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), SIGUSR1);
}

static void a_second_interrupt_ends_the_process(void **state) {
  (void)state;
  int status = child((int[]){SIGINT, SIGINT, 0});
  assert_true(WIFSIGNALED(status));
  assert_int_equal(WTERMSIG(status), SIGINT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_signal_becomes_a_request),
      cmocka_unit_test(the_first_signal_is_the_one_reported),
      cmocka_unit_test(a_second_interrupt_ends_the_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
