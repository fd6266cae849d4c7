#include <stdio.h>
#include <stdlib.h>

#include "tests/mutate/change.h"

/* The dataset as it is, and as it is to be. */
struct form {
  hid_t type, layout;
  int dims;
  hsize_t dim[4];
  int64_t count; /* of elements read */
  double *data;
};

static int read_form(struct change *c, struct form *f) {
  hid_t id = H5Dopen(c->file, c->object, H5P_DEFAULT);
  if (id < 0) return 0;
  hid_t space = H5Dget_space(id);
  f->type = H5Dget_type(id);
  f->dims = H5Sget_simple_extent_ndims(space);
  f->count = (int64_t)H5Sget_simple_extent_npoints(space);
  H5T_class_t kind = H5Tget_class(f->type);
  int good = f->dims >= 1 && f->dims <= 2 && (kind == H5T_INTEGER || kind == H5T_FLOAT);
  if (good) H5Sget_simple_extent_dims(space, f->dim, NULL);
  if (good) f->data = calloc((size_t)f->count + 4096, sizeof *f->data);
  if (good) good = H5Dread(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, f->data) >= 0;
  H5Sclose(space);
  H5Dclose(id);
  return good;
}

static void change_shape(struct change *c, struct form *f) {
  hsize_t kept = f->dim[0];
  switch (chance_below(c->chance, 7)) {
  case 0:
    f->dim[0]++;
    break;
  case 1:
    if (f->dim[0]) f->dim[0]--;
    break;
  case 2:
    f->dim[0] = 0;
    break;
  case 3: /* transposed, or a row of its own */
    f->dim[0] = f->dims == 2 ? f->dim[1] : 1;
    f->dim[1] = kept;
    f->dims = 2;
    break;
  case 4:
    f->dims = f->dims == 2 ? 1 : 2;
    if (f->dims == 2) f->dim[1] = 1;
    break;
  case 5:
    f->dims = 3;
    if (f->dims == 1) f->dim[1] = 1;
    if (f->dim[1] > 16 || f->dim[1] == 0) f->dim[1] = 1;
    f->dim[2] = 2;
    break;
  default:
    f->dims = 0;
  }
}

static void change_layout(struct change *c, struct form *f) {
  hsize_t chunk[4];
  int filtered = (int)chance_below(c->chance, 4);
  if (f->dims == 0) return;
  for (int i = 0; i < f->dims; i++) chunk[i] = 1 + (hsize_t)chance_below(c->chance, 9);
  if (filtered == 0) {
    H5Pset_layout(f->layout, H5D_COMPACT);
    return;
  }
  H5Pset_chunk(f->layout, f->dims, chunk);
  if (filtered == 1) H5Pset_deflate(f->layout, 4);
  if (filtered == 2) H5Pset_shuffle(f->layout);
  if (filtered == 3) H5Pset_fletcher32(f->layout);
}

/* A dataset that takes the place of the old one. Elements beyond its own are zeros. */
static int write_form(struct change *c, struct form *f) {
  hid_t space = f->dims ? H5Screate_simple(f->dims, f->dim, NULL) : H5Screate(H5S_SCALAR);
  if (H5Sget_simple_extent_npoints(space) > f->count + 4096) {
    H5Sclose(space);
    return 0;
  }
  H5Ldelete(c->file, c->object, H5P_DEFAULT);
  hid_t id = H5Dcreate2(c->file, c->object, f->type, space, H5P_DEFAULT, f->layout, H5P_DEFAULT);
  int good = id >= 0 && H5Dwrite(id, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, f->data) >= 0;
  if (id >= 0) H5Dclose(id);
  H5Sclose(space);
  return good;
}

int change_form(struct change *c) {
  struct form f = {.layout = H5Pcreate(H5P_DATASET_CREATE)};
  int done = read_form(c, &f);
  int64_t which = chance_below(c->chance, 3);
  if (done && which == 0) {
    H5Tclose(f.type);
    f.type = H5Tcopy(chance_type(c->chance));
  }
  if (done && which == 1) change_shape(c, &f);
  if (done && which == 2) change_layout(c, &f);
  if (done) done = write_form(c, &f);
  static const char *const words[] = {"of another type", "of another shape", "of another layout"};
  snprintf(c->said, SAID, "%s", words[which]);
  free(f.data);
  if (f.type > 0) H5Tclose(f.type);
  H5Pclose(f.layout);
  return done;
}
