/* change: what mutate_file can do to an object or an attribute of an open file; each returns 0 where it
 * cannot be done. `said` is what was done, for the log. */
#ifndef TESTS_MUTATE_CHANGE_H
#define TESTS_MUTATE_CHANGE_H

#include "io/file/h5_hdf5.h"
#include "tests/mutate/mutate.h"

enum { SAID = 400, NAME = 200 };

struct change {
  hid_t file;
  struct chance *chance;
  char object[NAME], attribute[NAME]; /* attribute "": the object itself */
  char said[SAID];
};

int change_attribute(struct change *c);
int change_elements(struct change *c); /* values of a dataset */
int change_form(struct change *c);     /* its type, shape or layout */
int change_links(struct change *c);    /* what stands under its name, or beside it */

/* "", control characters, a very long one, or one that stands elsewhere in our files. */
const char *chance_text(struct chance *chance, char *text, int64_t size);
hid_t chance_type(struct chance *chance);

#endif
