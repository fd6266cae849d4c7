#include "io/file/csv.h"

#include "runtime/base/base.h"

enum { CSV_BLOCK = 8 << 20 };

struct csv {
  struct text text;
  struct line {
    char *text;
    int64_t number; /* in the file, from 1 */
  } * line;         /* of the block, without comments */
  int64_t lines, capacity, rows;
};

static int add_line(struct csv *csv, char *line, char *end) {
  if (csv->lines == csv->capacity) {
    int64_t capacity = 2 * csv->capacity + 1024, bytes = (int64_t)sizeof *csv->line;
    TRY(memory_grow(&csv->line, csv->lines * bytes, capacity * bytes, "lines of a block"));
    csv->capacity = capacity;
  }
  csv->line[csv->lines++] = (struct line){line, csv->text.line};
  if (end > line && end[-1] == '\r') end--;
  *end = '\0';
  return OK;
}

/* The lines of the next block, each ended by a NUL; *length 0 at the end of the file. */
static int next_block(struct csv *csv, int64_t *length) {
  char *block;
  csv->lines = 0;
  TRY(text_block(&csv->text, CSV_BLOCK, &block, length));
  char *nul = memchr(block, '\0', (size_t)*length);
  for (char *at = block, *stop = block + *length, *end; at < stop; at = end + 1) {
    end = memchr(at, '\n', (size_t)(stop - at));
    if (!end) end = stop;
    csv->text.line++;
    if (*at != '#') TRY(add_line(csv, at, end));
    if (nul && nul < end) TEXT_FAIL(&csv->text, "holds a NUL byte: not a %s file", "text");
  }
  return OK;
}

static int take_row(const struct csv *csv, const struct csv_reader *reader, void *context,
                    const struct text *place, int64_t i) {
  TRY(text_fields(place, csv->line[i].text));
  return reader->row(context, place, csv->line[i].text, csv->rows + i);
}

/* The first row of the block that is refused, or the number of rows. */
static int64_t find_refused(const struct csv *csv, const struct csv_reader *reader, void *context) {
  int64_t refused = csv->lines;
#pragma omp parallel reduction(min : refused)
  {
    struct text place = csv->text; /* for messages, which each thread has its own of */
#pragma omp for schedule(static)
    for (int64_t i = 0; i < csv->lines; i++) {
      place.line = csv->line[i].number;
      if (i < refused && take_row(csv, reader, context, &place, i) != OK) refused = i;
    }
  }
  return refused;
}

/* Hands the block's rows to the reader; each message names the line that it is about. */
static int take_rows(struct csv *csv, const struct csv_reader *reader, void *context) {
  struct text place = csv->text;
  place.line = csv->line[0].number;
  if (reader->room) TRY(reader->room(context, &place, csv->line[0].text, csv->rows + csv->lines));
  int64_t refused = find_refused(csv, reader, context);
  if (refused == csv->lines) return OK;
  place.line = csv->line[refused].number;
  return take_row(csv, reader, context, &place, refused); /* once more: this thread's message is printed */
}

static int check_more(const struct csv *csv, int64_t expected) {
  struct text place = csv->text;
  if (!expected || csv->rows + csv->lines <= expected) return OK;
  place.line = csv->line[expected - csv->rows].number;
  TEXT_FAIL(&place, "there are more rows than the %lld expected", (long long)expected);
}

static int read_blocks(struct csv *csv, const struct csv_reader *reader, void *context) {
  for (int64_t length;; csv->rows += csv->lines) {
    TRY(next_block(csv, &length));
    if (length == 0) break;
    TRY(check_more(csv, reader->expected));
    if (csv->lines > 0) TRY(take_rows(csv, reader, context));
  }
  if (csv->rows < reader->expected)
    TEXT_FAIL(&csv->text, "the file ends after %lld of %lld rows", (long long)csv->rows,
              (long long)reader->expected);
  return OK;
}

int csv_read(const char *path, const struct csv_reader *reader, void *context, int64_t *rows) {
  struct csv csv = {0};
  int code = text_open(&csv.text, path);
  if (code == OK) code = read_blocks(&csv, reader, context);
  *rows = csv.rows;
  text_close(&csv.text);
  free(csv.line);
  return code;
}
