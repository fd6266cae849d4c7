/* The main of every test program: runs the tests of its file in the order in which they stand there. */
#include "tests/check.h"

struct test_program test_program;

/* Constructors of one file run in an order of the compiler's choice. */
void test_add(struct test *test) {
  struct test **place = &test_program.first;
  while (*place && (*place)->line <= test->line) place = &(*place)->next;
  test->next = *place;
  *place = test;
  test_program.count++;
}

static int before(void **state) {
  (void)state;
  if (test_program.before_each) test_program.before_each();
  return 0;
}

static int after(void **state) {
  (void)state;
  if (test_program.after_each) test_program.after_each();
  return 0;
}

static int run_all(void) {
  struct CMUnitTest *tests = calloc(test_program.count, sizeof *tests);
  if (!tests) return 1;
  size_t i = 0;
  for (struct test *t = test_program.first; t; t = t->next)
    tests[i++] = (struct CMUnitTest){t->name, t->run, before, after, NULL};
  int failures = _cmocka_run_group_tests("tests", tests, i, NULL, NULL);
  free(tests);
  return failures;
}

/* GNNTRAIN_TEST_ONLY=PATTERN: the tests whose names match, with * and ?; for tools that take long. */
int main(void) {
  if (getenv("GNNTRAIN_TEST_ONLY")) cmocka_set_test_filter(getenv("GNNTRAIN_TEST_ONLY"));
  if (test_program.count == 0) {
    fputs("there is no test in this program\n", stderr);
    return 1;
  }
  int code = test_program.before_all ? test_program.before_all() : 0;
  if (code && code != 77) error_print(stderr, "test");
  if (code) return code;
  int failures = run_all();
  if (test_program.after_all) test_program.after_all();
  return failures != 0; /* their number may be 77, which means skipped */
}
