/* gzip: the bytes of a file, decompressed where it begins as gzip data does (RFC 1952), else as they are.
 *
 * All members of a gzip file count, one after the other. Behind the last one there may be zeros, as tapes
 * have them; anything else is damage: it may be a member whose header is. (zlib's gzread passes it over, and
 * with it all that follows.) */
#ifndef IO_FILE_GZIP_H
#define IO_FILE_GZIP_H

#include <stdint.h>

struct gzip;

/* NULL, with errno, when the file cannot be opened or memory is short. */
struct gzip *gzip_open(const char *path);
void gzip_close(struct gzip *gzip); /* NULL is fine */

/* The system's error (errno) at reading the file; 0: none. */
int gzip_error(const struct gzip *gzip);

/* The next `size` bytes, fewer only at the end; 0: there are none. -1: *reason says why. */
int64_t gzip_read(struct gzip *gzip, char *to, int64_t size, const char **reason);

/* Whether so many bytes can come out of the file: deflate gives at most 1032 for one. Asked once something
 * was read. */
int gzip_may_hold(const struct gzip *gzip, int64_t bytes);

#endif
