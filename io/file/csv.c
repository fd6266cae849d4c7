#include "io/file/csv.h"

#include "io/file/text_pieces.h"
#include "runtime/base/base.h"

/* The rows of a piece of text: its lines without comments. */
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
  struct rows *rows = &((struct csv *)context)->piece[p];
  char *line;
  for (rows->count = 0;;) {
    TRY(text_next(lines, &line));
    if (!line) return OK;
    if (*line != '#') TRY(add_line(rows, line, lines->line));
  }
}

/* For messages about a line. */
static struct text place_of(const struct csv *csv, int64_t number) {
  struct text place = *csv->text;
  place.line = number;
  return place;
}

static int take_row(const struct csv *csv, const struct rows *rows, struct text *place, int64_t i) {
  place->line = rows->line[i].number;
  TRY(text_fields(place, rows->line[i].text));
  return csv->reader->row(csv->context, place, rows->line[i].text, rows->first + i);
}

/* The first row of a piece that is refused, or the number of its rows. */
static int64_t find_refused(const struct csv *csv, const struct rows *rows) {
  struct text place = place_of(csv, 0);
  int64_t i = 0;
  while (i < rows->count && take_row(csv, rows, &place, i) == OK) i++;
  return i;
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
  int refused = pieces; /* the first piece with a row that is */
#pragma omp parallel for schedule(dynamic, 1) reduction(min : refused)
  for (int p = 0; p < pieces; p++) {
    if (find_refused(csv, &csv->piece[p]) < csv->piece[p].count) refused = p < refused ? p : refused;
  }
  if (refused == pieces) return OK;
  const struct rows *rows = &csv->piece[refused];
  for (int64_t i = 0; i < rows->count; i++)
    TRY(take_row(csv, rows, &place, i)); /* so that this thread has the message */
  return OK;
}

static int read_rows(struct csv *csv, const char *path) {
  const struct text_pieces reader = {find_rows, take_rows};
  int64_t expected = csv->reader->expected;
  TRY(text_open(csv->text, path));
  TRY(text_pieces_read(csv->text, &reader, csv));
  if (csv->rows < expected)
    TEXT_FAIL(csv->text, "the file ends after %lld of %lld rows", (long long)csv->rows, (long long)expected);
  return OK;
}

int csv_read(const char *path, const struct csv_reader *reader, void *context, int64_t *rows) {
  ENDED_BY(text_close) struct text text = {0};
  struct csv csv = {.reader = reader, .context = context, .text = &text};
  int pieces = text_pieces_most();
  TRY(memory_arrays("lines of a block", ROOM(&csv.piece, pieces)));
  int code = read_rows(&csv, path);
  *rows = csv.rows;
  for (int p = 0; p < pieces; p++) free(csv.piece[p].line);
  free(csv.piece);
  return code;
}
