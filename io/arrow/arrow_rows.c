#include "io/arrow/arrow_rows.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/base/base.h"

enum { REASON = 256, VIEW = 16, VIEW_TEXT = 12 }; /* bytes of a view, of a text in it */

struct column {
  char format;     /* as letter_of has it; 0: a column that is not read */
  char dictionary; /* of the values that indices point to; 0: the column has values itself */
};

struct arrow_rows {
  const char *path;
  struct ArrowArrayStream stream;
  struct ArrowArray array; /* rows of it, from `row` on not yet given out; release NULL: none */
  int64_t row;
  struct column *column; /* [columns]; NULL: the schema has not been read */
  int64_t columns;
  char *text; /* [size]: [at, end) is not yet given out */
  int64_t size, at, end;
  int failed; /* memory was short */
  char reason[REASON];
};

struct arrow_rows *arrow_rows_open(struct ArrowArrayStream *stream, const char *path) {
  struct arrow_rows *rows = calloc(1, sizeof *rows);
  if (!rows) {
    stream->release(stream);
    return NULL;
  }
  rows->stream = *stream;
  rows->path = path;
  return rows;
}

static void drop_array(struct arrow_rows *rows) {
  if (rows->array.release) rows->array.release(&rows->array);
  rows->array.release = NULL;
}

void arrow_rows_close(void *context) {
  struct arrow_rows *rows = context;
  if (!rows) return;
  drop_array(rows);
  rows->stream.release(&rows->stream);
  free_all(rows->column, rows->text);
  free(rows);
}

static int fail(struct arrow_rows *rows, const char *what, const char **reason) {
  snprintf(rows->reason, sizeof rows->reason, "%s", what);
  *reason = rows->reason;
  return -1;
}

/* What a call of the stream has brought: 0, or an error that it may describe. */
static int check_call(struct arrow_rows *rows, int error, const char **reason) {
  const char *text = error ? rows->stream.get_last_error(&rows->stream) : NULL;
  return error ? fail(rows, text ? text : strerror(error), reason) : 0;
}

static char *room_for(struct arrow_rows *rows, int64_t bytes) {
  if (rows->end + bytes > rows->size) {
    const int64_t size = larger(2 * rows->size, rows->end + bytes);
    char *text = realloc(rows->text, (size_t)size);
    rows->failed |= !text;
    if (!text) return NULL;
    rows->text = text;
    rows->size = size;
  }
  return rows->text + rows->end;
}

static void put_bytes(struct arrow_rows *rows, const char *bytes, int64_t length) {
  char *to = length > 0 ? room_for(rows, length) : NULL;
  if (!to) return;
  memcpy(to, bytes, (size_t)length);
  rows->end += length;
}

/* In quotes, quotes doubled, where a reader of tables would misread it. */
static void put_text(struct arrow_rows *rows, const char *text, int64_t length) {
  int plain = 1;
  for (int64_t i = 0; i < length && plain; i++) plain = !strchr("\",\t;\r\n", text[i]);
  if (plain) {
    put_bytes(rows, text, length);
    return;
  }
  put_bytes(rows, "\"", 1);
  for (int64_t i = 0; i < length; i++)
    put_bytes(rows, text[i] == '"' ? "\"\"" : text + i, 1 + (text[i] == '"'));
  put_bytes(rows, "\"", 1);
}

static void put_natural(struct arrow_rows *rows, uint64_t value, int negative) {
  char digits[24];
  int at = sizeof digits;
  do {
    digits[--at] = (char)('0' + value % 10);
  } while (value /= 10);
  if (negative) digits[--at] = '-';
  put_bytes(rows, digits + at, (int64_t)sizeof digits - at);
}

static void put_integer(struct arrow_rows *rows, int64_t value) {
  put_natural(rows, value < 0 ? -(uint64_t)value : (uint64_t)value, value < 0);
}

static void put_real(struct arrow_rows *rows, double value, int digits) {
  char text[40];
  put_bytes(rows, text, snprintf(text, sizeof text, "%.*g", digits, value));
}

/* IEEE 754's 16 bits. */
static double half_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                           : exponent == 0 ? ldexp(fraction, -24)
                                           : ldexp(1024 + fraction, exponent - 25);
  return bits >> 15 ? -magnitude : magnitude;
}

static int bit_of(const void *bits, int64_t i) {
  return ((const uint8_t *)bits)[i / 8] >> (i % 8) & 1;
}

/* Number i of the buffers of whole numbers of that format. */
static int64_t integer_at(char format, const void *values, int64_t i) {
  switch (format) {
  case 'c':
    return ((const int8_t *)values)[i];
  case 'C':
    return ((const uint8_t *)values)[i];
  case 's':
    return ((const int16_t *)values)[i];
  case 'S':
    return ((const uint16_t *)values)[i];
  case 'i':
    return ((const int32_t *)values)[i];
  case 'I':
    return ((const uint32_t *)values)[i];
  default:
    return ((const int64_t *)values)[i];
  }
}

/* A text by its view: its length, then the text or, of a longer one, its begin, its buffer and its place
 * there. */
static void put_viewed(struct arrow_rows *rows, const struct ArrowArray *array, int64_t i) {
  const char *view = (const char *)array->buffers[1] + VIEW * i;
  int32_t number[4];
  memcpy(number, view, sizeof number);
  const int is_inside = number[0] <= VIEW_TEXT;
  put_text(rows, is_inside ? view + 4 : (const char *)array->buffers[2 + number[2]] + number[3], number[0]);
}

static void put_value(struct arrow_rows *rows, char format, const struct ArrowArray *array, int64_t i) {
  const void *values = array->buffers[1];
  if (array->buffers[0] && !bit_of(array->buffers[0], i)) return;
  if (strchr("cCsSiIl", format)) put_integer(rows, integer_at(format, values, i));
  if (format == 'L') put_natural(rows, ((const uint64_t *)values)[i], 0);
  if (format == 'b') put_integer(rows, bit_of(values, i));
  if (format == 'e') put_real(rows, half_value(((const uint16_t *)values)[i]), 9);
  if (format == 'f') put_real(rows, (double)((const float *)values)[i], 9);
  if (format == 'g') put_real(rows, ((const double *)values)[i], 17);
  if (format == 'v') put_viewed(rows, array, i);
  if (format != 'u' && format != 'U') return;
  const int64_t from = integer_at(format == 'u' ? 'i' : 'l', values, i),
                to = integer_at(format == 'u' ? 'i' : 'l', values, i + 1);
  put_text(rows, (const char *)array->buffers[2] + from, to - from);
}

/* A field of row `row` of the struct that a batch is. */
static void put_field(struct arrow_rows *rows, const struct column *column, const struct ArrowArray *array,
                      int64_t row) {
  int64_t i = array->offset + row;
  if (!column->format) return;
  if (!column->dictionary) {
    put_value(rows, column->format, array, i);
    return;
  }
  if (array->buffers[0] && !bit_of(array->buffers[0], i)) return;
  i = integer_at(column->format, array->buffers[1], i);
  put_value(rows, column->dictionary, array->dictionary, array->dictionary->offset + i);
}

/* A line that is empty is none: a table of one column has quotes where a value is missing. */
static void put_row(struct arrow_rows *rows) {
  const int64_t row = rows->array.offset + rows->row++;
  for (int64_t c = 0; c < rows->columns; c++) {
    const int64_t before = rows->end;
    if (c > 0) put_bytes(rows, ",", 1);
    put_field(rows, &rows->column[c], rows->array.children[c], row);
    if (rows->columns == 1 && rows->end == before) put_bytes(rows, "\"\"", 2);
  }
  put_bytes(rows, "\n", 1);
}

/* The letter of a format that is one of those, where "v" is texts by views; 0: it is another one. */
static char letter_of(const char *format, const char *formats) {
  if (strcmp(format, "vu") == 0) format = "v";
  return format[0] && !format[1] && strchr(formats, format[0]) ? *format : 0;
}

static void take_column(struct arrow_rows *rows, const struct ArrowSchema *schema, struct column *column) {
  const struct ArrowSchema *values = schema->dictionary ? schema->dictionary : schema;
  const char letter = letter_of(values->format, "cCsSiIlLbefguUv");
  column->format = schema->dictionary && letter ? letter_of(schema->format, "cCsSiIlL") : letter;
  column->dictionary = schema->dictionary ? letter : 0;
  if (column->format) return;
  log_info("%s: column \"%s\" is passed over: its values are neither numbers nor texts (Arrow's type %s)",
           rows->path, schema->name ? schema->name : "", values->format);
}

static void put_head(struct arrow_rows *rows, const struct ArrowSchema *schema) {
  for (int64_t c = 0; c < schema->n_children; c++) {
    const char *name = schema->children[c]->name;
    if (c > 0) put_bytes(rows, ",", 1);
    if (name) put_text(rows, name, (int64_t)strlen(name));
  }
  put_bytes(rows, "\n", 1);
}

static int take_schema(struct arrow_rows *rows, const struct ArrowSchema *schema, const char **reason) {
  if (strcmp(schema->format, "+s") != 0) return fail(rows, "what Arrow gives is no table", reason);
  rows->columns = schema->n_children;
  rows->column = calloc((size_t)rows->columns + 1, sizeof *rows->column);
  if (!rows->column) return fail(rows, strerror(ENOMEM), reason);
  put_head(rows, schema);
  for (int64_t c = 0; c < rows->columns; c++) take_column(rows, schema->children[c], &rows->column[c]);
  return 0;
}

void arrow_rows_skip(void *context, int64_t column) {
  struct arrow_rows *rows = context;
  if (rows->column && column < rows->columns) rows->column[column].format = 0;
}

static int read_schema(struct arrow_rows *rows, const char **reason) {
  struct ArrowSchema schema = {0};
  int code = check_call(rows, rows->stream.get_schema(&rows->stream, &schema), reason);
  if (code == 0) code = take_schema(rows, &schema, reason);
  if (schema.release) schema.release(&schema);
  return code;
}

/* 1: there are rows, or there may be after another call; 0: there are none left; -1. */
static int next_array(struct arrow_rows *rows, const char **reason) {
  if (!rows->column) return read_schema(rows, reason) < 0 ? -1 : 1;
  drop_array(rows);
  if (check_call(rows, rows->stream.get_next(&rows->stream, &rows->array), reason) < 0) return -1;
  rows->row = 0;
  return rows->array.release != NULL;
}

/* Text of `size` bytes or of what there is. */
static int fill(struct arrow_rows *rows, int64_t size, const char **reason) {
  rows->at = rows->end = 0;
  while (rows->end < size && !rows->failed) {
    if (rows->array.release && rows->row < rows->array.length) {
      put_row(rows);
      continue;
    }
    int code = next_array(rows, reason);
    if (code <= 0) return code;
  }
  return rows->failed ? fail(rows, strerror(ENOMEM), reason) : 0;
}

int64_t arrow_rows_read(void *context, char *to, int64_t size, const char **reason) {
  struct arrow_rows *rows = context;
  int64_t read = 0;
  while (read < size) {
    if (rows->at == rows->end && fill(rows, size - read, reason) < 0) return -1;
    const int64_t bytes = smaller(size - read, rows->end - rows->at);
    if (bytes == 0) return read;
    memcpy(to + read, rows->text + rows->at, (size_t)bytes);
    rows->at += bytes;
    read += bytes;
  }
  return read;
}
