#include "io/file/h5_hdf5.h"
#include "runtime/base/base.h"

enum { LARGEST_TEXT = 16 << 20 }; /* bytes of a string attribute */

/* An attribute of one element that is open. */
struct attr {
  hid_t object, id, type;
};

static void close_attr(struct attr *a) {
  if (a->type > 0) H5Tclose(a->type);
  if (a->id > 0) H5Aclose(a->id);
  if (a->object > 0) H5Oclose(a->object);
}

/* What cannot be read is there: whoever reads it learns why not. */
int h5_has_attr(struct h5 *h5, const char *object, const char *name) {
  int found = h5_find_link(h5->file, object) > 0 &&
              H5Aexists_by_name(h5->file, object, name, H5P_DEFAULT) > 0;
  return found || (h5_error(h5) && !h5->written.open);
}

static int open_attr(struct h5 *h5, const char *object, const char *name, struct attr *a) {
  memset(a, 0, sizeof *a);
  if (!h5_has_attr(h5, object, name))
    FAIL(BAD_INPUT, "%s: %s: the attribute \"%s\" is missing", h5->path, object, name);
  a->object = H5Oopen(h5->file, object, H5P_DEFAULT);
  a->id = a->object > 0 ? H5Aopen(a->object, name, H5P_DEFAULT) : -1;
  a->type = a->id > 0 ? H5Aget_type(a->id) : -1;
  hid_t space = a->id > 0 ? H5Aget_space(a->id) : -1;
  hssize_t elements = space > 0 ? H5Sget_simple_extent_npoints(space) : -1;
  if (space > 0) H5Sclose(space);
  if (a->type < 0 || elements != 1 || H5Tget_size(a->type) > LARGEST_TEXT)
    FAIL(BAD_INPUT, "%s: %s: the attribute \"%s\" is damaged or not a single value", h5->path, object, name);
  return OK;
}

static int read_number(struct h5 *h5, const char *object, const char *name, int real, void *value) {
  struct attr a;
  enum h5_type type = H5_TEXT;
  int code = open_attr(h5, object, name, &a), good = 0;
  if (code == OK && h5_disk_type(a.type, &type) && type != H5_TEXT)
    good = (real || (type != H5_FLOAT && type != H5_DOUBLE)) &&
           H5Aread(a.id, real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64, value) >= 0;
  close_attr(&a);
  TRY(h5_was_read(h5, code));
  if (!good)
    FAIL(BAD_INPUT, "%s: %s: the attribute \"%s\" is not %s", h5->path, object, name,
         real ? "a number" : "an integer");
  return OK;
}

int h5_read_int(struct h5 *h5, const char *object, const char *name, int64_t *value) {
  *value = 0;
  return read_number(h5, object, name, 0, value);
}

int h5_read_real(struct h5 *h5, const char *object, const char *name, double *value) {
  *value = 0;
  return read_number(h5, object, name, 1, value);
}

static int read_variable(const struct attr *a, char **string) {
  char *read = NULL;
  if (H5Aread(a->id, a->type, &read) < 0) return OK;
  *string = strdup(read ? read : "");
  H5free_memory(read);
  if (!*string) FAIL(FAILED, "out of memory for a string in an HDF5 file");
  return OK;
}

/* Of one length, cut at its end or padding. */
static int read_fixed(const struct attr *a, char **string) {
  size_t size = H5Tget_size(a->type) + 1;
  hid_t type = H5Tcopy(a->type);
  int typed = H5Tset_size(type, size) >= 0 && H5Tset_strpad(type, H5T_STR_NULLTERM) >= 0;
  int code = memory_alloc(string, (int64_t)size, "a string in an HDF5 file");
  if (code == OK && (!typed || H5Aread(a->id, type, *string) < 0)) {
    free(*string);
    *string = NULL;
  }
  H5Tclose(type);
  return code;
}

/* The string as malloc'ed memory; NULL when it is none, or cannot be read. */
static int read_string(const struct attr *a, char **string) {
  if (H5Tget_class(a->type) != H5T_STRING) return OK;
  return H5Tis_variable_str(a->type) > 0 ? read_variable(a, string) : read_fixed(a, string);
}

int h5_read_text(struct h5 *h5, const char *object, const char *name, char *text, int64_t size) {
  struct attr a;
  char *string = NULL;
  text[0] = '\0';
  int code = open_attr(h5, object, name, &a);
  if (code == OK) code = read_string(&a, &string);
  close_attr(&a);
  TRY(h5_was_read(h5, code));
  int64_t length = string ? (int64_t)strlen(string) : -1;
  if (length >= 0 && length < size) memcpy(text, string, (size_t)length + 1);
  free(string);
  if (length < 0) FAIL(BAD_INPUT, "%s: %s: the attribute \"%s\" is not a string", h5->path, object, name);
  if (length >= size)
    FAIL(BAD_INPUT, "%s: %s: the attribute \"%s\" has %lld bytes; at most %lld are allowed", h5->path, object,
         name, (long long)length, (long long)size - 1);
  return OK;
}

hid_t h5_string_type(size_t size) {
  hid_t type = H5Tcopy(H5T_C_S1);
  if (H5Tset_size(type, size) >= 0 && H5Tset_cset(type, H5T_CSET_UTF8) >= 0) return type;
  H5Tclose(type);
  return -1;
}

static int write_attr(struct h5 *h5, const char *object, const char *name, hid_t file_type, hid_t memory_type,
                      const void *value) {
  char text[H5_CAUSE] = "the object is missing";
  hid_t owner = H5Oopen(h5->file, object, H5P_DEFAULT), space = H5Screate(H5S_SCALAR);
  hid_t id = owner < 0 ? -1 : H5Acreate2(owner, name, file_type, space, H5P_DEFAULT, H5P_DEFAULT);
  herr_t status = id < 0 ? -1 : H5Awrite(id, memory_type, value);
  if (status < 0 && owner >= 0) h5_cause(h5, text);
  if (id >= 0) H5Aclose(id);
  H5Sclose(space);
  if (owner >= 0) H5Oclose(owner);
  if (status < 0)
    FAIL(FAILED, "%s: %s: the attribute \"%s\" cannot be written (%s)", h5->path, object, name, text);
  return OK;
}

int h5_write_text(struct h5 *h5, const char *object, const char *name, const char *text) {
  hid_t type = h5_string_type(strlen(text) + 1);
  int code = write_attr(h5, object, name, type, type, text);
  H5Tclose(type);
  return code;
}

int h5_write_int(struct h5 *h5, const char *object, const char *name, int64_t value) {
  return write_attr(h5, object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

int h5_write_real(struct h5 *h5, const char *object, const char *name, double value) {
  return write_attr(h5, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

int h5_read_value(struct h5 *h5, const char *name, enum h5_type type, void *value, int64_t size) {
  if (type == H5_TEXT) return h5_read_text(h5, "/", name, value, size);
  return read_number(h5, "/", name, type == H5_DOUBLE, value);
}

int h5_write_value(struct h5 *h5, const char *name, enum h5_type type, const void *value) {
  if (type == H5_TEXT) return h5_write_text(h5, "/", name, value);
  if (type == H5_INT64) return h5_write_int(h5, "/", name, *(const int64_t *)value);
  return h5_write_real(h5, "/", name, *(const double *)value);
}
