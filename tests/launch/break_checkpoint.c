/* break_checkpoint FILE.h5 OBJECT VALUE: writes a value into a sound checkpoint. OBJECT is an attribute of
 * the root, as "epoch", or an element of an array, as "parameters/layer0.weight:3" (row after row). A VALUE
 * for an attribute that is a text is text; one that is empty removes the attribute. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file/h5_hdf5.h"
#include "runtime/base/error.h"
#include "runtime/base/memory.h"

static int fail(const char *object) {
  FAIL(BAD_INPUT, "%s cannot be changed", object);
}

static int replace_text(hid_t file, const char *name, const char *value) {
  hid_t type = h5_string_type(strlen(value) + 1), space = H5Screate(H5S_SCALAR);
  int good = H5Adelete(file, name) >= 0;
  hid_t id = good && value[0] ? H5Acreate2(file, name, type, space, H5P_DEFAULT, H5P_DEFAULT) : -1;
  if (id >= 0) good = H5Awrite(id, type, value) >= 0;
  if (id >= 0) H5Aclose(id);
  H5Sclose(space);
  H5Tclose(type);
  return good ? OK : fail(name);
}

static int change_attribute(hid_t file, const char *name, const char *value) {
  double real = strtod(value, NULL);
  long long integer = strtoll(value, NULL, 10);
  hid_t id = H5Aopen(file, name, H5P_DEFAULT), type = id < 0 ? -1 : H5Aget_type(id);
  H5T_class_t kind = type < 0 ? H5T_NO_CLASS : H5Tget_class(type);
  herr_t status = -1;
  if (kind == H5T_INTEGER) status = H5Awrite(id, H5T_NATIVE_LLONG, &integer);
  if (kind == H5T_FLOAT) status = H5Awrite(id, H5T_NATIVE_DOUBLE, &real);
  if (type >= 0) H5Tclose(type);
  if (id >= 0) H5Aclose(id);
  if (kind == H5T_STRING || value[0] == '\0') return replace_text(file, name, value);
  return status >= 0 ? OK : fail(name);
}

static int change_element(hid_t file, const char *name, int64_t element, const char *value) {
  hid_t id = H5Dopen(file, name, H5P_DEFAULT), space = id < 0 ? -1 : H5Dget_space(id);
  int64_t count = space < 0 ? 0 : (int64_t)H5Sget_simple_extent_npoints(space);
  double *data = NULL;
  if (element >= 0 && element < count) TRY(memory_alloc(&data, count * (int64_t)sizeof *data, "an array"));
  int good = data && H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
  if (good) data[element] = strtod(value, NULL);
  if (good) good = H5Dwrite(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
  free(data);
  if (space >= 0) H5Sclose(space);
  if (id >= 0) H5Dclose(id);
  return good ? OK : fail(name);
}

static int change(const char *path, char *object, const char *value) {
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  if (file < 0) return fail(path);
  char *colon = strchr(object, ':');
  if (colon) *colon = '\0';
  int code = colon ? change_element(file, object, atoll(colon + 1), value)
                   : change_attribute(file, object, value);
  if (H5Fclose(file) < 0 && code == OK) code = fail(path);
  return code;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: break_checkpoint FILE.h5 OBJECT VALUE\n");
    return BAD_INPUT;
  }
  int code = change(argv[1], argv[2], argv[3]);
  error_print(stderr, "break_checkpoint");
  return code;
}
