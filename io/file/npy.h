/* npy: numpy's array files, versions 1 to 3: bool, integers of 8 to 64 bits, floats of 16 to 64 bits and
 * short ASCII texts, either byte order. Values come out in C order whatever the stored one. Object arrays
 * (pickles), records and complex numbers are refused. What the header claims is checked against the bytes
 * that are there before anything of that size is allocated. */
#ifndef IO_FILE_NPY_H
#define IO_FILE_NPY_H

#include <stdint.h>
#include <stdio.h>

enum npy_kind { NPY_BOOL, NPY_INT, NPY_UINT, NPY_FLOAT, NPY_TEXT };
enum { NPY_DIMS = 4 };

struct npy {
  char name[1024]; /* how messages call it */
  enum npy_kind kind;
  int width; /* bytes of an element */
  int swap;  /* the byte order is not this machine's */
  int fortran;
  int dims;
  int64_t dim[NPY_DIMS];
  int64_t count;
  void *bytes;               /* the whole file, or a piece of it; owned */
  const unsigned char *data; /* inside bytes */
  int64_t first;             /* element that data begins with */
  FILE *file;                /* of npy_open */
  int64_t begin;             /* of its elements, in bytes */
};

/* Takes `bytes` (from memory_alloc) over, also when it fails. Errors: BAD_INPUT with name and cause. */
int npy_parse(struct npy *npy, void *bytes, int64_t size, const char *name);
int npy_read(struct npy *npy, const char *path);
/* A file that is not held whole: no element is there before npy_load. Not in Fortran order. */
int npy_open(struct npy *npy, const char *path);
/* Elements [first, first + count) of it, in place of those that were there. Errors: BAD_INPUT where the file
 * has become shorter, FAILED when the storage or memory is at fault. */
int npy_load(struct npy *npy, int64_t first, int64_t count);
void npy_free(struct npy *npy);

/* Elements [first, first + count), which are there, in C order. Errors: BAD_INPUT naming the element: for
 * integers values that are not whole or do not fit, for floats values that are not finite. */
int npy_int64(const struct npy *npy, int64_t first, int64_t count, int64_t *values);
int npy_float(const struct npy *npy, int64_t first, int64_t count, float *values);
/* Whether element i is a float that is not a number. */
int npy_is_nan(const struct npy *npy, int64_t i);
/* Element i of a text array; size bytes at `text`. */
int npy_text(const struct npy *npy, int64_t i, char *text, int64_t size);

/* Error unless the array has that many dimensions; `shape` says how messages call it, as "[nodes, features]".
 */
int npy_check_dims(const struct npy *npy, int dims, const char *shape);

/* How a file begins whose elements, of a type as "<i4", follow in C order; of up to NPY_DIMS dimensions. */
void npy_write_head(FILE *out, const char *descr, int dims, const int64_t *dim);

#endif
