#include "io/file/gzip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#include "runtime/file/input.h"

enum { INPUT = 1 << 18, GZIP_ALONE = 16 + MAX_WBITS };

enum place { BEGINNING, PLAIN, MEMBER, PADDING };

struct gzip {
  FILE *file;
  z_stream stream; /* [next_in, avail_in): of input, not yet used */
  enum place place;
  int error; /* errno */
  unsigned char input[INPUT];
};

struct gzip *gzip_open(const char *path) {
  struct gzip *g = calloc(1, sizeof *g);
  if (!g) return NULL;
  g->file = input_open(path);
  if (g->file && inflateInit2(&g->stream, GZIP_ALONE) == Z_OK) return g;
  int reason = g->file ? ENOMEM : errno;
  gzip_close(g);
  errno = reason;
  return NULL;
}

void gzip_close(struct gzip *g) {
  if (!g) return;
  if (g->file) fclose(g->file);
  inflateEnd(&g->stream);
  free(g);
}

/* Fewer than `size` bytes at the end; -1: *reason says why. */
static int64_t read_file(struct gzip *g, void *to, int64_t size, const char **reason) {
  errno = 0;
  int64_t read = (int64_t)fread(to, 1, (size_t)size, g->file);
  if (!ferror(g->file)) return read;
  g->error = errno ? errno : EIO;
  *reason = strerror(g->error);
  return -1;
}

/* At least two bytes of input, or all that are left. */
static int refill(struct gzip *g, const char **reason) {
  z_stream *s = &g->stream;
  if (s->avail_in >= 2) return 1;
  if (s->avail_in > 0) g->input[0] = *s->next_in;
  int64_t read = read_file(g, g->input + s->avail_in, INPUT - s->avail_in, reason);
  s->next_in = g->input;
  if (read > 0) s->avail_in += (uInt)read;
  return read >= 0;
}

int gzip_error(const struct gzip *g) {
  return g->error;
}

static int begins_member(const z_stream *s) {
  return s->avail_in >= 2 && s->next_in[0] == 0x1f && s->next_in[1] == 0x8b;
}

int gzip_may_hold(const struct gzip *g, int64_t bytes) {
  enum { DEFLATE_RATIO = 1032 };
  struct stat status;
  if (fstat(fileno(g->file), &status) != 0 || !S_ISREG(status.st_mode)) return 1; /* a pipe does not say */
  return (g->place == PLAIN ? bytes : bytes / DEFLATE_RATIO) <= status.st_size;
}

/* What was read ahead, then from the file itself. */
static int64_t read_plain(struct gzip *g, char *to, int64_t size, const char **reason) {
  z_stream *s = &g->stream;
  uInt count = size < s->avail_in ? (uInt)size : s->avail_in;
  if (count > 0) memcpy(to, s->next_in, count);
  s->next_in += count;
  s->avail_in -= count;
  int64_t more = read_file(g, to + count, size - count, reason);
  return more < 0 ? -1 : count + more;
}

/* Some bytes of the member; at its end the next one begins, or none is left. */
static int64_t read_member(struct gzip *g, char *to, int64_t size, const char **reason) {
  z_stream *s = &g->stream;
  uInt room = size < INPUT ? (uInt)size : INPUT;
  s->next_out = (Bytef *)to;
  s->avail_out = room;
  if (s->avail_in == 0) *reason = "the gzip data is truncated";
  if (s->avail_in == 0) return -1;
  int code = inflate(s, Z_NO_FLUSH);
  if (code != Z_OK && code != Z_STREAM_END) {
    *reason = code == Z_MEM_ERROR ? strerror(ENOMEM) : s->msg ? s->msg : "the gzip data is damaged";
    return -1;
  }
  if (code == Z_STREAM_END) {
    if (!refill(g, reason)) return -1;
    g->place = begins_member(s) ? MEMBER : PADDING;
    inflateReset(s);
  }
  return room - s->avail_out;
}

static int skip_padding(struct gzip *g, const char **reason) {
  z_stream *s = &g->stream;
  while (s->avail_in > 0) {
    for (; s->avail_in > 0; s->next_in++, s->avail_in--) {
      if (*s->next_in == 0) continue;
      *reason = "the gzip data is damaged: what follows a member is neither another one nor zeros";
      return 0;
    }
    if (!refill(g, reason)) return 0;
  }
  return 1;
}

int64_t gzip_read(struct gzip *g, char *to, int64_t size, const char **reason) {
  int64_t read = 0;
  while (read < size && g->place != PADDING) {
    if (!refill(g, reason)) return -1;
    if (g->place == BEGINNING) g->place = begins_member(&g->stream) ? MEMBER : PLAIN;
    int64_t more = g->place == PLAIN ? read_plain(g, to + read, size - read, reason)
                                     : read_member(g, to + read, size - read, reason);
    if (more < 0) return -1;
    if (more == 0 && g->place == PLAIN) return read;
    read += more;
  }
  return g->place == PADDING && !skip_padding(g, reason) ? -1 : read;
}
