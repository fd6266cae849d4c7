/* Lines that all threads read at once: each comes once, in its piece, with its number; the first bad one is
 * named. */
#include "io/file/text_pieces.h"

#include <omp.h>

#include "tests/io/synthetic_files.h"

IN_MADE_FOLDER;

enum { LINES = 3 << 20, MOST_PIECES = 256 };

/* Lines are their own numbers; `bad` is none. */
struct seen {
  int64_t first[MOST_PIECES], count[MOST_PIECES]; /* of the pieces of a block */
  int64_t lines, blocks, pieces;
};

static int take_piece(void *context, struct text *lines, int p) {
  struct seen *seen = context;
  char *line;
  seen->first[p] = lines->line + 1;
  seen->count[p] = 0;
  for (int64_t number;; seen->count[p]++) {
    TRY(text_next(lines, &line));
    if (!line) return OK;
    TRY(text_int(lines, &line, &number, "a number"));
    TRY(text_end(lines, &line, "one number"));
    if (number != lines->line)
      TEXT_FAIL(lines, "line %lld has number %lld", (long long)number, (long long)lines->line);
  }
}

static int take_block(void *context, int pieces) {
  struct seen *seen = context;
  for (int p = 0; p < pieces; p++) {
    assert_int_equal(seen->first[p], seen->lines + 1);
    seen->lines += seen->count[p];
  }
  seen->blocks++;
  seen->pieces += pieces;
  return OK;
}

static int read_all(const char *path, struct seen *seen, int64_t header) {
  static const struct text_pieces reader = {take_piece, take_block};
  struct text text;
  char *line;
  *seen = (struct seen){.lines = header};
  assert_ok(text_open(&text, path));
  for (int64_t i = 0; i < header; i++) assert_ok(text_next(&text, &line));
  int code = text_pieces_read(&text, &reader, seen);
  if (code == OK) assert_int_equal(text.line, seen->lines);
  text_close(&text);
  return code;
}

/* 1, 2, ..., with `end` behind each; the caller frees it. */
static char *numbers(int64_t count, const char *end) {
  char *text = malloc((size_t)count * 10 + 1), *at = text;
  assert_non_null(text);
  *at = '\0';
  for (int64_t i = 1; i <= count; i++) at += sprintf(at, "%lld%s", (long long)i, end);
  return text;
}

BEFORE_EACH {
  omp_set_num_threads(4);
}

TEST(every_line_comes_once_with_its_number) {
  struct seen seen;
  char *text = numbers(LINES, "\n");
  synthetic_text("plain", text);
  synthetic_gzip("packed.gz", text);
  for (int64_t header = 0; header < 3; header++) {
    assert_ok(read_all("plain", &seen, header));
    assert_int_equal(seen.lines, LINES);
    assert_int_in_range(seen.blocks, 2, 20);
    assert_true(seen.pieces > seen.blocks);
  }
  assert_ok(read_all("packed.gz", &seen, 1));
  assert_int_equal(seen.lines, LINES);
  free(text);
}

TEST(ends_of_lines_do_not_matter) {
  struct seen seen;
  char *text = numbers(100000, "\r\n");
  for (int cut = 0; cut < 3; cut++) {
    text[strlen(text) - (cut > 0)] = '\0';
    synthetic_text("cut", text);
    assert_ok(read_all("cut", &seen, 0));
    assert_int_equal(seen.lines, 100000);
  }
  free(text);
  synthetic_text("empty", "");
  assert_ok(read_all("empty", &seen, 0));
  assert_int_equal(seen.lines, 0);
}

/* Lines longer than pieces, and than blocks. */
TEST(a_long_line_is_one_piece) {
  enum { LONG = 40 << 20 };
  struct seen seen;
  char *text = malloc(LONG + 16);
  assert_non_null(text);
  memset(text, ' ', LONG);
  memcpy(text, "1\n2", 3);
  snprintf(text + LONG, 16, "\n3\n4");
  synthetic_text("long", text);
  assert_ok(read_all("long", &seen, 0));
  assert_int_equal(seen.lines, 4);
  free(text);
}

TEST(the_first_bad_line_is_named) {
  struct seen seen;
  char *text = numbers(LINES, "\n");
  static const int64_t bad[] = {LINES - 5, 2500003, 2500002, 1000000, 7};
  for (size_t b = 0; b < sizeof bad / sizeof bad[0]; b++) {
    char number[32], message[64];
    snprintf(number, sizeof number, "\n%lld\n", (long long)bad[b]);
    strstr(text, number)[1] = 'x';
    synthetic_text("bad", text);
    snprintf(message, sizeof message, "bad:%lld: expected a number, found \"x", (long long)bad[b]);
    for (int i = 0; i < 3; i++) assert_fails(read_all("bad", &seen, 0), BAD_INPUT, message);
  }
  free(text);
}

TEST(damage_behind_good_lines_is_said_after_them) {
  struct seen seen;
  char *text = numbers(LINES, "\n");
  synthetic_gzip("whole.gz", text);
  size_t size;
  unsigned char *bytes = synthetic_bytes("whole.gz", &size);
  synthetic_file("damaged.gz", bytes, size - 5);
  assert_fails(read_all("damaged.gz", &seen, 0), BAD_INPUT, "damaged.gz: cannot be read after line ");
  assert_true(seen.lines > LINES / 2);
  free(bytes);
  free(text);
}

static int take_quoted(void *context, struct text *lines, int p) {
  struct seen *seen = context;
  char *line;
  seen->count[p] = 0;
  for (;;) {
    TRY(text_next(lines, &line));
    if (!line) return OK;
    size_t length = strlen(line);
    if (line[0] == '"' ? line[length - 1] != '"' : strchr(line, '\n') != NULL)
      TEXT_FAIL(lines, "a line that is cut: %s", line);
    int64_t number = strtoll(line + (line[0] == '"'), NULL, 10);
    if (number != lines->line) TEXT_FAIL(lines, "number %lld", (long long)number);
    seen->count[p]++;
  }
}

static int count_quoted(void *context, int pieces) {
  struct seen *seen = context;
  for (int p = 0; p < pieces; p++) seen->lines += seen->count[p];
  seen->blocks++;
  return OK;
}

/* Lines that say where they begin, some of them in quotes with further ends of lines; one of them longer than
 * a block. */
TEST(no_piece_begins_between_quotes) {
  enum { RECORDS = 300000, LONG = 9 << 20 };
  static const struct text_pieces reader = {take_quoted, count_quoted};
  struct seen seen = {0};
  char *made = malloc(RECORDS * 40L + LONG + 64), *at = made;
  int64_t line = 1;
  assert_non_null(made);
  for (int64_t i = 0; i < RECORDS; i++) {
    if (i == RECORDS / 2) {
      at += sprintf(at, "\"%lld", (long long)line);
      for (int64_t k = 0; k < LONG; k++) *at++ = k % 50 ? 'x' : '\n';
      line += LONG / 50 + (LONG % 50 != 0) + 1;
      at = stpcpy(at, "\"\n");
    } else if (i % 3) {
      at += sprintf(at, "\"%lld\n,\"\"\n\n\"\n", (long long)line);
      line += 4;
    } else {
      at += sprintf(at, "%lld\n", (long long)line++);
    }
  }
  *at = '\0';
  synthetic_text("quoted", made);
  free(made);
  for (int threads = 1; threads < 5; threads += 3) {
    struct text text;
    omp_set_num_threads(threads);
    seen = (struct seen){0};
    assert_ok(text_open(&text, "quoted"));
    text.quoted = 1;
    assert_ok(text_pieces_read(&text, &reader, &seen));
    assert_int_equal(seen.lines, RECORDS);
    assert_int_equal(text.line, line - 1);
    text_close(&text);
  }
}
