#include "partition/cut/owners_file.h"

#include "runtime/base/base.h"

enum { PIECE = 1 << 20 }; /* numbers that are read at a time */

static int ends_in(const char *path, const char *ending) {
  const size_t length = strlen(path), end = strlen(ending);
  return length >= end && strcmp(path + length - end, ending) == 0;
}

static int check_count(const struct owners_file *file, int64_t found) {
  if (found != file->nodes)
    FAIL(BAD_INPUT, "%s: parts of %lld nodes; the dataset has %lld", file->path, (long long)found,
         (long long)file->nodes);
  return OK;
}

static int read_line(const struct text *text, char *line, int parts, int32_t *part) {
  int64_t value;
  TRY(text_int(text, &line, &value, "a part"));
  TRY(text_end(text, &line, "one part a line"));
  if (value < 0 || value >= parts)
    TEXT_FAIL(text, "part %lld; 0 to %d are there", (long long)value, parts - 1);
  *part = (int32_t)value;
  return OK;
}

static int check_end(struct owners_file *file) {
  char *line;
  TRY(text_filled_row(&file->text, "#%", &line));
  if (line) TEXT_FAIL(&file->text, "there are more lines than the %lld nodes", (long long)file->nodes);
  return OK;
}

static int read_text(struct owners_file *file, int64_t count, int32_t *part) {
  char *line;
  for (int64_t i = 0; i < count; i++) {
    TRY(text_filled_row(&file->text, "#%", &line));
    if (!line) return check_count(file, file->at + i);
    TRY(read_line(&file->text, line, file->parts, &part[i]));
  }
  return file->at + count == file->nodes ? check_end(file) : OK;
}

static int take_values(const struct owners_file *file, int64_t first, int64_t count, const int64_t *value,
                       int32_t *part) {
  for (int64_t i = 0; i < count; i++) {
    if (value[i] < 0 || value[i] >= file->parts)
      FAIL(BAD_INPUT, "%s: node %lld is in part %lld; 0 to %d are there", file->path, (long long)(first + i),
           (long long)value[i], file->parts - 1);
    part[i] = (int32_t)value[i];
  }
  return OK;
}

static int load_npy(struct npy *npy, int64_t first, int64_t count, int64_t *value) {
  TRY(npy_load(npy, first, count));
  return npy_int64(npy, first, count, value);
}

static int read_values(struct owners_file *file, int64_t count, int32_t *part) {
  FREED int64_t *value = NULL;
  TRY(memory_arrays("parts of nodes", ROOM(&value, smaller(count, PIECE))));
  for (int64_t i = 0; i < count; i += PIECE) {
    const int64_t first = file->at + i, piece = smaller(count - i, PIECE);
    TRY(file->npy.file ? load_npy(&file->npy, first, piece, value)
                       : h5_read_rows(&file->h5, "/part", first, piece, H5_INT64, value));
    TRY(take_values(file, first, piece, value, part + i));
  }
  return OK;
}

static int open_npy(struct owners_file *file) {
  file->read = read_values;
  TRY(npy_open(&file->npy, file->path));
  TRY(npy_check_dims(&file->npy, 1, "[nodes]"));
  return check_count(file, file->npy.count);
}

static int open_h5(struct owners_file *file) {
  struct h5_shape shape;
  file->read = read_values;
  TRY(h5_probe(file->path));
  TRY(h5_open(&file->h5, file->path));
  TRY(h5_shape(&file->h5, "/part", &shape));
  if (!shape.exists || shape.is_group || shape.dims != 1)
    FAIL(BAD_INPUT, "%s: has no /part of one dimension, as a partition has it", file->path);
  return check_count(file, shape.dim[0]);
}

static int open_text(struct owners_file *file) {
  file->read = read_text;
  return text_open(&file->text, file->path);
}

int owners_file_open(struct owners_file *file, const char *path, int64_t nodes, int parts) {
  *file = (struct owners_file){.path = path, .nodes = nodes, .parts = parts};
  if (ends_in(path, ".npy")) return open_npy(file);
  return (ends_in(path, ".h5") ? open_h5 : open_text)(file);
}

int owners_file_next(struct owners_file *file, int64_t count, int32_t *part) {
  TRY(file->read(file, count, part));
  file->at += count;
  return OK;
}

void owners_file_close(struct owners_file *file) {
  text_close(&file->text);
  npy_free(&file->npy);
  h5_close(&file->h5);
}
