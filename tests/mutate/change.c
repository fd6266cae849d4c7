#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mutate/change.h"

enum { PLACES = 1000 };

/* Where a file can be changed: objects and their attributes. */
struct places {
  int count;
  struct place {
    char object[NAME], attribute[NAME];
    int is_dataset;
  } place[PLACES];
};

struct visit {
  struct places *places;
  const char *object;
};

static herr_t see_attribute(hid_t id, const char *name, const H5A_info_t *info, void *context) {
  struct visit *visit = context;
  struct places *p = visit->places;
  (void)id, (void)info;
  if (p->count == PLACES) return 0;
  struct place *place = &p->place[p->count++];
  *place = (struct place){0};
  snprintf(place->object, NAME, "%s", visit->object);
  snprintf(place->attribute, NAME, "%s", name);
  return 0;
}

static herr_t see_object(hid_t id, const char *name, const H5O_info_t *info, void *context) {
  struct places *p = context;
  if (p->count == PLACES) return 0;
  struct place *place = &p->place[p->count++];
  *place = (struct place){.is_dataset = info->type == H5O_TYPE_DATASET};
  snprintf(place->object, NAME, "/%s", strcmp(name, ".") == 0 ? "" : name);
  char object[NAME];
  snprintf(object, NAME, "%s", place->object);
  struct visit visit = {p, object};
  hsize_t at = 0;
  H5Aiterate_by_name(id, name, H5_INDEX_NAME, H5_ITER_INC, &at, see_attribute, &visit, H5P_DEFAULT);
  return 0;
}

/* Values are changed most often: those changes get furthest. */
static int change_place(struct change *c, const struct place *place) {
  snprintf(c->object, NAME, "%s", place->object);
  snprintf(c->attribute, NAME, "%s", place->attribute);
  if (place->attribute[0]) return change_attribute(c);
  int64_t which = chance_below(c->chance, 20);
  if (!place->is_dataset || which == 0) return change_links(c);
  return which < 3 ? change_form(c) : change_elements(c);
}

int mutate_file(const char *path, struct chance *chance, char *said, int64_t size) {
  static struct places places; /* large */
  struct change c = {.chance = chance};
  H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
  c.file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  if (c.file < 0) return 0;
  places.count = 0;
  H5Ovisit(c.file, H5_INDEX_NAME, H5_ITER_INC, see_object, &places);
  int done = places.count > 0 && change_place(&c, &places.place[chance_below(chance, places.count)]);
  snprintf(said, (size_t)size, "%s%s%s %s", c.object, c.attribute[0] ? "@" : "", c.attribute, c.said);
  if (H5Fclose(c.file) < 0) done = 0;
  return done;
}
