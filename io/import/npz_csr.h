/* npz_csr: a scipy CSR matrix in an npz archive: <prefix>indptr, <prefix>indices, <prefix>shape and
 * <prefix>data. */
#ifndef IO_IMPORT_NPZ_CSR_H
#define IO_IMPORT_NPZ_CSR_H

#include "io/file/npz.h"
#include "runtime/base/csr.h"

/* Reads it as stored: rows may be unsorted and hold duplicates; weight is always there. Caller frees, also
 * after an error. Errors: BAD_INPUT naming the array: shapes that do not fit each other, offsets that
 * descend, an index out of range, a value that is not finite. */
int npz_csr_read(const struct npz *npz, const char *prefix, struct csr *m);

/* The arrays of a matrix: <prefix><name> for each name up to NULL, one dimension each, the first its two
 * sizes, which go to size[2]. Free them also after an error. */
enum { NPZ_MEMBERS = 4 };
struct npz_members {
  struct npy array[NPZ_MEMBERS];
};
int npz_members_read(const struct npz *npz, const char *prefix, const char *const name[NPZ_MEMBERS],
                     struct npz_members *members, int64_t size[2]);
void npz_members_free(struct npz_members *members);

/* That scipy's save_npz says `expected` of its matrix, where it says something. `allowed` is for the message.
 * Errors: BAD_INPUT. */
int npz_check_format(const struct npz *npz, const char *expected, const char *allowed);

/* Sorts the rows and sums duplicates. */
int npz_csr_sort(struct csr *m);

#endif
