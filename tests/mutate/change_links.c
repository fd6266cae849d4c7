#include <stdio.h>
#include <string.h>

#include "tests/mutate/change.h"

static int make_dataset(struct change *c, const char *name) {
  hsize_t count = (hsize_t)chance_below(c->chance, 5);
  int64_t value[5];
  for (int i = 0; i < 5; i++) value[i] = chance_integer(c->chance, i);
  hid_t space = H5Screate_simple(1, &count, NULL);
  hid_t id = H5Dcreate2(c->file, name, chance_type(c->chance), space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (id >= 0) H5Dwrite(id, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, value);
  if (id >= 0) H5Dclose(id);
  H5Sclose(space);
  return id >= 0;
}

static int make_group(struct change *c, const char *name) {
  hid_t id = H5Gcreate2(c->file, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (id >= 0) H5Gclose(id);
  return id >= 0;
}

/* Something more in the group that the object is, or beside it. */
static int add(struct change *c) {
  static const char *const names[] = {"0",      "1",    "train",   "val", "extra",
                                      "indptr", "data", "weights", "id",  "a\nb"};
  char name[NAME + 16];
  snprintf(name, sizeof name, "%s", c->object);
  H5O_info_t info;
  int is_group = H5Oget_info_by_name(c->file, c->object, &info, H5P_DEFAULT) >= 0 &&
                 info.type == H5O_TYPE_GROUP;
  if (!is_group) *strrchr(name, '/') = '\0';
  size_t length = strlen(name);
  const char *slash = length && name[length - 1] == '/' ? "" : "/";
  snprintf(name + length, sizeof name - length, "%s%s", slash, names[chance_below(c->chance, 10)]);
  snprintf(c->said, SAID, "%s added", name);
  if (H5Lexists(c->file, name, H5P_DEFAULT) > 0) return 0;
  return chance_below(c->chance, 3) ? make_dataset(c, name) : make_group(c, name);
}

/* Another object, or none, under its name. */
static int replace(struct change *c) {
  int64_t which = chance_below(c->chance, 7);
  static const char *const words[] = {
      "removed",     "a group",         "another dataset", "a link to nothing",
      "a link to /", "an outside link", "renamed"};
  if (strcmp(c->object, "/") == 0) return 0;
  snprintf(c->said, SAID, "%s", words[which]);
  if (which == 6) {
    char name[NAME + 8];
    snprintf(name, sizeof name, "%s_", c->object);
    return H5Lmove(c->file, c->object, c->file, name, H5P_DEFAULT, H5P_DEFAULT) >= 0;
  }
  if (H5Ldelete(c->file, c->object, H5P_DEFAULT) < 0) return 0;
  if (which == 1) return make_group(c, c->object);
  if (which == 2) return make_dataset(c, c->object);
  if (which == 3) H5Lcreate_soft("/nowhere", c->file, c->object, H5P_DEFAULT, H5P_DEFAULT);
  if (which == 4) H5Lcreate_hard(c->file, "/", c->file, c->object, H5P_DEFAULT, H5P_DEFAULT);
  if (which == 5)
    H5Lcreate_external("ring.h5", "/graph/indptr", c->file, c->object, H5P_DEFAULT, H5P_DEFAULT);
  return 1;
}

int change_links(struct change *c) {
  return chance_below(c->chance, 2) ? add(c) : replace(c);
}
