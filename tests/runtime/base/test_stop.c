#include <sched.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "runtime/base/stop.h"
#include "tests/check.h"

static const int all[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1};

static void say_clean(void) {
  (void)!write(STDOUT_FILENO, "clean\n", 6);
}

/* A child and what it did: its wait status and its words on both streams. */
struct child {
  int status;
  char said[256];
};

static struct child run_child(void (*body)(const int *signals), const int *signals) {
  struct child child = {0};
  int ends[2];
  assert_int_equal(pipe(ends), 0);
  pid_t pid = fork();
  if (pid == 0) {
    alarm(300); /* a child that waits for a signal in vain */
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    body(signals);
    _exit(stop_requested());
  }
  close(ends[1]);
  for (size_t used = 0; used < sizeof child.said - 1;) {
    ssize_t size = read(ends[0], child.said + used, sizeof child.said - 1 - used);
    if (size <= 0) break;
    used += (size_t)size;
  }
  close(ends[0]);
  assert_int_equal(waitpid(pid, &child.status, 0), pid);
  return child;
}

/* Each is sent when the one before has been taken: signals that wait are taken in the order of their
 * numbers. */
static void send_all(const int *signals) {
  for (int i = 0; signals[i]; i++) {
    sigset_t waiting;
    kill(getpid(), signals[i]);
    do {
      sched_yield();
      sigpending(&waiting);
    } while (sigismember(&waiting, signals[i]));
    stop_remembers(); /* comes back once the thread has done with it */
  }
}

static void remembers(const int *signals) {
  if (stop_start(say_clean) != OK) _exit(99);
  stop_remembers();
  if (stop_requested()) _exit(98);
  send_all(signals);
}

/* The first one may have ended the sigwait and not yet have come to the lock: what it leaves behind tells. */
static void remembers_one(const int *signals) {
  remembers(signals);
  while (!stop_requested()) sched_yield();
}

TEST(each_signal_becomes_a_request) {
  for (int i = 0; i < 4; i++) {
    struct child child = run_child(remembers_one, (int[]){all[i], 0});
    assert_true(WIFEXITED(child.status));
    assert_int_equal(WEXITSTATUS(child.status), all[i]);
    assert_string_equal(child.said, "");
  }
}

static void first_of_several(const int *signals) {
  remembers_one((int[]){signals[0], 0});
  send_all(signals + 1);
}

TEST(the_first_signal_is_the_one_reported) {
  struct child child = run_child(first_of_several, (int[]){SIGUSR1, SIGTERM, SIGTERM, SIGINT, SIGHUP, 0});
  assert_true(WIFEXITED(child.status));
  assert_int_equal(WEXITSTATUS(child.status), SIGUSR1);
}

static void wait_for_the_end(const int *signals) {
  first_of_several(signals);
  for (;;) pause();
}

TEST(a_second_interrupt_ends_the_process) {
  struct child child = run_child(wait_for_the_end, (int[]){SIGINT, SIGINT, 0});
  assert_true(WIFSIGNALED(child.status));
  assert_int_equal(WTERMSIG(child.status), SIGINT);
  assert_string_equal(child.said, "");
}

static void leaves(const int *signals) {
  stop_leaves(75);
  kill(getpid(), signals[0]); /* before there is a thread: it waits */
  if (stop_start(say_clean) != OK) _exit(99);
  for (;;) pause();
}

TEST(before_there_is_anything_to_save_each_ends_the_process_with_its_code) {
  for (int i = 0; i < 4; i++) {
    struct child child = run_child(leaves, (int[]){all[i], 0});
    assert_true(WIFEXITED(child.status));
    assert_int_equal(WEXITSTATUS(child.status), 75);
    assert_string_equal(child.said, "stopped by a signal before there was anything to save\nclean\n");
  }
}

static void ends(const int *signals) {
  if (stop_start(say_clean) != OK) _exit(99);
  kill(getpid(), signals[0]);
  for (;;) pause();
}

TEST(by_default_each_cleans_and_ends_the_program_as_it_would) {
  for (int i = 0; i < 4; i++) {
    struct child child = run_child(ends, (int[]){all[i], 0});
    assert_true(WIFSIGNALED(child.status));
    assert_int_equal(WTERMSIG(child.status), all[i]);
    assert_string_equal(child.said, "clean\n");
  }
}

/* As under nohup: the one that is not ignored ends it. */
static void ends_without_hangup(const int *signals) {
  signal(SIGHUP, SIG_IGN);
  stop_block();
  kill(getpid(), SIGHUP);
  ends(signals);
}

TEST(a_hangup_that_was_ignored_stays_so) {
  struct child child = run_child(ends_without_hangup, (int[]){SIGUSR1, 0});
  assert_true(WIFSIGNALED(child.status));
  assert_int_equal(WTERMSIG(child.status), SIGUSR1);
}

static void be_called(int number) {
  (void)number;
  _exit(97);
}

/* As METIS does: a handler of a library's own is installed while the program runs. */
static void handler_of_a_library(const int *signals) {
  if (stop_start(say_clean) != OK) _exit(99);
  stop_remembers();
  signal(signals[0], be_called);
  send_all(signals);
  while (!stop_requested()) sched_yield();
}

TEST(handlers_of_libraries_are_never_called) {
  for (int i = 0; i < 4; i++) {
    struct child child = run_child(handler_of_a_library, (int[]){all[i], 0});
    assert_true(WIFEXITED(child.status));
    assert_int_equal(WEXITSTATUS(child.status), all[i]);
  }
}

/* Signals are taken before libraries start in a program; here they have started, and sleep. A shell in the
 * background and nohup ignore some for what they start, which would wait for them in vain. */
BEFORE_ALL {
  for (int i = 0; i < 4; i++) signal(all[i], SIG_DFL);
  stop_block();
  return OK;
}
