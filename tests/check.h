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

#include "runtime/error.h"

/* GNNTRAIN_TEST_ONLY=PATTERN: the tests of a program whose names match, with * and ?; for tools that take
 * long. */
static void __attribute__((constructor)) choose_tests(void) {
  if (getenv("GNNTRAIN_TEST_ONLY")) cmocka_set_test_filter(getenv("GNNTRAIN_TEST_ONLY"));
}

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
