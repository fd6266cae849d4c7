#include "io/file/text.h"
#include "tests/io/synthetic_files.h"

IN_MADE_FOLDER;

static void assert_lines(const char *path, const char *const *expected, int count) {
  struct text text;
  char *line;
  assert_ok(text_open(&text, path));
  for (int i = 0; i < count; i++) {
    assert_ok(text_next(&text, &line));
    assert_non_null(line);
    assert_string_equal(line, expected[i]);
    assert_int_equal(text.line, i + 1);
  }
  assert_ok(text_next(&text, &line));
  assert_null(line);
  assert_ok(text_next(&text, &line)); /* the end stays the end */
  assert_null(line);
  text_close(&text);
}

TEST(line_ends_and_gzip_do_not_matter) {
  const char *lines[] = {"one", "", "  two three", "four\rfive"};
  synthetic_text("lf", "one\n\n  two three\nfour\rfive\n");
  synthetic_text("open_end", "one\n\n  two three\nfour\rfive");
  synthetic_text("crlf", "one\r\n\r\n  two three\r\nfour\rfive\r\n");
  synthetic_gzip("gz", "one\r\n\n  two three\nfour\rfive");
  assert_lines("lf", lines, 4);
  assert_lines("open_end", lines, 4);
  assert_lines("crlf", lines, 4);
  assert_lines("gz", lines, 4);
  synthetic_text("empty", "");
  synthetic_gzip("empty.gz", "");
  assert_lines("empty", lines, 0);
  assert_lines("empty.gz", lines, 0);
}

TEST(a_byte_order_mark_is_no_part_of_the_first_line) {
  const char *lines[] = {"0 1", "\357\273\2772"}, *one[] = {"1"};
  synthetic_text("mark", "\357\273\2770 1\r\n\357\273\2772");
  synthetic_gzip("mark.gz", "\357\273\2770 1\n\357\273\2772");
  synthetic_text("mark_alone", "\357\273\277");
  synthetic_text("short", "1");
  assert_lines("mark", lines, 2);
  assert_lines("mark.gz", lines, 2);
  assert_lines("mark_alone", lines, 0);
  assert_lines("short", one, 1);
}

TEST(long_lines_are_read_whole) {
  size_t length = 5 << 20;
  char *content = malloc(length + 8);
  memset(content, 'x', length);
  memcpy(content + length, "\nshort\n", 8);
  synthetic_gzip("long.gz", content);
  synthetic_text("long", content);
  content[length] = '\0';
  const char *lines[] = {content, "short"};
  assert_lines("long.gz", lines, 2);
  assert_lines("long", lines, 2);
  free(content);
}

static int read_all(const char *path) {
  struct text text;
  char *line = NULL;
  int code = text_open(&text, path);
  do {
    if (code == OK) code = text_next(&text, &line);
  } while (code == OK && line);
  text_close(&text);
  return code;
}

TEST(truncated_gzip_is_reported) {
  char content[4001];
  for (int i = 0; i < 4000; i++) content[i] = (char)(i % 10 == 9 ? '\n' : 'a' + i * i % 26);
  content[4000] = '\0';
  synthetic_gzip("whole.gz", content);
  assert_ok(read_all("whole.gz"));
  size_t size;
  unsigned char *bytes = synthetic_bytes("whole.gz", &size);
  synthetic_file("half.gz", bytes, size / 2);
  assert_fails(read_all("half.gz"), BAD_INPUT, "half.gz: cannot be read after line");
  synthetic_file("tail.gz", bytes, size - 1);
  assert_fails(read_all("tail.gz"), BAD_INPUT, "truncated");
  bytes[size - 8] ^= 1; /* checksum */
  synthetic_file("flip.gz", bytes, size);
  assert_fails(read_all("flip.gz"), BAD_INPUT, "flip.gz: cannot be read");
  free(bytes);
}

enum { ZEROS = 1 << 19 };

/* The files a and b one behind the other, and zeros; the caller frees the bytes. */
static unsigned char *joined(const char *a, const char *b, size_t *first, size_t *size) {
  size_t second;
  unsigned char *front = synthetic_bytes(a, first), *back = synthetic_bytes(b, &second);
  *size = *first + second;
  front = realloc(front, *size + ZEROS);
  assert_non_null(front);
  memcpy(front + *first, back, second);
  memset(front + *size, 0, ZEROS);
  free(back);
  return front;
}

TEST(every_member_of_a_gzip_file_is_read) {
  const char *lines[] = {"one", "two three", "four"};
  synthetic_gzip("a.gz", "one\ntwo ");
  synthetic_gzip("b.gz", "three\nfour\n");
  size_t first, size;
  unsigned char *bytes = joined("a.gz", "b.gz", &first, &size);
  synthetic_file("both.gz", bytes, size);
  assert_lines("both.gz", lines, 3);
  synthetic_file("zeros.gz", bytes, size + ZEROS);
  assert_lines("zeros.gz", lines, 3);
  free(bytes);
}

/* Members end wherever blocks of the file that are read do. */
TEST(members_of_any_length_are_read) {
  enum { MEMBERS = 2500, LONGEST = 1500 };
  uint32_t written = 0, read = 0;
  struct text text;
  char *line, expected[16];
  remove("members.gz");
  for (int m = 0; m < MEMBERS; m++) {
    gzFile file = gzopen("members.gz", m % 7 ? "ab1" : "ab9");
    assert_non_null(file);
    for (int i = 0, lines = m * 31 % LONGEST / 10; i < lines; i++, written++)
      assert_true(gzprintf(file, "%u\n", written * 2654435761u) > 0);
    assert_int_equal(gzclose(file), Z_OK);
  }
  assert_ok(text_open(&text, "members.gz"));
  for (;; read++) {
    assert_ok(text_next(&text, &line));
    if (!line) break;
    snprintf(expected, sizeof expected, "%u", read * 2654435761u);
    assert_string_equal(line, expected);
  }
  assert_int_equal(read, written);
  assert_true(written > 150000);
  text_close(&text);
}

TEST(a_damaged_later_member_is_reported) {
  synthetic_gzip("a.gz", "one\ntwo ");
  synthetic_gzip("b.gz", "three\nfour\n");
  size_t first, size;
  unsigned char *bytes = joined("a.gz", "b.gz", &first, &size);
  for (size_t left = first + 1; left < size; left++) {
    synthetic_file("cut.gz", bytes, left);
    assert_fails(read_all("cut.gz"), BAD_INPUT, "cut.gz: cannot be read after line 0: the gzip data is ");
  }
  for (int bit = 0; bit < 16; bit++) {
    bytes[first + (size_t)bit / 8] ^= (unsigned char)(1 << bit % 8);
    synthetic_file("magic.gz", bytes, size);
    assert_fails(read_all("magic.gz"), BAD_INPUT,
                 "magic.gz: cannot be read after line 0: the gzip data is damaged");
    bytes[first + (size_t)bit / 8] ^= (unsigned char)(1 << bit % 8);
  }
  bytes[size - 8] ^= 1; /* checksum */
  synthetic_file("flip.gz", bytes, size);
  assert_fails(read_all("flip.gz"), BAD_INPUT, "flip.gz: cannot be read after line 0: incorrect data check");
  bytes[size - 8] ^= 1;
  bytes[size + ZEROS - 1] = 'x';
  synthetic_file("behind.gz", bytes, size + ZEROS);
  assert_fails(read_all("behind.gz"), BAD_INPUT, "neither another one nor zeros");
  free(bytes);
}

/* Lines of 16 bytes, stored as they are: a file of exactly that many bytes. */
static void synthetic_stored(const char *path, size_t size) {
  size_t count = size - size / 1000, got = 0;
  for (int round = 0; round < 3; round++) {
    char *content = malloc(count);
    assert_non_null(content);
    for (size_t i = 0; i < count; i++) content[i] = (char)(i % 16 == 15 ? '\n' : 'a' + (int)(i / 16 % 26));
    gzFile file = gzopen(path, "wb0");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, content, (unsigned)count), (int)count);
    assert_int_equal(gzclose(file), Z_OK);
    free(content);
    free(synthetic_bytes(path, &got));
    count += size - got;
  }
  assert_int_equal(got, size);
}

TEST(members_may_end_anywhere_in_the_buffer_of_a_reader) {
  synthetic_gzip("b.gz", "\nlast\n");
  for (size_t size = (1 << 18) - 2; size <= (1 << 18) + 1; size++) {
    struct text text;
    char *line, last[8] = "";
    size_t first, both;
    synthetic_stored("a.gz", size);
    unsigned char *bytes = joined("a.gz", "b.gz", &first, &both);
    synthetic_file("long.gz", bytes, both);
    synthetic_file("short.gz", bytes, first + 1);
    free(bytes);
    assert_fails(read_all("short.gz"), BAD_INPUT, "short.gz: cannot be read after line");
    assert_ok(text_open(&text, "long.gz"));
    for (;;) {
      assert_ok(text_next(&text, &line));
      if (!line) break;
      snprintf(last, sizeof last, "%.7s", line);
    }
    text_close(&text);
    assert_string_equal(last, "last");
  }
}

TEST(what_is_no_text_is_refused) {
  synthetic_file("nul", "a\nb\0c\n", 6);
  assert_fails(read_all("nul"), BAD_INPUT, "nul:2: holds a NUL byte");
  assert_fails(read_all("missing"), BAD_INPUT, "missing: cannot be opened: No such file");
  assert_fails(read_all("."), BAD_INPUT, ".: cannot be read");
}

static struct text at_line_17(void) {
  return (struct text){.path = "soc.txt", .line = 17};
}

TEST(numbers_are_read_and_checked) {
  struct text text = at_line_17();
  int64_t value;
  float real;
  char line[] = " 12,\t-7 +9223372036854775807 -9223372036854775807 1.5e2";
  char *at = line;
  const int64_t expected[] = {12, -7, INT64_MAX, -INT64_MAX};
  for (int i = 0; i < 4; i++) {
    assert_ok(text_int(&text, &at, &value, "a number"));
    assert_int_equal(value, expected[i]);
  }
  assert_ok(text_real(&text, &at, &real, "a value"));
  assert_true(real == 150.0F);
  assert_ok(text_end(&text, &at, "nothing"));
}

TEST(bad_numbers_name_file_line_and_word) {
  struct text text = at_line_17();
  int64_t value;
  float real;
  char *at = " abc 2";
  assert_fails(text_int(&text, &at, &value, "two node ids"), BAD_INPUT,
               "soc.txt:17: expected two node ids, found \"abc\"");
  at = "12x";
  assert_fails(text_int(&text, &at, &value, "an id"), BAD_INPUT, "expected an id, found \"12x\"");
  at = "  ";
  assert_fails(text_int(&text, &at, &value, "an id"), BAD_INPUT, "found the end of the line");
  at = "9223372036854775808";
  assert_fails(text_int(&text, &at, &value, "an id"), BAD_INPUT, "does not fit in 64 bits");
  at = "99999999999999999999999999999999999999999999999999999999";
  assert_fails(text_int(&text, &at, &value, "an id"), BAD_INPUT, "999...\" does not fit in 64 bits");
  at = "nan";
  assert_fails(text_real(&text, &at, &real, "a value"), BAD_INPUT, "\"nan\" is not a finite");
  at = "1e39";
  assert_fails(text_real(&text, &at, &real, "a value"), BAD_INPUT, "\"1e39\" is not a finite");
  at = "1.5.2";
  assert_fails(text_real(&text, &at, &real, "a value"), BAD_INPUT, "expected a value, found \"1.5.2\"");
  at = "\x01\xff rest";
  assert_fails(text_end(&text, &at, "two numbers"), BAD_INPUT, "expected two numbers, found \"\?\?\"");
}

TEST(an_empty_field_is_an_error) {
  struct text text = at_line_17();
  const char *good[] = {"", " ", "1", "1,2", "1, 2", "1 ,\t2 3", " 1 2 "};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) assert_ok(text_fields(&text, good[i]));
  assert_fails(text_fields(&text, "1,,3"), BAD_INPUT, "soc.txt:17: field 2 is empty; a value is expected");
  assert_fails(text_fields(&text, "1, \t,3"), BAD_INPUT, "soc.txt:17: field 2 is empty");
  assert_fails(text_fields(&text, " ,2,3"), BAD_INPUT, "soc.txt:17: field 1 is empty");
  assert_fails(text_fields(&text, "1,2, "), BAD_INPUT, "soc.txt:17: field 3 is empty");
  assert_fails(text_fields(&text, ","), BAD_INPUT, "soc.txt:17: field 1 is empty");
}

TEST(quotes_hold_lines_together_where_a_text_is_a_table) {
  static const char *const line[] = {"a,\"b\nc\"", "d", "\"\n\"\"\n\"", "\"e\n"};
  static const int64_t number[] = {1, 3, 4, 7};
  struct text text;
  char *found;
  synthetic_text("quoted", "a,\"b\nc\"\nd\r\n\"\n\"\"\n\"\n\"e\n");
  assert_ok(text_open(&text, "quoted"));
  text.quoted = 1;
  for (int i = 0; i < 4; i++) {
    assert_ok(text_next(&text, &found));
    assert_non_null(found);
    assert_string_equal(found, line[i]);
    assert_int_equal(text.line, number[i]);
  }
  assert_ok(text_next(&text, &found));
  assert_null(found);
  text_close(&text);
}

TEST(utf8_is_told_from_other_bytes) {
  static const char *const good[] = {
      "", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80", "\xf4\x8f\xbf\xbf"};
  static const char *const bad[] = {"\xff",
                                    "\xc3",
                                    "a\xc3",
                                    "\xc0\x80",
                                    "\xe0\x80\x80",
                                    "\xed\xa0\x80",
                                    "\xf4\x90\x80\x80",
                                    "\xe2\x82",
                                    "\x80",
                                    "\xf5\x80\x80\x80",
                                    "\xe2\x28\xa1"};
  for (size_t i = 0; i < sizeof good / sizeof good[0]; i++)
    assert_true(text_is_utf8(good[i], (int64_t)strlen(good[i])));
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
    assert_false(text_is_utf8(bad[i], (int64_t)strlen(bad[i])));
}
