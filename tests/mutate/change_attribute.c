#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mutate/change.h"

enum { VALUES = 4 }; /* fewer has an attribute */

const char *chance_text(struct chance *chance, char *text, int64_t size) {
  static const char *const known[] = {"",
                                      "gnntrain-dataset",
                                      "gnntrain-checkpoint",
                                      "multilabel",
                                      "multiclass",
                                      "none",
                                      "hypergraph",
                                      "best",
                                      "latest",
                                      "metis",
                                      "loa",
                                      "0000000000000000",
                                      "[train]\nepochs = 0\n",
                                      "a\nb\tc",
                                      "\xff\xfe"};
  int64_t which = chance_below(chance, 18), length = chance_below(chance, which == 17 ? size - 1 : 12);
  if (which < 15) {
    snprintf(text, (size_t)size, "%s", known[which]);
    return text;
  }
  for (int64_t i = 0; i < length; i++) text[i] = (char)(1 + chance_below(chance, 255));
  text[length] = '\0';
  return text;
}

hid_t chance_type(struct chance *chance) {
  const hid_t types[] = {H5T_STD_I8LE,   H5T_STD_U8LE,   H5T_STD_I16LE, H5T_STD_I32LE,
                         H5T_STD_U32LE,  H5T_STD_I64LE,  H5T_STD_U64LE, H5T_STD_I64BE,
                         H5T_IEEE_F32LE, H5T_IEEE_F64LE, H5T_IEEE_F32BE};
  return types[chance_below(chance, sizeof types / sizeof types[0])];
}

/* A text in part as it was: cut, or with one byte changed. */
static int change_text(struct change *c, hid_t id, hid_t type) {
  size_t size = H5Tget_size(type);
  char *text = calloc(size + 40000, 1);
  int good = !H5Tis_variable_str(type) && H5Aread(id, type, text) >= 0;
  int64_t length = (int64_t)strnlen(text, size);
  switch (chance_below(c->chance, 3)) {
  case 0:
    chance_text(c->chance, text, 40000);
    break;
  case 1:
    text[chance_below(c->chance, length + 1)] = '\0';
    break;
  default:
    if (length) text[chance_below(c->chance, length)] = (char)(32 + chance_below(c->chance, 95));
  }
  H5Adelete_by_name(c->file, c->object, c->attribute, H5P_DEFAULT);
  hid_t changed = h5_string_type(strlen(text) + 1), space = H5Screate(H5S_SCALAR);
  hid_t made = good ? H5Acreate_by_name(c->file, c->object, c->attribute, changed, space, H5P_DEFAULT,
                                        H5P_DEFAULT, H5P_DEFAULT)
                    : -1;
  if (made >= 0) H5Awrite(made, changed, text);
  snprintf(c->said, SAID, "text \"%.60s\" of %zu bytes", text, strlen(text));
  H5Tclose(changed);
  H5Sclose(space);
  if (made >= 0) H5Aclose(made);
  free(text);
  return good;
}

/* The first of its values, of which `replace` may have made more. */
static int change_number(struct change *c, hid_t id, H5T_class_t kind) {
  int64_t integer[VALUES] = {0};
  double real[VALUES] = {0};
  if (kind == H5T_INTEGER) {
    H5Aread(id, H5T_NATIVE_INT64, integer);
    integer[0] = chance_integer(c->chance, integer[0]);
    snprintf(c->said, SAID, "= %lld", (long long)integer[0]);
    return H5Awrite(id, H5T_NATIVE_INT64, integer) >= 0;
  }
  H5Aread(id, H5T_NATIVE_DOUBLE, real);
  real[0] = chance_real(c->chance, real[0]);
  snprintf(c->said, SAID, "= %.17g", real[0]);
  return H5Awrite(id, H5T_NATIVE_DOUBLE, real) >= 0;
}

/* Another type, more than one value or none. */
static int replace(struct change *c) {
  hsize_t count = (hsize_t)chance_below(c->chance, VALUES);
  double value[VALUES] = {0};
  for (int i = 0; i < VALUES; i++) value[i] = chance_real(c->chance, 1);
  int text = chance_below(c->chance, 4) == 0;
  hid_t type = text ? h5_string_type(8) : H5Tcopy(chance_type(c->chance));
  hid_t space = count == 0   ? H5Screate(H5S_NULL)
                : count == 1 ? H5Screate(H5S_SCALAR)
                             : H5Screate_simple(1, &count, NULL);
  H5Adelete_by_name(c->file, c->object, c->attribute, H5P_DEFAULT);
  hid_t id = H5Acreate_by_name(c->file, c->object, c->attribute, type, space, H5P_DEFAULT, H5P_DEFAULT,
                               H5P_DEFAULT);
  if (id >= 0 && !text && count) H5Awrite(id, H5T_NATIVE_DOUBLE, value);
  snprintf(c->said, SAID, "of another type, %d values", (int)count);
  if (id >= 0) H5Aclose(id);
  H5Sclose(space);
  H5Tclose(type);
  return id >= 0;
}

static int change_value(struct change *c) {
  hid_t id = H5Aopen_by_name(c->file, c->object, c->attribute, H5P_DEFAULT, H5P_DEFAULT);
  if (id < 0) return 0;
  hid_t type = H5Aget_type(id);
  H5T_class_t kind = H5Tget_class(type);
  int done = kind == H5T_STRING ? change_text(c, id, type) : change_number(c, id, kind);
  H5Tclose(type);
  H5Aclose(id);
  return done;
}

int change_attribute(struct change *c) {
  int64_t which = chance_below(c->chance, 20);
  if (which > 2) return change_value(c);
  if (which > 0) return replace(c);
  snprintf(c->said, SAID, "removed");
  return H5Adelete_by_name(c->file, c->object, c->attribute, H5P_DEFAULT) >= 0;
}
