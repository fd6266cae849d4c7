#include "tests/check.h"

static int cause(int value) {
  if (value < 0) FAIL(BAD_INPUT, "value %d is negative", value);
  return OK;
}

static int middle(int value) {
  TRY(cause(value));
  return OK;
}

TEST(success_leaves_no_message) {
  error_clear();
  assert_ok(middle(1));
  assert_string_equal(error_message(), "");
}

TEST(message_and_code_come_from_the_cause) {
  assert_fails(middle(-3), BAD_INPUT, "value -3 is negative");
}

static char *printed(void) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  error_print(out, "program");
  fclose(out);
  return text;
}

TEST(bad_input_prints_one_sentence) {
  unsetenv("GNNTRAIN_TRACE");
  assert_int_equal(middle(-1), BAD_INPUT);
  char *text = printed();
  assert_string_equal(text, "program: value -1 is negative\n");
  free(text);
}

static int machine_failure(void) {
  FAIL(FAILED, "the disk is on fire");
}

static int on_the_way(void) {
  TRY(machine_failure());
  return OK;
}

TEST(failure_prints_the_trace) {
  assert_int_equal(on_the_way(), FAILED);
  char *text = printed();
  assert_non_null(strstr(text, "in machine_failure"));
  assert_non_null(strstr(text, "in on_the_way"));
  free(text);
}

TEST(silenced_error_prints_nothing) {
  assert_int_equal(middle(-1), BAD_INPUT);
  error_silence(BAD_INPUT);
  char *text = printed();
  assert_string_equal(text, "");
  free(text);
}

TEST(a_new_error_is_neither_silent_nor_agreed) {
  assert_int_equal(middle(-1), BAD_INPUT);
  error_silence(BAD_INPUT);
  error_mark_agreed();
  assert_true(error_is_silent() && error_is_agreed());
  assert_int_equal(middle(-2), BAD_INPUT);
  assert_false(error_is_silent() || error_is_agreed());
}

TEST(a_message_may_quote_the_previous_one) {
  assert_int_equal(middle(-1), BAD_INPUT);
  assert_int_equal(error_raise(FAILED, "f", 1, "g", "while reading: %s", error_message()), FAILED);
  assert_string_equal(error_message(), "while reading: value -1 is negative");
}

static int quote(const char *name) {
  FAIL(BAD_INPUT, "%s: has the name of nothing", name);
}

TEST(what_a_message_quotes_stays_in_its_line) {
  assert_fails(quote("a\nb\033[2J\x7f, \xc3\xa9"), BAD_INPUT, "a?b?[2J?, \xc3\xa9: has the name of nothing");
  error_clear();
}
