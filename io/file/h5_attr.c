#include "io/file/h5_hdf5.h"
#include "runtime/base/base.h"

enum { LARGEST_TEXT = 16 << 20 }; /* bytes of a string attribute */

/* An attribute of "/" of one element that is open. */
struct attr {
  hid_t id, type, space;
};

static void close_attr(struct attr *a) {
  if (a->space > 0) H5Sclose(a->space);
  if (a->type > 0) H5Tclose(a->type);
  if (a->id > 0) H5Aclose(a->id);
}

/* What cannot be read is there: whoever reads it learns why not. */
int h5_has_attr(struct h5 *h5, const char *name) {
  int found = H5Aexists(h5->file, name) > 0;
  return found || (h5_error(h5) && !h5->written.open);
}

static int open_attr(struct h5 *h5, const char *name, struct attr *a) {
  memset(a, 0, sizeof *a);
  if (!h5_has_attr(h5, name)) FAIL(BAD_INPUT, "%s: the attribute \"%s\" is missing", h5->path, name);
  a->id = H5Aopen(h5->file, name, H5P_DEFAULT);
  a->type = a->id > 0 ? H5Aget_type(a->id) : -1;
  a->space = a->id > 0 ? H5Aget_space(a->id) : -1;
  hssize_t elements = a->space > 0 ? H5Sget_simple_extent_npoints(a->space) : -1;
  if (a->type < 0 || elements != 1 || H5Tget_size(a->type) > LARGEST_TEXT)
    FAIL(BAD_INPUT, "%s: the attribute \"%s\" is damaged or not a single value", h5->path, name);
  return OK;
}

static int read_number(struct h5 *h5, const char *name, int real, void *value) {
  struct attr a;
  enum h5_type type = H5_TEXT;
  int code = open_attr(h5, name, &a), good = 0;
  if (code == OK && h5_disk_type(a.type, &type) && type != H5_TEXT)
    good = (real || (type != H5_FLOAT && type != H5_DOUBLE)) &&
           H5Aread(a.id, real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, value) >= 0;
  close_attr(&a);
  TRY(h5_was_read(h5, code));
  if (!good)
    FAIL(BAD_INPUT, "%s: the attribute \"%s\" is not %s", h5->path, name, real ? "a number" : "an integer");
  return OK;
}

int h5_read_int(struct h5 *h5, const char *name, int64_t *value) {
  *value = 0;
  return read_number(h5, name, 0, value);
}

/* Into *string, which stays NULL when the attribute is none, or damaged. */
static int read_string(struct h5 *h5, const char *name, char **string) {
  struct attr a;
  int code = open_attr(h5, name, &a);
  if (code == OK && H5Tget_class(a.type) == H5T_STRING)
    code = h5_copy_strings(a.id, a.type, a.space, 0, 1, string);
  close_attr(&a);
  return h5_was_read(h5, code);
}

int h5_read_text(struct h5 *h5, const char *name, char *text, int64_t size) {
  FREED char *string = NULL;
  text[0] = '\0';
  TRY(read_string(h5, name, &string));
  if (!string) FAIL(BAD_INPUT, "%s: the attribute \"%s\" is not a string", h5->path, name);
  int64_t length = (int64_t)strlen(string);
  if (length >= size)
    FAIL(BAD_INPUT, "%s: the attribute \"%s\" has %lld bytes; at most %lld are allowed", h5->path, name,
         (long long)length, (long long)size - 1);
  memcpy(text, string, (size_t)length + 1);
  return OK;
}

static int write_attr(struct h5 *h5, const char *name, hid_t file_type, hid_t memory_type,
                      const void *value) {
  char text[H5_CAUSE];
  hid_t space = H5Screate(H5S_SCALAR);
  hid_t id = H5Acreate2(h5->file, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
  herr_t status = id < 0 ? -1 : H5Awrite(id, memory_type, value);
  if (status < 0) h5_cause(h5, text);
  if (id >= 0) H5Aclose(id);
  H5Sclose(space);
  if (status < 0) FAIL(FAILED, "%s: the attribute \"%s\" cannot be written (%s)", h5->path, name, text);
  return OK;
}

int h5_write_text(struct h5 *h5, const char *name, const char *text) {
  hid_t type = h5_string_type(strlen(text) + 1);
  int code = write_attr(h5, name, type, type, text);
  H5Tclose(type);
  return code;
}

int h5_write_int(struct h5 *h5, const char *name, int64_t value) {
  return write_attr(h5, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

int h5_read_value(struct h5 *h5, const char *name, enum h5_type type, void *value, int64_t size) {
  return type == H5_TEXT ? h5_read_text(h5, name, value, size)
                         : read_number(h5, name, type == H5_DOUBLE, value);
}

int h5_write_value(struct h5 *h5, const char *name, enum h5_type type, const void *value) {
  if (type == H5_TEXT) return h5_write_text(h5, name, value);
  if (type == H5_INT64) return h5_write_int(h5, name, *(const int64_t *)value);
  return write_attr(h5, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, value);
}
