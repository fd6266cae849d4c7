/* h5_hdf5: what the h5 files share of HDF5. The one place that includes hdf5.h. */
#ifndef IO_FILE_H5_HDF5_H
#define IO_FILE_H5_HDF5_H

#include <hdf5.h>
#if H5_VERSION_GE(1, 13, 0)
#include <H5FDdevelop.h>
#endif

#include "io/file/h5.h"

enum { H5_CAUSE = 160 }; /* characters of a cause */

/* What stands under a name: a dataset that is open. Zeroed: nothing. */
struct h5_set {
  hid_t id, type, space, layout; /* layout: creation properties */
  hsize_t dim[H5S_MAX_RANK];
  int64_t bytes;       /* of all elements */
  int64_t chunk_bytes; /* of a chunk's; 0: not in chunks */
  struct h5_shape shape;
};

/* Opens what stands under `name` and checks that the file can back its size; *s stays zero when there is
 * nothing. Close it in any case. Errors: BAD_INPUT. */
int h5_open_set(struct h5 *h5, const char *name, struct h5_set *s);
void h5_close_set(struct h5_set *s);

/* Reads rows of what is open, as h5_read_rows does. */
int h5_read_set(struct h5 *h5, const char *name, struct h5_set *s, int64_t first, int64_t count,
                enum h5_type type, void *data);

/* Reads rows of what is open past HDF5, by all threads, where it can: many rows in chunks of whole rows, of
 * just that type, with no filter but a checksum, which is looked at. 1: they are there; 0: it cannot, or
 * something is wrong with them, and HDF5 is to read them. */
int h5_read_chunks(struct h5 *h5, const struct h5_set *s, int64_t first, int64_t count, enum h5_type type,
                   void *data);

/* Writes rows of what is open past HDF5, by all threads, where it can: those of whole chunks, [*from, *to),
 * under the same conditions; the others, or all where *from = *to, are left to HDF5. h5_error tells what went
 * wrong. */
void h5_write_chunks(struct h5 *h5, const struct h5_set *s, int64_t first, int64_t count, hid_t type,
                     const void *data, int64_t *from, int64_t *to);

/* Copies of `count` strings, of any length or of one: of the selected rows of a dataset, or of an attribute
 * (space 0); `memory` is their extent. The caller frees each, also after an error. Errors: BAD_INPUT, without
 * a name: they are damaged; FAILED: memory. */
int h5_copy_strings(hid_t id, hid_t type, hid_t memory, hid_t space, int64_t count, char **text);

/* 1: there and in this file; 0: not there; -1: a link that leads elsewhere. */
int h5_find_link(hid_t file, const char *name);

/* The type in the file as one of ours; 0 when there is none for it. */
int h5_disk_type(hid_t type, enum h5_type *found);

/* Numbers in memory. */
hid_t h5_memory_type(enum h5_type type);

/* UTF-8 strings of at most size - 1 bytes, padded with NUL; to be closed. */
hid_t h5_string_type(size_t size);

/* Why HDF5's last call failed, the system's reason when there is one. Call it before any other H5 function,
 * which would forget it. */
const char *h5_cause(const struct h5 *h5, char text[H5_CAUSE]);

/* Where HDF5 reads and writes a file, and the first error (errno) of the system there; 0: none. */
struct h5_disk {
  int descriptor, error;
  int notes;                     /* data, not what describes them, stay: it is noted where they lie */
  int64_t noted_at, noted_bytes; /* the last ones */
};

/* Lets HDF5 open the next file with these properties there, whatever its name; *disk stays where it is until
 * the file is closed. 0: HDF5 has no memory for that. */
int h5_use_disk(hid_t access, struct h5_disk *disk);

/* Writes there unless an error has been noted; notes what the system says. */
void h5_disk_put(struct h5_disk *disk, int64_t at, int64_t bytes, const void *from);

/* The system's error with that file so far, though HDF5's calls may all have succeeded. */
int h5_error(const struct h5 *h5);

/* What a call that read comes to: a disk that fails is no damaged file, nor is what it hides missing. Errors:
 * `code`; FAILED when the system had an error with the file. */
int h5_was_read(const struct h5 *h5, int code);

#endif
