#include "io/file/h5_hdf5.h"
#include "runtime/base/base.h"

hid_t h5_memory_type(enum h5_type type) {
  const hid_t types[] = {
      [H5_INT32] = H5T_NATIVE_INT32, [H5_INT64] = H5T_NATIVE_INT64,   [H5_UINT8] = H5T_NATIVE_UINT8,
      [H5_FLOAT] = H5T_NATIVE_FLOAT, [H5_DOUBLE] = H5T_NATIVE_DOUBLE, [H5_TEXT] = -1};
  return types[type];
}

void h5_select_rows(const struct h5_set *s, int64_t first, int64_t count, hid_t *memory) {
  hsize_t from[2] = {(hsize_t)first, 0}, extent[2] = {(hsize_t)count, s->dim[1]};
  H5Sselect_hyperslab(s->space, H5S_SELECT_SET, from, NULL, extent, NULL);
  *memory = H5Screate_simple(s->shape.dims, extent, NULL);
}

int h5_open_rows(struct h5 *h5, const char *name, int64_t first, int64_t count, struct h5_set *s) {
  TRY(h5_open_set(h5, name, s));
  if (!s->shape.exists) FAIL(BAD_INPUT, "%s: %s: is missing", h5->path, name);
  if (s->shape.is_group) FAIL(BAD_INPUT, "%s: %s: is a group; a dataset is expected", h5->path, name);
  if (s->shape.dims != 1 && s->shape.dims != 2)
    FAIL(BAD_INPUT, "%s: %s: has %d dimensions; 1 or 2 are expected", h5->path, name, s->shape.dims);
  if (first < 0 || count < 0 || first > s->shape.dim[0] || count > s->shape.dim[0] - first)
    FAIL(BAD_INPUT, "%s: %s: has %lld rows; rows %lld to %lld are expected in it", h5->path, name,
         (long long)s->shape.dim[0], (long long)first, (long long)first + (long long)count);
  return OK;
}

int h5_read_set(struct h5 *h5, const char *name, struct h5_set *s, int64_t first, int64_t count,
                enum h5_type type, void *data) {
  char text[H5_CAUSE];
  int real = type == H5_FLOAT || type == H5_DOUBLE;
  int disk_real = s->shape.type == H5_FLOAT || s->shape.type == H5_DOUBLE;
  if (s->shape.type == H5_TEXT || type == H5_TEXT || (disk_real && !real))
    FAIL(BAD_INPUT, "%s: %s: holds %s; %s are expected", h5->path, name,
         s->shape.type == H5_TEXT ? "strings" : "floating-point numbers", real ? "numbers" : "integers");
  if (count == 0 || s->bytes == 0) return OK;
  hid_t memory;
  h5_select_rows(s, first, count, &memory);
  herr_t status = H5Dread(s->id, h5_memory_type(type), memory, s->space, H5P_DEFAULT, data);
  if (status < 0) h5_cause(h5, text);
  H5Sclose(memory);
  if (status < 0)
    FAIL(BAD_INPUT, "%s: %s: rows %lld to %lld are damaged or cannot be read (%s)", h5->path, name,
         (long long)first, (long long)(first + count), text);
  return OK;
}

int h5_read_rows(struct h5 *h5, const char *name, int64_t first, int64_t count, enum h5_type type,
                 void *data) {
  ENDED_BY(h5_close_set) struct h5_set s = {0};
  int code = h5_open_rows(h5, name, first, count, &s);
  if (code == OK) code = h5_read_set(h5, name, &s, first, count, type, data);
  return h5_was_read(h5, code);
}

/* Strings of any length, each in memory of HDF5. */
static int read_variable(const struct h5_set *s, hid_t memory, int64_t count, char **text) {
  FREED char **string = NULL;
  TRY(memory_arrays("strings", ROOM(&string, count)));
  hid_t type = H5Tcopy(s->type);
  herr_t status = H5Dread(s->id, type, memory, s->space, H5P_DEFAULT, string);
  int short_of_memory = 0;
  for (int64_t i = 0; i < count && status >= 0; i++) {
    text[i] = strdup(string[i] ? string[i] : "");
    short_of_memory |= !text[i];
  }
  if (status >= 0) H5Dvlen_reclaim(type, memory, H5P_DEFAULT, string);
  H5Tclose(type);
  if (status < 0) FAIL(BAD_INPUT, "damaged");
  if (short_of_memory) FAIL(FAILED, "out of memory for %lld strings", (long long)count);
  return OK;
}

/* Strings of one length, cut at their end or padding. */
static int read_fixed(const struct h5_set *s, hid_t memory, int64_t count, char **text) {
  FREED char *block = NULL;
  int64_t size = (int64_t)H5Tget_size(s->type) + 1;
  if (size > INT32_MAX) FAIL(BAD_INPUT, "damaged");
  TRY(memory_alloc(&block, count * size, "strings"));
  hid_t type = H5Tcopy(s->type);
  H5Tset_size(type, (size_t)size);
  H5Tset_strpad(type, H5T_STR_NULLTERM);
  herr_t status = H5Dread(s->id, type, memory, s->space, H5P_DEFAULT, block);
  int short_of_memory = 0;
  for (int64_t i = 0; i < count && status >= 0; i++) {
    text[i] = strndup(block + i * size, (size_t)size - 1);
    short_of_memory |= !text[i];
  }
  H5Tclose(type);
  if (status < 0) FAIL(BAD_INPUT, "damaged");
  if (short_of_memory) FAIL(FAILED, "out of memory for %lld strings", (long long)count);
  return OK;
}

static int read_strings(struct h5 *h5, const char *name, struct h5_set *s, int64_t first, int64_t count,
                        char **text) {
  if (s->shape.type != H5_TEXT || s->shape.dims != 1)
    FAIL(BAD_INPUT, "%s: %s: one dimension of strings is expected", h5->path, name);
  if (count == 0) return OK;
  hid_t memory;
  h5_select_rows(s, first, count, &memory);
  int variable = H5Tis_variable_str(s->type) > 0;
  int code = variable ? read_variable(s, memory, count, text) : read_fixed(s, memory, count, text);
  H5Sclose(memory);
  if (code == BAD_INPUT)
    FAIL(BAD_INPUT, "%s: %s: strings %lld to %lld are damaged or cannot be read", h5->path, name,
         (long long)first, (long long)(first + count));
  return code;
}

int h5_read_strings(struct h5 *h5, const char *name, int64_t first, int64_t count, char **text) {
  struct h5_set s;
  for (int64_t i = 0; i < count; i++) text[i] = NULL;
  int code = h5_open_rows(h5, name, first, count, &s);
  if (code == OK) code = read_strings(h5, name, &s, first, count, text);
  h5_close_set(&s);
  for (int64_t i = 0; i < count && code != OK; i++) {
    free(text[i]);
    text[i] = NULL;
  }
  return h5_was_read(h5, code);
}
