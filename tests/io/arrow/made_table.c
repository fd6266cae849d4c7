#include "tests/io/arrow/made_table.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { AHEAD = 3, FIELD = 256, COLUMNS = 64 };

struct made {
  char *text;
  const char **line; /* [rows + 1] */
  int64_t row, last, each, fails;
  int *living;
};

int64_t made_rows(const char *text) {
  int64_t lines = 0;
  for (; *text; text++) lines += *text == '\n';
  return lines - 1;
}

/* Field c of a line (0: the columns); "" behind the last one. */
static const char *field(const struct made *made, int64_t line, int64_t c, char *to) {
  const char *text = made->line[line];
  for (; c > 0; c--) {
    text += strcspn(text, "|\n");
    if (*text != '|') return strcpy(to, "");
    text++;
  }
  snprintf(to, FIELD, "%.*s", (int)strcspn(text, "|\n"), text);
  return to;
}

static int64_t columns_of(const struct made *made) {
  char name[FIELD];
  int64_t count = 0;
  while (*field(made, 0, count, name)) count++;
  return count;
}

static void free_schema(struct ArrowSchema *schema) {
  --*(int *)schema->private_data;
  for (int64_t c = 0; c < schema->n_children; c++) {
    schema->children[c]->release(schema->children[c]);
    free(schema->children[c]);
  }
  if (schema->dictionary) {
    schema->dictionary->release(schema->dictionary);
    free(schema->dictionary);
  }
  free(schema->children);
  free((char *)(uintptr_t)schema->format);
  free((char *)(uintptr_t)schema->name);
  schema->release = NULL;
}

static void make_schema(struct ArrowSchema *schema, const char *name, const char *format, int *living) {
  *schema = (struct ArrowSchema){.format = strdup(format),
                                 .name = strdup(name),
                                 .flags = ARROW_FLAG_NULLABLE,
                                 .release = free_schema,
                                 .private_data = living};
  ++*living;
}

/* "name:format:dictionary" in three. */
static void cut(char *text, char **format, char **dictionary) {
  *format = strchr(text, ':');
  *(*format)++ = '\0';
  *dictionary = strchr(*format, ':');
  if (*dictionary) *(*dictionary)++ = '\0';
}

static int get_schema(struct ArrowArrayStream *stream, struct ArrowSchema *out) {
  struct made *made = stream->private_data;
  char text[FIELD], *format, *dictionary;
  make_schema(out, "", "+s", made->living);
  out->n_children = columns_of(made);
  out->children = calloc((size_t)out->n_children, sizeof *out->children);
  for (int64_t c = 0; c < out->n_children; c++) {
    field(made, 0, c, text);
    cut(text, &format, &dictionary);
    out->children[c] = calloc(1, sizeof **out->children);
    make_schema(out->children[c], text, format, made->living);
    if (!dictionary) continue;
    out->children[c]->dictionary = calloc(1, sizeof **out->children);
    make_schema(out->children[c]->dictionary, "", dictionary, made->living);
  }
  return 0;
}

static void free_array(struct ArrowArray *array) {
  --*(int *)array->private_data;
  for (int64_t c = 0; c < array->n_children; c++) {
    array->children[c]->release(array->children[c]);
    free(array->children[c]);
  }
  if (array->dictionary) {
    array->dictionary->release(array->dictionary);
    free(array->dictionary);
  }
  for (int64_t b = 0; b < array->n_buffers; b++) free((void *)(uintptr_t)array->buffers[b]);
  free(array->children);
  free(array->buffers);
  array->release = NULL;
}

static void make_array(struct ArrowArray *array, int64_t length, int64_t offset, int64_t buffers,
                       int *living) {
  *array = (struct ArrowArray){.length = length,
                               .null_count = -1,
                               .offset = offset,
                               .n_buffers = buffers,
                               .buffers = calloc((size_t)buffers + 1, sizeof *array->buffers),
                               .release = free_array,
                               .private_data = living};
  ++*living;
}

static void *buffer(struct ArrowArray *array, int b, int64_t bytes) {
  void *data = calloc(1, (size_t)bytes + 8);
  array->buffers[b] = data;
  return data;
}

static void put_integer(char format, void *values, int64_t i, long long value) {
  switch (format) {
  case 'c':
  case 'C':
    ((uint8_t *)values)[i] = (uint8_t)value;
    return;
  case 's':
  case 'S':
  case 'e':
    ((uint16_t *)values)[i] = (uint16_t)value;
    return; /* halves: their bits */
  case 'i':
  case 'I':
    ((uint32_t *)values)[i] = (uint32_t)value;
    return;
  default:
    ((uint64_t *)values)[i] = (uint64_t)value;
  }
}

/* Value i of a column of numbers or truth values. */
static void put_number(char format, void *values, int64_t i, const char *cell) {
  if (format == 'b') ((uint8_t *)values)[i / 8] |= (uint8_t)((*cell == '1') << (i % 8));
  if (format == 'f') ((float *)values)[i] = strtof(cell, NULL);
  if (format == 'g') ((double *)values)[i] = strtod(cell, NULL);
  if (!strchr("bfg", format))
    put_integer(format, values, i,
                *cell == '-' ? strtoll(cell, NULL, 0) : (long long)strtoull(cell, NULL, 0));
}

static void put_text(struct ArrowArray *array, char format, int64_t i, int64_t *used, const char *cell) {
  const int64_t length = (int64_t)strlen(cell);
  char *bytes = realloc((void *)(uintptr_t)array->buffers[2], (size_t)(*used + length) + 1);
  memcpy(bytes + *used, cell, (size_t)length);
  *used += length;
  array->buffers[2] = bytes;
  put_integer(format == 'u' ? 'i' : 'l', (void *)(uintptr_t)array->buffers[1], i + 1, (long long)*used);
}

/* Short texts stand in their view, others in the one buffer, behind what is no text of theirs. */
static void put_view(struct ArrowArray *array, int64_t i, int64_t *used, const char *cell) {
  const int32_t length = (int32_t)strlen(cell), place[2] = {0, (int32_t)*used + 1};
  char *view = (char *)(uintptr_t)array->buffers[1] + 16 * i;
  memcpy(view, &length, 4);
  memcpy(view + 4, cell, (size_t)(length <= 12 ? length : 4));
  if (length <= 12) return;
  char *bytes = realloc((void *)(uintptr_t)array->buffers[2], (size_t)(*used + 1 + length));
  memcpy(bytes + *used + 1, cell, (size_t)length);
  *used += 1 + length;
  array->buffers[2] = bytes;
  memcpy(view + 8, place, sizeof place);
}

static void fill_values(struct ArrowArray *array, const struct made *made, int64_t c, char format) {
  char cell[FIELD];
  int64_t used = 0;
  uint8_t *there = buffer(array, 0, array->offset + array->length);
  void *values = buffer(array, 1, 16 * (array->offset + array->length + 1));
  for (int64_t i = 0; i < array->offset + array->length; i++) {
    const int is_row = i >= array->offset;
    field(made, is_row ? 1 + made->row + i - array->offset : 0, c, cell);
    const int is_there = strcmp(cell, "NULL") != 0;
    there[i / 8] |= (uint8_t)(is_there << (i % 8));
    if (format == 'v')
      put_view(array, i, &used, is_there ? cell : "");
    else if (strchr("uU", format))
      put_text(array, format, i, &used, is_there ? cell : "");
    else if (is_row && is_there)
      put_number(format, values, i, cell);
  }
}

/* Each value is a text of the dictionary, which has one ahead that no index points to. */
static void fill_indices(struct ArrowArray *array, const struct made *made, int64_t c, char format, char of) {
  uint8_t *there = buffer(array, 0, array->offset + array->length);
  void *values = buffer(array, 1, 8 * (array->offset + array->length));
  struct ArrowArray *texts = array->dictionary = calloc(1, sizeof *texts);
  make_array(texts, array->length, AHEAD, 3, made->living);
  fill_values(texts, made, c, of);
  for (int64_t i = 0; i < array->length; i++) {
    const int64_t at = array->offset + i;
    char cell[FIELD];
    const int is_there = strcmp(field(made, 1 + made->row + i, c, cell), "NULL") != 0;
    there[at / 8] |= (uint8_t)(is_there << (at % 8));
    put_integer(format, values, at, i);
  }
}

static int get_next(struct ArrowArrayStream *stream, struct ArrowArray *out) {
  struct made *made = stream->private_data;
  const int64_t left = made->last - made->row, rows = left < made->each ? left : made->each;
  char text[FIELD], *format, *dictionary;
  *out = (struct ArrowArray){0};
  if (made->fails-- == 0) return EIO;
  if (rows <= 0) return 0;
  make_array(out, rows, 0, 1, made->living);
  out->n_children = columns_of(made);
  out->children = calloc((size_t)out->n_children, sizeof *out->children);
  for (int64_t c = 0; c < out->n_children; c++) {
    struct ArrowArray *column = out->children[c] = calloc(1, sizeof *column);
    field(made, 0, c, text);
    cut(text, &format, &dictionary);
    make_array(column, rows, c % 2 ? AHEAD : 0,
               *format == 'v'          ? 4
               : strchr("uU", *format) ? 3
                                       : 2,
               made->living);
    if (dictionary)
      fill_indices(column, made, c, *format, *dictionary);
    else
      fill_values(column, made, c, *format);
  }
  made->row += rows;
  return 0;
}

static const char *last_error(struct ArrowArrayStream *stream) {
  (void)stream;
  return "a page is damaged";
}

static void free_stream(struct ArrowArrayStream *stream) {
  struct made *made = stream->private_data;
  --*made->living;
  free(made->text);
  free(made->line);
  free(made);
  stream->release = NULL;
}

void made_stream(struct ArrowArrayStream *stream, const char *text, int64_t first, int64_t last, int64_t each,
                 int64_t fails, int *living) {
  struct made *made = malloc(sizeof *made);
  *made = (struct made){strdup(text), NULL, first, last, each, fails, living};
  made->line = malloc((size_t)(made_rows(text) + 2) * sizeof *made->line);
  const char *at = made->text;
  for (int64_t i = 0; *at; at = strchr(at, '\n') + 1) made->line[i++] = at;
  *stream = (struct ArrowArrayStream){get_schema, get_next, last_error, free_stream, made};
  ++*living;
}
