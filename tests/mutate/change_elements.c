#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/mutate/change.h"

struct array {
  hid_t id, memory;
  H5T_class_t kind;
  int64_t count;
  int64_t *integer; /* one of them */
  double *real;
};

static int open_array(struct change *c, struct array *a) {
  *a = (struct array){.id = H5Dopen(c->file, c->object, H5P_DEFAULT)};
  if (a->id < 0) return 0;
  hid_t space = H5Dget_space(a->id), type = H5Dget_type(a->id);
  a->count = (int64_t)H5Sget_simple_extent_npoints(space);
  a->kind = H5Tget_class(type);
  H5Sclose(space);
  H5Tclose(type);
  if (a->count < 1 || (a->kind != H5T_INTEGER && a->kind != H5T_FLOAT)) return 0;
  a->memory = a->kind == H5T_INTEGER ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE;
  void *data = calloc((size_t)a->count, 8);
  if (a->kind == H5T_INTEGER) a->integer = data;
  if (a->kind == H5T_FLOAT) a->real = data;
  return data && H5Dread(a->id, a->memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
}

static void change_one(struct chance *chance, struct array *a, int64_t i) {
  if (a->integer) a->integer[i] = chance_integer(chance, a->integer[i]);
  if (a->real) a->real[i] = chance_real(chance, a->real[i]);
}

static void swap(struct array *a, int64_t i, int64_t j) {
  int64_t *bits = a->integer ? a->integer : (int64_t *)a->real, kept = bits[i];
  bits[i] = bits[j];
  bits[j] = kept;
}

static void change_array(struct change *c, struct array *a) {
  int64_t first = chance_below(c->chance, a->count), other = chance_below(c->chance, a->count), run = 1;
  int64_t which = chance_below(c->chance, 8);
  if (which == 0) run = 1 + chance_below(c->chance, a->count - first);
  if (which == 1) run = a->count - first;
  if (which == 2) {
    swap(a, first, other);
    snprintf(c->said, SAID, "elements %lld and %lld swapped", (long long)first, (long long)other);
    return;
  }
  change_one(c->chance, a, first);
  for (int64_t i = 1; i < run; i++)
    memcpy((a->integer ? a->integer : (int64_t *)a->real) + first + i,
           (a->integer ? a->integer : (int64_t *)a->real) + first, 8);
  snprintf(c->said, SAID, "elements %lld to %lld = %.17g", (long long)first, (long long)(first + run - 1),
           a->integer ? (double)a->integer[first] : a->real[first]);
}

int change_elements(struct change *c) {
  struct array a;
  int done = open_array(c, &a);
  if (done) {
    change_array(c, &a);
    void *data = a.integer ? (void *)a.integer : (void *)a.real;
    done = H5Dwrite(a.id, a.memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
  }
  free(a.integer);
  free(a.real);
  if (a.id >= 0) H5Dclose(a.id);
  return done;
}
