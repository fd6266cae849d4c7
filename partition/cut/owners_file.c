#include "partition/cut/owners_file.h"

#include "io/file/h5.h"
#include "io/file/npy.h"
#include "io/file/text.h"
#include "runtime/base/base.h"

static int ends_in(const char *path, const char *ending) {
  const size_t length = strlen(path), end = strlen(ending);
  return length >= end && strcmp(path + length - end, ending) == 0;
}

static int check_count(const char *path, int64_t found, int64_t nodes) {
  if (found != nodes)
    FAIL(BAD_INPUT, "%s: parts of %lld nodes; the dataset has %lld", path, (long long)found,
         (long long)nodes);
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

static int read_text(const char *path, int64_t nodes, int parts, int32_t *part) {
  ENDED_BY(text_close) struct text text = {0};
  int64_t count = 0;
  char *line;
  TRY(text_open(&text, path));
  for (;; count++) {
    TRY(text_filled_row(&text, "#%", &line));
    if (!line) return check_count(path, count, nodes);
    if (count == nodes) TEXT_FAIL(&text, "there are more lines than the %lld nodes", (long long)nodes);
    TRY(read_line(&text, line, parts, &part[count]));
  }
}

static int take_values(const char *path, int64_t nodes, int parts, const int64_t *value, int32_t *part) {
  for (int64_t v = 0; v < nodes; v++) {
    if (value[v] < 0 || value[v] >= parts)
      FAIL(BAD_INPUT, "%s: node %lld is in part %lld; 0 to %d are there", path, (long long)v,
           (long long)value[v], parts - 1);
    part[v] = (int32_t)value[v];
  }
  return OK;
}

static int read_npy(const char *path, int64_t nodes, int parts, int32_t *part) {
  ENDED_BY(npy_free) struct npy npy = {0};
  FREED int64_t *value = NULL;
  TRY(npy_read(&npy, path));
  TRY(npy_check_dims(&npy, 1, "[nodes]"));
  TRY(check_count(path, npy.count, nodes));
  TRY(memory_arrays("parts of nodes", ROOM(&value, nodes)));
  TRY(npy_int64(&npy, 0, nodes, value));
  return take_values(path, nodes, parts, value, part);
}

static int read_h5(const char *path, int64_t nodes, int parts, int32_t *part) {
  ENDED_BY(h5_close) struct h5 h5 = {0};
  FREED int64_t *value = NULL;
  struct h5_shape shape;
  TRY(h5_probe(path));
  TRY(h5_open(&h5, path));
  TRY(h5_shape(&h5, "/part", &shape));
  if (!shape.exists || shape.is_group || shape.dims != 1)
    FAIL(BAD_INPUT, "%s: has no /part of one dimension, as a partition has it", path);
  TRY(check_count(path, shape.dim[0], nodes));
  TRY(memory_arrays("parts of nodes", ROOM(&value, nodes)));
  TRY(h5_read_rows(&h5, "/part", 0, nodes, H5_INT64, value));
  return take_values(path, nodes, parts, value, part);
}

int owners_file_read(const char *path, int64_t nodes, int parts, int32_t *part) {
  if (ends_in(path, ".npy")) return read_npy(path, nodes, parts, part);
  return (ends_in(path, ".h5") ? read_h5 : read_text)(path, nodes, parts, part);
}
