/* Rows of numbers: every row comes once, with its number, whatever the blocks; the first bad one is named. */
#include "io/file/csv.h"
#include "tests/io/synthetic_files.h"

IN_MADE_FOLDER;

struct seen {
  int64_t *value, room, capacity;
};

static int make_room(void *context, const struct text *text, const char *line, int64_t rows) {
  struct seen *seen = context;
  (void)line;
  if (rows <= seen->room) TEXT_FAIL(text, "%lld rows twice", (long long)rows);
  seen->room = rows;
  return rows <= seen->capacity ? OK : FAILED;
}

static int take(void *context, const struct text *text, char *line, int64_t row) {
  struct seen *seen = context;
  TRY(text_int(text, &line, &seen->value[row], "a number"));
  return text_end(text, &line, "one number");
}

static const struct csv_reader reader = {.room = make_room, .row = take};

static int read_numbers(const char *path, int64_t *value, int64_t capacity, int64_t *rows) {
  struct seen seen = {value, 0, capacity};
  return csv_read(path, &reader, &seen, rows);
}

enum { MANY = 2 << 20 }; /* lines of 8 bytes: several blocks */

/* "0000000\n" and so on; line `bad` (from 1) is no number. */
static char *numbers(int64_t bad) {
  char *text = malloc(8 * MANY + 1);
  assert_non_null(text);
  for (int64_t i = 0; i < MANY; i++) snprintf(text + 8 * i, 9, "%07u\n", (unsigned)(i % 10000000));
  if (bad) text[8 * bad - 3] = 'x';
  return text;
}

TEST(every_row_comes_once) {
  int64_t *value = malloc(MANY * sizeof *value), rows = 0;
  char *text = numbers(0);
  synthetic_gzip("many.gz", text);
  memset(value, 0xff, MANY * sizeof *value);
  assert_ok(read_numbers("many.gz", value, MANY, &rows));
  assert_int_equal(rows, MANY);
  for (int64_t i = 0; i < MANY; i++) assert_int_equal(value[i], i);
  free(text);
  free(value);
}

TEST(the_first_bad_row_is_named) {
  int64_t *value = malloc(MANY * sizeof *value), rows = 0;
  char *text = numbers(1500001);
  memcpy(text + 8 * 1500100, "abc", 3);
  synthetic_gzip("bad.gz", text);
  for (int i = 0; i < 3; i++)
    assert_fails(read_numbers("bad.gz", value, MANY, &rows), BAD_INPUT,
                 "bad.gz:1500001: expected a number, found");
  free(text);
  free(value);
}

TEST(ends_of_lines_do_not_matter) {
  int64_t value[4], rows;
  const char *files[] = {"1\n2\n3\n", "1\n2\n3", "1\r\n2\r\n3\r\n"};
  for (int i = 0; i < 3; i++) {
    synthetic_text("file", files[i]);
    assert_ok(read_numbers("file", value, 4, &rows));
    assert_int_equal(rows, 3);
    assert_int_equal(value[2], 3);
  }
  synthetic_text("file", "");
  assert_ok(read_numbers("file", value, 4, &rows));
  assert_int_equal(rows, 0);
}

TEST(as_many_rows_as_expected_are_there) {
  int64_t value[4], rows;
  struct seen seen = {value, 0, 4};
  const struct csv_reader three = {.row = take, .expected = 3};
  synthetic_text("file", "# 1 and 2\n1\n#\n2\n");
  assert_fails(csv_read("file", &three, &seen, &rows), BAD_INPUT, "file:4: the file ends after 2 of 3 rows");
  synthetic_text("file", "1\n2\n#\n3\n#\n4\n");
  assert_fails(csv_read("file", &three, &seen, &rows), BAD_INPUT, "file:6: there are more rows than the 3");
  synthetic_text("file", "#1\n1\n2\n#\nx\n");
  assert_fails(csv_read("file", &three, &seen, &rows), BAD_INPUT, "file:5: expected a number, found \"x\"");
  synthetic_text("file", "#1\n1\n2\n#\n5\n");
  assert_ok(csv_read("file", &three, &seen, &rows));
  assert_true(rows == 3 && value[0] == 1 && value[2] == 5);
}

TEST(what_is_no_text_is_refused) {
  int64_t value[8], rows;
  synthetic_file("nul", "1\n2\n\0003\n", 7);
  assert_fails(read_numbers("nul", value, 8, &rows), BAD_INPUT, "nul:3: holds a NUL byte");
  synthetic_text("blank", "1\n\n3\n");
  assert_fails(read_numbers("blank", value, 8, &rows), BAD_INPUT,
               "blank:2: expected a number, found the end");
  synthetic_text("field", "1\n2,\n3\n");
  assert_fails(read_numbers("field", value, 8, &rows), BAD_INPUT, "field:2: field 2 is empty");
  synthetic_gzip("cut.gz", "1\n2\n3\n4\n5\n6\n7\n8\n9\n");
  size_t size;
  unsigned char *bytes = synthetic_bytes("cut.gz", &size);
  synthetic_file("cut.gz", bytes, size - 9);
  free(bytes);
  assert_fails(read_numbers("cut.gz", value, 8, &rows), BAD_INPUT, "cut.gz: cannot be read");
  assert_fails(read_numbers("nowhere", value, 8, &rows), BAD_INPUT, "nowhere: cannot be opened");
}

static void assert_cells(const char *line, const char *const *expected, int count) {
  const struct text place = {.path = "line", .line = 7};
  char copy[128], *at = copy, *cell;
  snprintf(copy, sizeof copy, "%s", line);
  for (int i = 0; i < count; i++) {
    assert_non_null(at);
    assert_ok(csv_cell(&place, ',', &at, &cell));
    assert_string_equal(cell, expected[i]);
  }
  assert_null(at);
}

TEST(cells_are_those_of_rfc_4180) {
  assert_cells("", (const char *[]){""}, 1);
  assert_cells("a", (const char *[]){"a"}, 1);
  assert_cells("a,,b,", (const char *[]){"a", "", "b", ""}, 4);
  assert_cells(" a , b", (const char *[]){" a ", " b"}, 2);
  assert_cells("\"a,b\",\"\",\"c\"\"d\"", (const char *[]){"a,b", "", "c\"d"}, 3);
  assert_cells("\"\"\"\"\"\",\"\r\n\"", (const char *[]){"\"\"", "\r\n"}, 2);
}

static int cell_code(const char *line) {
  const struct text place = {.path = "line", .line = 7};
  char copy[64], *at = copy, *cell;
  snprintf(copy, sizeof copy, "%s", line);
  return csv_cell(&place, ',', &at, &cell);
}

TEST(quotes_stand_around_whole_cells) {
  assert_fails(cell_code("\"a"), BAD_INPUT, "line:7: the quotes of \"a\" are not closed");
  assert_fails(cell_code("\"a\"b,c"), BAD_INPUT, "line:7: \"b,c\" stands behind the closing quote of \"a\"");
  assert_fails(cell_code("a\"b\",c"), BAD_INPUT, "line:7: a quote inside of \"a\"b\",c\"");
}

TEST(heads_name_columns) {
  struct csv_head head = {0};
  struct text text;
  int64_t column;
  synthetic_text("head", "\"a;b\";label; c;label\n1;2;3;4\n");
  assert_ok(text_open(&text, "head"));
  assert_ok(csv_head_read(&head, &text));
  assert_int_equal(head.separator, ';');
  assert_int_equal(head.columns, 4);
  assert_int_equal(csv_head_column(&head, " c"), 2);
  assert_ok(csv_head_find(&head, &text, "--id", "a;b", &column));
  assert_int_equal(column, 0);
  assert_fails(csv_head_find(&head, &text, "--id", "label", &column), BAD_INPUT,
               "head:1: --id: two columns are called \"label\"");
  assert_fails(csv_head_find(&head, &text, "--id", "lapel", &column), BAD_INPUT,
               "head:1: --id: no column \"lapel\" among \"a;b\", \"label\", \" c\", \"label\"; did you mean "
               "\"label\"?");
  assert_fails(csv_head_find(&head, &text, "--id", "elsewhere", &column), BAD_INPUT, "among \"a;b\"");
  csv_head_free(&head);
  text_close(&text);
}

TEST(what_messages_show_of_a_cell_is_short_and_whole) {
  char quote[CSV_QUOTE];
  assert_string_equal(csv_quote("Z\xc3\xbcrich", quote), "\"Z\xc3\xbcrich\"");
  assert_string_equal(csv_quote("\xff\xc3\xbc", quote), "\"???\"");
  assert_string_equal(csv_quote("1234567890123456789012345678901234567890", quote),
                      "\"1234567890123456789012345678901234567890\"");
  assert_string_equal(csv_quote("123456789012345678901234567890123456789\xc3\xbc", quote),
                      "\"123456789012345678901234567890123456789...\"");
}
