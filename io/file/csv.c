#include "io/file/csv.h"

#include "runtime/base/base.h"

enum { CSV_BLOCK = 8 << 20 };

struct csv {
  struct text text;
  char **line; /* of the block */
  int64_t lines, capacity, rows;
};

static int add_line(struct csv *csv, char *line, char *end) {
  if (csv->lines == csv->capacity) {
    int64_t capacity = 2 * csv->capacity + 1024, bytes = (int64_t)sizeof *csv->line;
    TRY(memory_grow(&csv->line, csv->lines * bytes, capacity * bytes, "lines of a block"));
    csv->capacity = capacity;
  }
  csv->line[csv->lines++] = line;
  if (end > line && end[-1] == '\r') end--;
  *end = '\0';
  return OK;
}

/* The lines of the next block, each ended by a NUL; none at the end of the file. */
static int next_block(struct csv *csv) {
  char *block;
  int64_t length;
  csv->text.line = csv->rows;
  csv->lines = 0;
  TRY(text_block(&csv->text, CSV_BLOCK, &block, &length));
  char *nul = memchr(block, '\0', (size_t)length);
  for (char *at = block, *stop = block + length, *end; at < stop; at = end + 1) {
    end = memchr(at, '\n', (size_t)(stop - at));
    if (!end) end = stop;
    TRY(add_line(csv, at, end));
    csv->text.line = csv->rows + csv->lines;
    if (nul && nul < end) TEXT_FAIL(&csv->text, "holds a NUL byte: not a %s file", "text");
  }
  return OK;
}

static int take_row(const struct csv *csv, const struct csv_reader *reader, void *context,
                    const struct text *place, int64_t i) {
  TRY(text_fields(place, csv->line[i]));
  return reader->row(context, place, csv->line[i], csv->rows + i);
}

/* The first row of the block that is refused, or the number of rows. */
static int64_t find_refused(const struct csv *csv, const struct csv_reader *reader, void *context) {
  int64_t refused = csv->lines;
#pragma omp parallel reduction(min : refused)
  {
    struct text place = csv->text; /* for messages, which each thread has its own of */
#pragma omp for schedule(static)
    for (int64_t i = 0; i < csv->lines; i++) {
      place.line = csv->rows + i + 1;
      if (i < refused && take_row(csv, reader, context, &place, i) != OK) refused = i;
    }
  }
  return refused;
}

static int read_blocks(struct csv *csv, const struct csv_reader *reader, void *context) {
  for (;;) {
    TRY(next_block(csv));
    if (csv->lines == 0) return OK;
    csv->text.line = csv->rows + 1;
    if (reader->room) TRY(reader->room(context, &csv->text, csv->line[0], csv->rows + csv->lines));
    int64_t refused = find_refused(csv, reader, context);
    csv->text.line = csv->rows + refused + 1;
    /* Once more, on this thread: its message is the one that will be printed. */
    if (refused < csv->lines) TRY(take_row(csv, reader, context, &csv->text, refused));
    csv->rows += csv->lines;
  }
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

int csv_check_rows(const char *path, int64_t rows, int64_t expected) {
  if (rows < expected)
    FAIL(BAD_INPUT, "%s:%lld: the file ends after %lld of %lld rows", path, (long long)rows, (long long)rows,
         (long long)expected);
  return OK;
}
