#include "io/file/csv.h"

#include <math.h>

#include "io/file/text_pieces.h"
#include "runtime/base/base.h"
#include "runtime/config/edit_distance.h"

/* The rows of a piece of text: its lines without comments, those of a table without empty ones. */
struct rows {
  struct line {
    char *text;
    int64_t number; /* in the file, from 1 */
  } * line;
  int64_t count, capacity;
  int64_t first; /* number of the first one, from 0 */
};

struct csv {
  const struct csv_reader *reader;
  void *context;
  struct text *text;
  struct rows *piece;
  int64_t rows; /* of the blocks before */
};

static int add_line(struct rows *rows, char *line, int64_t number) {
  if (rows->count == rows->capacity) {
    int64_t capacity = 2 * rows->capacity + 1024, bytes = (int64_t)sizeof *rows->line;
    TRY(memory_grow(&rows->line, rows->count * bytes, capacity * bytes, "lines of a block"));
    rows->capacity = capacity;
  }
  rows->line[rows->count++] = (struct line){line, number};
  return OK;
}

static int find_rows(void *context, struct text *lines, int p) {
  const struct csv *csv = context;
  struct rows rows = csv->piece[p]; /* the thread's own: its neighbours lie in the same line of the cache */
  char *line = NULL;
  int code;
  rows.count = 0;
  do {
    code = text_next(lines, &line);
    if (code == OK && line && *line != (csv->text->quoted ? '\0' : '#'))
      code = add_line(&rows, line, lines->line);
  } while (code == OK && line);
  csv->piece[p] = rows;
  return code;
}

/* For messages about a line. */
static struct text place_of(const struct csv *csv, int64_t number) {
  struct text place = *csv->text;
  place.line = number;
  return place;
}

static int take_piece(const struct csv *csv, const struct rows *rows) {
  struct text place = place_of(csv, 0);
  for (int64_t i = 0; i < rows->count; i++) {
    place.line = rows->line[i].number;
    if (!place.quoted) TRY(text_fields(&place, rows->line[i].text));
    TRY(csv->reader->row(csv->context, &place, rows->line[i].text, rows->first + i));
  }
  return OK;
}

static int check_more(const struct csv *csv, int pieces) {
  int64_t expected = csv->reader->expected;
  for (int p = 0; expected && p < pieces; p++) {
    const struct rows *rows = &csv->piece[p];
    if (rows->first + rows->count <= expected) continue;
    struct text place = place_of(csv, rows->line[expected - rows->first].number);
    TEXT_FAIL(&place, "there are more rows than the %lld expected", (long long)expected);
  }
  return OK;
}

/* Hands the rows of a block to the reader; each message names the line that it is about. */
static int take_rows(void *context, int pieces) {
  struct csv *csv = context;
  const struct csv_reader *reader = csv->reader;
  int64_t end = csv->rows;
  const struct line *first = NULL;
  for (int p = 0; p < pieces; p++) {
    csv->piece[p].first = end;
    end += csv->piece[p].count;
    if (!first && csv->piece[p].count > 0) first = csv->piece[p].line;
  }
  csv->rows = end;
  TRY(check_more(csv, pieces));
  if (!first) return OK;
  struct text place = place_of(csv, first->number);
  if (reader->room) TRY(reader->room(csv->context, &place, first->text, end));
  struct error_first refused = {0};
#pragma omp parallel for schedule(dynamic, 1)
  for (int p = 0; p < pieces; p++) error_note(&refused, p, take_piece(csv, &csv->piece[p]));
  TRY(error_raise_noted(&refused));
  return reader->block ? reader->block(csv->context, &place, end) : OK;
}

static int read_rows(struct csv *csv) {
  const struct text_pieces reader = {find_rows, take_rows};
  int64_t expected = csv->reader->expected;
  TRY(text_pieces_read(csv->text, &reader, csv));
  if (csv->rows < expected)
    TEXT_FAIL(csv->text, "the file ends after %lld of %lld rows", (long long)csv->rows, (long long)expected);
  return OK;
}

int csv_read_text(struct text *text, const struct csv_reader *reader, void *context, int64_t *rows) {
  struct csv csv = {.reader = reader, .context = context, .text = text};
  int pieces = text_pieces_most();
  TRY(memory_arrays("lines of a block", ROOM(&csv.piece, pieces)));
  int code = read_rows(&csv);
  *rows = csv.rows;
  for (int p = 0; p < pieces; p++) free(csv.piece[p].line);
  free(csv.piece);
  return code;
}

int csv_read(const char *path, const struct csv_reader *reader, void *context, int64_t *rows) {
  ENDED_BY(text_close) struct text text = {0};
  *rows = 0;
  TRY(text_open(&text, path));
  return csv_read_text(&text, reader, context, rows);
}

const char *csv_quote(const char *cell, char quote[CSV_QUOTE]) {
  enum { SHOWN = 40 };
  int length = (int)strcspn(cell, "\r\n"), cut = length > SHOWN || cell[length];
  if (length > SHOWN) length = SHOWN;
  while (cut && length > 0 && (cell[length] & 0xc0) == 0x80) length--; /* whole characters */
  int good = text_is_utf8(cell, length);
  quote[0] = '"';
  for (int i = 0; i < length; i++) quote[i + 1] = !good && (cell[i] & 0x80) ? '?' : cell[i];
  snprintf(quote + 1 + length, (size_t)(CSV_QUOTE - 1 - length), "%s\"", cut ? "..." : "");
  return quote;
}

/* Cuts a field in quotes: *at leads behind the closing one. */
static int cut_quoted(const struct text *text, char **at, char **cell) {
  char *to = *cell = *at + 1, *from = to, quote[CSV_QUOTE];
  for (;;) {
    char *end = strchr(from, '"');
    if (!end) TEXT_FAIL(text, "the quotes of %s are not closed", csv_quote(*cell, quote));
    if (to != from) memmove(to, from, (size_t)(end - from));
    to += end - from;
    from = end + 1;
    if (*from != '"') break;
    *to++ = *from++;
  }
  *at = from;
  *to = '\0';
  return OK;
}

int csv_cell(const struct text *text, char separator, char **at, char **cell) {
  char quote[CSV_QUOTE];
  *cell = *at;
  if (**at == '"') {
    TRY(cut_quoted(text, at, cell));
    if (**at && **at != separator)
      TEXT_FAIL(
          text,
          "%s stands behind the closing quote of %s; quotes stand around a whole field, and double in it",
          csv_quote(*at, quote), csv_quote(*cell, (char[CSV_QUOTE]){0}));
  } else {
    while (**at && **at != separator && **at != '"') ++*at;
    if (**at == '"')
      TEXT_FAIL(text, "a quote inside of %s; a field that has one stands in quotes, and has it doubled",
                csv_quote(*cell, quote));
  }
  if (**at == '\0') {
    *at = NULL;
  } else {
    *(*at)++ = '\0';
  }
  return OK;
}

int csv_number(const struct text *text, const char *column, const char *cell, float *value) {
  char quote[CSV_QUOTE], name[CSV_QUOTE], *end;
  double number = strtod(cell, &end);
  int empty = cell[strspn(cell, " ")] == '\0', good = end != cell && end[strspn(end, " ")] == '\0';
  if (empty) TEXT_FAIL(text, "column %s is empty; a number is expected", csv_quote(column, name));
  if (!good)
    TEXT_FAIL(text, "column %s: expected a number, found %s", csv_quote(column, name),
              csv_quote(cell, quote));
  *value = (float)number;
  if (!isfinite(*value))
    TEXT_FAIL(text, "column %s: %s is not a finite single-precision number", csv_quote(column, name),
              csv_quote(cell, quote));
  return OK;
}

void csv_head_free(struct csv_head *head) {
  free_all(head->name, head->line);
  *head = (struct csv_head){0};
}

/* The first of these that stands outside of quotes. */
static char find_separator(const char *line) {
  for (const char *separator = "\t,;"; *separator; separator++) {
    int open = 0;
    for (const char *at = line; *at; at++) {
      open ^= *at == '"';
      if (!open && *at == *separator) return *separator;
    }
  }
  return ',';
}

int csv_head_read(struct csv_head *head, struct text *text) {
  char *line;
  *head = (struct csv_head){0};
  text->quoted = 1;
  TRY(text_next(text, &line));
  if (!line || !*line)
    FAIL(BAD_INPUT, "%s:1: is empty; a line with the names of its columns is expected", text->path);
  int64_t bytes = (int64_t)strlen(line) + 1, most = 1;
  head->separator = find_separator(line);
  TRY(memory_arrays("names of columns", ROOM(&head->line, bytes)));
  memcpy(head->line, line, (size_t)bytes);
  for (const char *at = line; *at; at++) most += *at == head->separator;
  TRY(memory_arrays("names of columns", ROOM(&head->name, most)));
  for (char *at = head->line; at;) TRY(csv_cell(text, head->separator, &at, &head->name[head->columns++]));
  return OK;
}

int64_t csv_head_column(const struct csv_head *head, const char *name) {
  for (int64_t c = 0; c < head->columns; c++) {
    if (strcmp(head->name[c], name) == 0) return c;
  }
  return -1;
}

/* The name that is nearest to one that is not there; NULL: none is near. */
static const char *nearest(const struct csv_head *head, const char *name) {
  const char *best = NULL;
  int length = (int)smaller((int64_t)strlen(name), 64), least = (length + 1) / 3;
  for (int64_t c = 0; c < head->columns; c++) {
    int distance = edit_distance(name, length, head->name[c],
                                 (int)smaller((int64_t)strlen(head->name[c]), 64));
    if (distance > least || (best && distance == least)) continue;
    least = distance;
    best = head->name[c];
  }
  return best;
}

int csv_head_find(const struct csv_head *head, const struct text *text, const char *option, const char *name,
                  int64_t *column) {
  enum { NAMES = 12 };
  char names[NAMES * (CSV_QUOTE + 2) + 32] = "", quote[CSV_QUOTE], meant[CSV_QUOTE + 32] = "";
  *column = csv_head_column(head, name);
  if (*column >= 0) {
    for (int64_t c = *column + 1; c < head->columns; c++) {
      if (strcmp(head->name[c], name) == 0)
        FAIL(BAD_INPUT, "%s:1: %s: two columns are called %s", text->path, option, csv_quote(name, quote));
    }
    return OK;
  }
  size_t used = 0;
  for (int64_t c = 0; c < head->columns && c < NAMES; c++)
    used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", c ? ", " : "",
                             csv_quote(head->name[c], quote));
  if (head->columns > NAMES)
    snprintf(names + used, sizeof names - used, " and %lld more", (long long)head->columns - NAMES);
  const char *near = nearest(head, name);
  if (near) snprintf(meant, sizeof meant, "; did you mean %s?", csv_quote(near, quote));
  FAIL(BAD_INPUT, "%s:1: %s: no column %s among %s%s", text->path, option, csv_quote(name, quote), names,
       meant);
}

void csv_write_text(FILE *out, const char *text) {
  if (!strpbrk(text, ",\"\r\n")) {
    fputs(text, out);
    return;
  }
  fputc('"', out);
  for (; *text; text++) {
    if (*text == '"') fputc('"', out);
    fputc(*text, out);
  }
  fputc('"', out);
}
