/* named_arrays: arrays of floats by their names, as a file of safetensors or as numpy's npz archive, for
 * other programs to read. */
#ifndef IO_FILE_NAMED_ARRAYS_H
#define IO_FILE_NAMED_ARRAYS_H

#include <stdint.h>
#include <stdio.h>

enum { NAMED_ARRAY_DIMS = 3 };

struct named_array {
  char name[64]; /* of letters, digits, dots and underscores */
  int dims;
  int64_t dim[NAMED_ARRAY_DIMS];
  float *data; /* in C order; borrowed */
};

/* The bytes of all elements. */
int64_t named_array_bytes(const struct named_array *array);

/* The length of a header in JSON, the header, which says that the weights are PyTorch's, and the data, in the
 * order of the arrays. What cannot be written the stream remembers. Errors: FAILED: out of memory. */
int named_arrays_write_safetensors(FILE *out, const struct named_array *array, int64_t count);

/* Members <name>.npy, not compressed. Errors: FAILED, with libzip's reason. */
int named_arrays_write_npz(FILE *out, const struct named_array *array, int64_t count);

#endif
