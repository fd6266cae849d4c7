/* arrow: how libraries of Apache Arrow hand over tables in memory. Structs and names are those of its C data
 * interface and C stream interface, which every release keeps
 * (https://arrow.apache.org/docs/format/CDataInterface.html, CStreamInterface.html). Who gives a struct away
 * sets `release`; who is done with it calls that once, and it is NULL from then on. */
#ifndef IO_ARROW_ARROW_H
#define IO_ARROW_ARROW_H

#include <stdint.h>

enum { ARROW_FLAG_DICTIONARY_ORDERED = 1, ARROW_FLAG_NULLABLE = 2, ARROW_FLAG_MAP_KEYS_SORTED = 4 };

/* A type. A table is a struct, format "+s", whose children are its columns. */
struct ArrowSchema {
  const char *format; /* as "l": int64_t, "g": double, "u": text of UTF-8 */
  const char *name;
  const char *metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema **children;
  struct ArrowSchema *dictionary; /* values that indices of `format` point to; or NULL */
  void (*release)(struct ArrowSchema *);
  void *private_data;
};

/* Values of such a type: `length` of them, the first number `offset` of the buffers. */
struct ArrowArray {
  int64_t length;
  int64_t null_count; /* -1: nobody has counted */
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void **buffers; /* first a bit for each value, 0: it is missing; NULL: none is missing */
  struct ArrowArray **children;
  struct ArrowArray *dictionary;
  void (*release)(struct ArrowArray *);
  void *private_data;
};

/* Arrays one behind the other. get_schema, get_next: 0, or a number of errno; behind the last array comes
 * one whose `release` is NULL. */
struct ArrowArrayStream {
  int (*get_schema)(struct ArrowArrayStream *, struct ArrowSchema *out);
  int (*get_next)(struct ArrowArrayStream *, struct ArrowArray *out);
  const char *(*get_last_error)(struct ArrowArrayStream *);
  void (*release)(struct ArrowArrayStream *);
  void *private_data;
};

#endif
