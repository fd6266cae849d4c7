#include "io/file/text.h"

#include <math.h>

#include "runtime/base/base.h"
#include "runtime/file/input.h"

enum { TEXT_BUFFER = 1 << 20 };

static int begin(struct text *text, const char *path) {
  if (snprintf(text->path, sizeof text->path, "%s", path) >= (int)sizeof text->path)
    FAIL(BAD_INPUT, "the path \"%.60s...\" is longer than %zu bytes", path, sizeof text->path - 1);
  text->size = TEXT_BUFFER;
  return memory_alloc(&text->buffer, text->size + 1, "the text buffer");
}

int text_open(struct text *text, const char *path) {
  *text = (struct text){0};
  TRY(begin(text, path));
  errno = 0;
  text->file = gzip_open(path);
  int error = errno ? errno : ENOMEM;
  if (!text->file) FAIL(input_code(error), "%s: cannot be opened: %s", path, strerror(error));
  return OK;
}

int text_open_source(struct text *text, const char *path, const struct text_source *source) {
  *text = (struct text){.source = *source};
  if (!source->context) FAIL(FAILED, "%s: cannot be opened: %s", path, strerror(ENOMEM));
  return begin(text, path);
}

void text_skip_column(struct text *text, int64_t column) {
  if (text->source.skip) text->source.skip(text->source.context, column);
}

void text_close(struct text *text) {
  gzip_close(text->file);
  if (text->source.context) text->source.close(text->source.context);
  free_all(text->buffer, text->block);
  *text = (struct text){0};
}

static int64_t read_bytes(struct text *text, char *to, int64_t size, const char **reason) {
  return text->file ? gzip_read(text->file, to, size, reason)
                    : text->source.read(text->source.context, to, size, reason);
}

static int refuse_long_line(struct text *text) {
  text->line += 1 + text->within;
  if (text->quoted)
    TEXT_FAIL(text, "a quote that opens here or behind is not closed in %d MiB", TEXT_LINE >> 20);
  TEXT_FAIL(text, "the line is longer than %d MiB: not a text file", TEXT_LINE >> 20);
}

/* Makes room behind `end`: what was given out goes; a line that fills the buffer doubles it. */
static int make_room(struct text *text) {
  memmove(text->buffer, text->buffer + text->at, (size_t)(text->end - text->at));
  text->end -= text->at;
  text->at = 0;
  if (text->end < text->size) return OK;
  if (text->size >= TEXT_LINE) return refuse_long_line(text);
  TRY(memory_grow(&text->buffer, text->end, 2 * text->size + 1, "the text buffer"));
  text->size *= 2;
  return OK;
}

static int read_on(struct text *text) {
  TRY(make_room(text));
  const char *reason = NULL;
  int64_t got = read_bytes(text, text->buffer + text->end, text->size - text->end, &reason);
  if (got < 0)
    FAIL(text->file ? input_code(gzip_error(text->file)) : BAD_INPUT,
         "%s: cannot be read after line %lld: %s", text->path, (long long)text->line, reason);
  text->end += got;
  text->ended = got == 0;
  return OK;
}

static int fill(struct text *text) {
  static const char mark[] = "\xef\xbb\xbf";
  enum { MARK = sizeof mark - 1 };
  int begins = text->end == 0 && text->line == 0;
  TRY(read_on(text));
  while (begins && text->end < MARK && !text->ended) TRY(read_on(text));
  if (begins && text->end >= MARK && memcmp(text->buffer, mark, MARK) == 0) text->at = MARK;
  return OK;
}

int text_odd_quotes(const char *from, const char *to) {
  unsigned odd = 0;
  for (; from < to; from++) odd ^= *from == '"';
  return (int)odd;
}

char *text_end_of_line(char *from, const char *to, int quoted, int open, int64_t *passed) {
  for (;;) {
    char *end = memchr(from, '\n', (size_t)(to - from));
    if (!end || !quoted) return end;
    open ^= text_odd_quotes(from, end);
    if (!open) return end;
    ++*passed;
    from = end + 1;
  }
}

int text_next(struct text *text, char **line) {
  int64_t passed;
  *line = NULL;
  char *stop = NULL;
  for (int64_t seen = 0;;) {
    char *start = text->buffer + text->at;
    passed = 0;
    stop = text_end_of_line(start + seen, text->buffer + text->end, text->quoted, 0, &passed);
    if (stop || text->ended) break;
    if (!text->quoted) seen = text->end - text->at;
    TRY(fill(text));
  }
  if (!stop && text->at == text->end) return OK;
  char *start = text->buffer + text->at;
  char *end = stop ? stop : text->buffer + text->end;
  text->at = end - text->buffer + (stop != NULL);
  text->line += 1 + text->within;
  text->within = passed;
  if (end > start && end[-1] == '\r') end--;
  *end = '\0';
  if (memchr(start, '\0', (size_t)(end - start))) TEXT_FAIL(text, "holds a NUL byte: not a %s file", "text");
  *line = start;
  return OK;
}

/* What is not yet given out goes to the other buffer, which has room for `bytes` then and is read into next.
 */
static int turn_over(struct text *text, int64_t bytes) {
  char *given = text->buffer;
  int64_t given_size = text->size, left = text->end - text->at;
  int64_t size = larger(given_size, larger(bytes, left));
  if (text->block_size < size) {
    TRY(memory_grow(&text->block, 0, size + 1, "the text buffer"));
    text->block_size = size;
  }
  memcpy(text->block, given + text->at, (size_t)left);
  text->buffer = text->block;
  text->size = text->block_size;
  text->block = given;
  text->block_size = given_size;
  text->at = 0;
  text->end = left;
  return OK;
}

/* The last end of a line that is not yet given out; it begins outside of quotes. */
static const char *last_end(const struct text *text) {
  const char *from = text->buffer + text->at, *to = text->buffer + text->end;
  int open = text->quoted && text_odd_quotes(from, to);
  for (;;) {
    const char *end = memrchr(from, '\n', (size_t)(to - from));
    if (!end || !text->quoted) return end;
    open ^= text_odd_quotes(end, to);
    if (!open) return end;
    to = end;
  }
}

int text_block(struct text *text, int64_t bytes, char **block, int64_t *length) {
  const char *stop = NULL;
  TRY(turn_over(text, bytes));
  text->line += text->within;
  text->within = 0;
  for (;;) {
    if (text->end - text->at >= bytes) stop = last_end(text);
    if (text->ended || stop) break;
    TRY(fill(text));
  }
  *block = text->buffer + text->at;
  *length = text->ended ? text->end - text->at : stop + 1 - *block;
  text->at += *length;
  return OK;
}

static int is_blank(char c) {
  return c == ' ' || c == '\t' || c == ',';
}

static int ends_word(char c) {
  return c == '\0' || is_blank(c);
}

int text_fields(const struct text *text, const char *line) {
  int64_t field = 1;
  int empty = 1;
  if (!strchr(line, ',')) return OK;
  for (;; line++) {
    if (*line != ',' && *line != '\0') {
      empty = empty && is_blank(*line);
      continue;
    }
    if (empty)
      TEXT_FAIL(text, "field %lld is empty; a value is expected beside each comma", (long long)field);
    if (*line == '\0') return OK;
    empty = 1;
    field++;
  }
}

int text_more(char **at) {
  while (is_blank(**at)) ++*at;
  return **at != '\0';
}

static int is_comment(char *line, const char *comments) {
  return text_more(&line) && strchr(comments, *line);
}

int text_row(struct text *text, const char *comments, char **line) {
  do {
    TRY(text_next(text, line));
  } while (*line && is_comment(*line, comments));
  return *line ? text_fields(text, *line) : OK;
}

int text_filled_row(struct text *text, const char *comments, char **line) {
  for (;;) {
    TRY(text_row(text, comments, line));
    char *at = *line;
    if (!at || text_more(&at)) return OK;
  }
}

char *text_word(char **at) {
  if (!text_more(at)) return NULL;
  char *word = *at;
  while (!ends_word(**at)) ++*at;
  if (**at) *(*at)++ = '\0';
  return word;
}

/* The bytes of the character at `at`, of which `left` are there; 0: it is none. */
static int64_t utf8_bytes(const unsigned char *at, int64_t left) {
  static const struct {
    unsigned char first, last, low, high; /* of the first byte; of the second */
    int bytes;
  } form[] = {{0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
              {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
              {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
  if (*at < 0x80) return 1;
  for (size_t i = 0; i < sizeof form / sizeof form[0]; i++) {
    if (*at < form[i].first || *at > form[i].last) continue;
    if (left < form[i].bytes || at[1] < form[i].low || at[1] > form[i].high) return 0;
    for (int b = 2; b < form[i].bytes; b++) {
      if ((at[b] & 0xc0) != 0x80) return 0;
    }
    return form[i].bytes;
  }
  return 0;
}

int text_is_utf8(const char *text, int64_t length) {
  const unsigned char *at = (const unsigned char *)text, *end = at + length;
  for (int64_t bytes; at < end; at += bytes) {
    bytes = utf8_bytes(at, end - at);
    if (bytes == 0) return 0;
  }
  return 1;
}

int64_t text_count(const char *line) {
  int64_t words = 0;
  for (int inside = 0; *line; line++) {
    words += !inside && !is_blank(*line);
    inside = !is_blank(*line);
  }
  return words;
}

int text_check_rows(const struct text *text, const char *line, int64_t rows) {
  enum { SMALL = 1 << 20 }; /* so few are let through: reading on will tell what is missing */
  int64_t words = text_count(line), least;
  /* A byte for each, and one that parts it from the next. */
  int fits = !__builtin_mul_overflow(2 * words, rows, &least);
  if (!fits || (least > SMALL && text->file && !gzip_may_hold(text->file, least - 1)))
    TEXT_FAIL(text, "has %lld values; %lld such lines are expected, and the file is too small for them",
              (long long)words, (long long)rows);
  return OK;
}

const char *text_quote(const char *at, char quote[TEXT_QUOTE]) {
  while (is_blank(*at)) at++;
  if (!*at) return "the end of the line";
  int n = 0;
  quote[n++] = '"';
  for (; !ends_word(*at) && n < TEXT_QUOTE - 5; at++) quote[n++] = *at < ' ' || *at > '~' ? '?' : *at;
  snprintf(quote + n, (size_t)(TEXT_QUOTE - n), "%s\"", ends_word(*at) ? "" : "...");
  return quote;
}

int text_int(const struct text *text, char **at, int64_t *value, const char *expected) {
  char quote[TEXT_QUOTE];
  text_more(at);
  const char *p = *at;
  int negative = *p == '-';
  if (*p == '-' || *p == '+') p++;
  const char *digits = p;
  int64_t magnitude = 0;
  int overflow = 0;
  for (; *p >= '0' && *p <= '9'; p++) {
    overflow |= __builtin_mul_overflow(magnitude, 10, &magnitude);
    overflow |= __builtin_add_overflow(magnitude, *p - '0', &magnitude);
  }
  if (p == digits || !ends_word(*p))
    TEXT_FAIL(text, "expected %s, found %s", expected, text_quote(*at, quote));
  if (overflow) TEXT_FAIL(text, "the number %s does not fit in 64 bits", text_quote(*at, quote));
  *value = negative ? -magnitude : magnitude;
  *at += p - *at;
  return OK;
}

int text_double(const struct text *text, char **at, double *value, const char *expected) {
  char quote[TEXT_QUOTE], *end;
  text_more(at);
  *value = strtod(*at, &end);
  if (end == *at || !ends_word(*end))
    TEXT_FAIL(text, "expected %s, found %s", expected, text_quote(*at, quote));
  *at = end;
  return OK;
}

int text_real(const struct text *text, char **at, float *value, const char *expected) {
  char quote[TEXT_QUOTE];
  double number;
  text_more(at);
  const char *word = *at;
  TRY(text_double(text, at, &number, expected));
  *value = (float)number;
  if (!isfinite(*value))
    TEXT_FAIL(text, "%s is not a finite single-precision number", text_quote(word, quote));
  return OK;
}

int text_end(const struct text *text, char **at, const char *expected) {
  char quote[TEXT_QUOTE];
  if (text_more(at)) TEXT_FAIL(text, "expected %s, found %s", expected, text_quote(*at, quote));
  return OK;
}
