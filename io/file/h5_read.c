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

int h5_copy_strings(hid_t id, hid_t type, hid_t memory, hid_t space, int64_t count, char **text) {
  FREED char *block = NULL;
  int short_of_memory = 0, variable = H5Tis_variable_str(type) > 0; /* each in memory of HDF5 */
  int64_t size = variable ? (int64_t)sizeof(char *) : (int64_t)H5Tget_size(type) + 1;
  if (size > INT32_MAX) FAIL(BAD_INPUT, "damaged");
  TRY(memory_alloc(&block, count * size, "strings"));
  hid_t as = H5Tcopy(type);
  if (!variable) H5Tset_size(as, (size_t)size);
  if (!variable) H5Tset_strpad(as, H5T_STR_NULLTERM); /* cut at the end or the padding */
  herr_t status = space ? H5Dread(id, as, memory, space, H5P_DEFAULT, block) : H5Aread(id, as, block);
  for (int64_t i = 0; i < count && status >= 0; i++) {
    const char *string = variable ? ((char **)(void *)block)[i] : block + i * size;
    text[i] = strdup(string ? string : "");
    short_of_memory |= !text[i];
  }
  if (variable && status >= 0) H5Dvlen_reclaim(as, memory, H5P_DEFAULT, block);
  H5Tclose(as);
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
  int code = h5_copy_strings(s->id, s->type, memory, s->space, count, text);
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
