/* What the tests share: cmocka with its headers, and assertions that say what they compared. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "runtime/base/error.h"

#ifndef assert_int_in_range /* cmocka before release 2 */
#define assert_int_in_range assert_in_range
#endif

struct test {
  const char *name;
  CMUnitTestFunction run;
  int line;
  struct test *next;
};

/* What a test program consists of. before_all: OK, or the exit code of a program that then runs no test; 77:
 * skipped. */
struct test_program {
  struct test *first;
  size_t count;
  int (*before_all)(void);
  void (*after_all)(void), (*before_each)(void), (*after_each)(void);
};
extern struct test_program test_program;

void test_add(struct test *test);

/* TEST(halo_gradients_return_to_their_owner) { ... }: a test of this program; tests/check.c runs it. */
#define TEST(name)           \
  static void name(void **); \
  REGISTER_TEST(name)        \
  static void name(void **state __attribute__((unused)))

#define REGISTER_TEST(name)                                        \
  static void __attribute__((constructor)) register_##name(void) { \
    static struct test entry = {#name, name, __LINE__, NULL};      \
    test_add(&entry);                                              \
  }

/* BEFORE_ALL { ... return OK; } AFTER_ALL { ... } BEFORE_EACH { ... } AFTER_EACH { ... }: each at most once a
 * program. */
#define BEFORE_ALL TEST_HOOK(int, before_all)
#define AFTER_ALL TEST_HOOK(void, after_all)
#define BEFORE_EACH TEST_HOOK(void, before_each)
#define AFTER_EACH TEST_HOOK(void, after_each)
#define TEST_HOOK(type, hook)                                      \
  static type hook(void);                                          \
  static void __attribute__((constructor)) register_##hook(void) { \
    test_program.hook = hook;                                      \
  }                                                                \
  static type hook(void)

/* The call must succeed; prints its message otherwise. */
#define assert_ok(call)                                                          \
  do {                                                                           \
    int code_ = (call);                                                          \
    if (code_ != OK) fail_msg("%s: code %d: %s", #call, code_, error_message()); \
  } while (0)

/* The call must fail with that code and a message that contains `text`. */
#define assert_fails(call, expected, text)                                                                  \
  do {                                                                                                      \
    int code_ = (call);                                                                                     \
    if (code_ != (expected)) fail_msg("%s: code %d, expected %d", #call, code_, (expected));                \
    if (!strstr(error_message(), (text))) fail_msg("message \"%s\" lacks \"%s\"", error_message(), (text)); \
    error_clear();                                                                                          \
  } while (0)

#define assert_close(a, b, tolerance)                                                       \
  do {                                                                                      \
    double a_ = (double)(a), b_ = (double)(b), tolerance_ = (tolerance);                    \
    if (!(fabs(a_ - b_) <= tolerance_)) fail_msg("%s = %.12g, %s = %.12g", #a, a_, #b, b_); \
  } while (0)

#endif
