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
  struct aside aside;
  omp_set_num_threads(3);
  assert_ok(aside_start(&aside, do_work, &work));
  assert_false(aside_wait(&aside, 0));
  assert_false(aside_wait(&aside, .02));
  work.go = 1;
  assert_ok(aside_finish(&aside));
  assert_true(aside_wait(&aside, 0));
  assert_int_equal(work.threads, 3);
}

TEST(its_error_becomes_that_of_its_starter_when_asked_for) {
  struct work work = {.code = BAD_INPUT, .go = 1};
  struct aside aside;
  error_clear();
  assert_ok(aside_start(&aside, do_work, &work));
  while (!aside_wait(&aside, 1)) continue;
  assert_string_equal(error_message(), "");
  assert_fails(aside_finish(&aside), BAD_INPUT, "work of code 2");
  assert_fails(aside_finish(&aside), BAD_INPUT, "work of code 2");
}

TEST(one_that_never_started_has_ended_well) {
  struct aside aside = {0};
  assert_true(aside_wait(&aside, 10));
  assert_ok(aside_finish(&aside));
}
