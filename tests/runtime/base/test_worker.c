#include "runtime/base/worker.h"

#include <omp.h>
#include <stdatomic.h>
#include <unistd.h>

#include "tests/check.h"

struct work {
  int code, threads;
  atomic_int go;
};

static int do_work(void *context) {
  struct work *work = context;
  work->threads = omp_get_max_threads();
  while (!work->go) usleep(1000);
  if (work->code != OK) FAIL(work->code, "work of code %d", work->code);
  return OK;
}

TEST(it_goes_on_beside_its_starter) {
  struct work work = {.code = OK};
  struct worker worker;
  omp_set_num_threads(3);
  assert_ok(worker_start(&worker, do_work, &work));
  assert_false(worker_wait(&worker, 0));
  assert_false(worker_wait(&worker, .02));
  work.go = 1;
  assert_ok(worker_finish(&worker));
  assert_true(worker_wait(&worker, 0));
  assert_int_equal(work.threads, 3);
}

TEST(its_error_becomes_that_of_its_starter_when_asked_for) {
  struct work work = {.code = BAD_INPUT, .go = 1};
  struct worker worker;
  error_clear();
  assert_ok(worker_start(&worker, do_work, &work));
  while (!worker_wait(&worker, 1)) continue;
  assert_string_equal(error_message(), "");
  assert_fails(worker_finish(&worker), BAD_INPUT, "work of code 2");
  assert_fails(worker_finish(&worker), BAD_INPUT, "work of code 2");
}

TEST(one_that_never_started_has_ended_well) {
  struct worker worker = {0};
  assert_true(worker_wait(&worker, 10));
  assert_ok(worker_finish(&worker));
}
