#include <strings.h>

#include "io/import/import_arcs.h"
#include "runtime/base/base.h"

struct matrix {
  struct text *text;
  struct import *import;
  int valued, symmetric;
  int64_t rows, cols, entries, size_line;
};

static int word_is(const char *word, const char *name) {
  return word && strcasecmp(word, name) == 0;
}

/* "%%MatrixMarket matrix coordinate real general" */
static int read_banner(struct matrix *matrix) {
  const struct text *text = matrix->text;
  char *line, *word[5], quote[TEXT_QUOTE];
  TRY(text_next(matrix->text, &line));
  if (!line) FAIL(BAD_INPUT, "%s: is empty", text->path);
  const char *found = text_quote(line, quote);
  for (int i = 0; i < 5; i++) word[i] = text_word(&line);
  if (!word_is(word[0], "%%MatrixMarket")) TEXT_FAIL(text, "expected %%%%MatrixMarket, found %s", found);
  if (!word_is(word[1], "matrix") || !word_is(word[2], "coordinate"))
    TEXT_FAIL(text, "\"%.20s %.20s\" is not read; allowed: matrix coordinate", word[1] ? word[1] : "",
              word[2] ? word[2] : "");
  matrix->valued = word_is(word[3], "real") || word_is(word[3], "integer");
  if (!matrix->valued && !word_is(word[3], "pattern"))
    TEXT_FAIL(text, "entries of type \"%.20s\" are not read; allowed: pattern, real, integer",
              word[3] ? word[3] : "");
  matrix->symmetric = word_is(word[4], "symmetric");
  if (!matrix->symmetric && !word_is(word[4], "general"))
    TEXT_FAIL(text, "symmetry \"%.20s\" is not read; allowed: general, symmetric", word[4] ? word[4] : "");
  return OK;
}

static int read_size(struct matrix *matrix) {
  const struct text *text = matrix->text;
  static const char expected[] = "rows, columns and entries";
  char *line;
  TRY(text_filled_row(matrix->text, "%", &line));
  if (!line) TEXT_FAIL(text, "the file ends before the line of %s", expected);
  TRY(text_int(text, &line, &matrix->rows, expected));
  TRY(text_int(text, &line, &matrix->cols, expected));
  TRY(text_int(text, &line, &matrix->entries, expected));
  TRY(text_end(text, &line, expected));
  matrix->size_line = text->line;
  if (matrix->rows < 0 || matrix->cols < 0 || matrix->entries < 0 || matrix->rows > INT32_MAX ||
      matrix->cols > INT32_MAX)
    TEXT_FAIL(text, "sizes %lld x %lld; allowed: 0 .. %d", (long long)matrix->rows, (long long)matrix->cols,
              INT32_MAX);
  if (matrix->symmetric && matrix->rows != matrix->cols)
    TEXT_FAIL(text, "a symmetric matrix of %lld x %lld", (long long)matrix->rows, (long long)matrix->cols);
  return OK;
}

static int read_index(const struct text *text, char **at, int64_t size, int64_t *index) {
  TRY(text_int(text, at, index, "a row and a column"));
  if (*index < 1 || *index > size)
    TEXT_FAIL(text, "index %lld is outside 1 .. %lld", (long long)*index, (long long)size);
  return OK;
}

/* Columns of a rectangle are nodes behind its rows. */
static int64_t column_offset(const struct matrix *matrix) {
  return matrix->rows == matrix->cols ? 0 : matrix->rows;
}

static int read_entry(const struct matrix *matrix, const struct text *text, char *line, struct arcs *arcs) {
  int64_t i, j;
  float value = 1;
  TRY(read_index(text, &line, matrix->rows, &i));
  TRY(read_index(text, &line, matrix->cols, &j));
  if (matrix->valued) TRY(text_real(text, &line, &value, "a value"));
  TRY(text_end(text, &line, matrix->valued ? "row, column and value" : "row and column"));
  return arcs_add(arcs, i, j + column_offset(matrix), value);
}

static int read_lines(void *matrix, struct text *text, struct arcs *arcs) {
  char *line;
  for (;;) {
    TRY(text_filled_row(text, "%", &line));
    if (!line) return OK;
    TRY(read_entry(matrix, text, line, arcs));
  }
}

static int read_entries(struct matrix *matrix) {
  static const struct arc_reader reader = {sizeof *matrix, read_lines, NULL};
  struct edges *edges = &matrix->import->edges;
  TRY(import_arc_lines(matrix->import, matrix->text, &reader, matrix));
  if (edges->list.count != matrix->entries)
    FAIL(BAD_INPUT, "%s:%lld: declares %lld entries, the file has %lld", matrix->text->path,
         (long long)matrix->size_line, (long long)matrix->entries, (long long)edges->list.count);
  edges->base = 1;
  edges->nodes = matrix->cols + column_offset(matrix);
  if (matrix->symmetric || column_offset(matrix)) edges->undirected = 1;
  char what[sizeof matrix->text->path + 64];
  snprintf(what, sizeof what, "%s:%lld: rows and columns", matrix->text->path, (long long)matrix->size_line);
  return import_check_size(edges->nodes, edges->list.count, what);
}

int import_mtx(struct import *import) {
  ENDED_BY(text_close) struct text text = {0};
  struct matrix matrix = {.text = &text, .import = import};
  TRY(text_open(&text, import->options->input));
  TRY(read_banner(&matrix));
  TRY(read_size(&matrix));
  TRY(read_entries(&matrix));
  import->valued = matrix.valued;
  return OK;
}
