#include "io/file/gzip.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "runtime/file/input.h"

#ifdef GNNTRAIN_HAVE_ISAL
#include <isa-l/igzip_lib.h>
#else
#include <zlib.h>
#endif

enum { INPUT = 1 << 18 };

/* A member's bytes, by the faster of two libraries that is there. Both name what is at hand next_in,
 * avail_in, next_out, avail_out. begin: of a new member; step: 1 at its end, -1 where it is damaged. */
#ifdef GNNTRAIN_HAVE_ISAL
typedef struct inflate_state stream;

static int stream_open(stream *s) {
  isal_inflate_init(s);
  s->crc_flag = ISAL_GZIP;
  return 1;
}

static void stream_begin(stream *s) {
  isal_inflate_reset(s);
}

static void stream_close(stream *s) {
  (void)s;
}

static int stream_step(stream *s, const char **reason) {
  const int code = isal_inflate(s);
  *reason = code == ISAL_INCORRECT_CHECKSUM ? "incorrect data check" : "the gzip data is damaged";
  return code < 0 || code == ISAL_NEED_DICT ? -1 : s->block_state == ISAL_BLOCK_FINISH;
}
#else
typedef z_stream stream;

static int stream_open(stream *s) {
  return inflateInit2(s, 16 + MAX_WBITS) == Z_OK;
}

static void stream_begin(stream *s) {
  inflateReset(s);
}

static void stream_close(stream *s) {
  inflateEnd(s);
}

static int stream_step(stream *s, const char **reason) {
  const int code = inflate(s, Z_NO_FLUSH);
  *reason = code == Z_MEM_ERROR ? strerror(ENOMEM) : s->msg ? s->msg : "the gzip data is damaged";
  return code == Z_STREAM_END ? 1 : code == Z_OK || code == Z_BUF_ERROR ? 0 : -1;
}
#endif

enum place { BEGINNING, PLAIN, MEMBER, PADDING };

struct gzip {
  FILE *file;
  stream stream; /* [next_in, avail_in): of input, not yet used */
  enum place place;
  int error; /* errno */
  unsigned char input[INPUT];
};

struct gzip *gzip_open(const char *path) {
  struct gzip *g = calloc(1, sizeof *g);
  if (!g) return NULL;
  g->file = input_open(path);
  if (g->file && stream_open(&g->stream)) return g;
  int reason = g->file ? ENOMEM : errno;
  gzip_close(g);
  errno = reason;
  return NULL;
}

void gzip_close(struct gzip *g) {
  if (!g) return;
  if (g->file) fclose(g->file);
  stream_close(&g->stream);
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
  stream *s = &g->stream;
  if (s->avail_in >= 2) return 1;
  if (s->avail_in > 0) g->input[0] = *s->next_in;
  int64_t read = read_file(g, g->input + s->avail_in, INPUT - s->avail_in, reason);
  s->next_in = g->input;
  if (read > 0) s->avail_in += (uint32_t)read;
  return read >= 0;
}

int gzip_error(const struct gzip *g) {
  return g->error;
}

static int begins_member(const stream *s) {
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
  stream *s = &g->stream;
  uint32_t count = size < s->avail_in ? (uint32_t)size : s->avail_in;
  if (count > 0) memcpy(to, s->next_in, count);
  s->next_in += count;
  s->avail_in -= count;
  int64_t more = read_file(g, to + count, size - count, reason);
  return more < 0 ? -1 : count + more;
}

/* Some bytes of the member; at its end the next one begins, or none is left. */
static int64_t read_member(struct gzip *g, char *to, int64_t size, const char **reason) {
  stream *s = &g->stream;
  uint32_t room = size < INPUT ? (uint32_t)size : INPUT;
  s->next_out = (unsigned char *)to;
  s->avail_out = room;
  int ends = stream_step(s, reason);
  if (ends < 0) return -1;
  const int64_t made = room - s->avail_out;
  if (!refill(g, reason)) return -1;
  if (!ends && made == 0 && s->avail_in == 0) {
    *reason = "the gzip data is truncated";
    return -1;
  }
  if (ends) {
    g->place = begins_member(s) ? MEMBER : PADDING;
    stream_begin(s);
  }
  return made;
}

static int skip_padding(struct gzip *g, const char **reason) {
  stream *s = &g->stream;
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
