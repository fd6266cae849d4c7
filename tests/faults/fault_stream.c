/* Streams of the C library read and write by calls that cannot be intercepted. Those on files below FAULT_IN
 * become streams that call read, write and close as programs do. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#include "faults/fault.h"

enum { MOST_STREAMS = 64 };

static struct stream {
  FILE *file;
  int descriptor, taken;
} streams[MOST_STREAMS];

static ssize_t stream_read(void *cookie, char *data, size_t bytes) {
  return read(((struct stream *)cookie)->descriptor, data, bytes);
}

/* What is not written is 0 here, where write says -1. */
static ssize_t stream_write(void *cookie, const char *data, size_t bytes) {
  ssize_t written = write(((struct stream *)cookie)->descriptor, data, bytes);
  return written < 0 ? 0 : written;
}

static int stream_seek(void *cookie, off64_t *offset, int from) {
  off64_t place = lseek64(((struct stream *)cookie)->descriptor, *offset, from);
  if (place < 0) return -1;
  *offset = place;
  return 0;
}

static int stream_close(void *cookie) {
  struct stream *stream = cookie;
  int result = close(stream->descriptor);
  stream->file = NULL;
  stream->taken = 0;
  return result;
}

static struct stream *take(void) {
  for (int i = 0; i < MOST_STREAMS; i++) {
    if (!__sync_lock_test_and_set(&streams[i].taken, 1)) return &streams[i];
  }
  return NULL;
}

static int flags_of(const char *mode) {
  int both = strchr(mode, '+') != NULL;
  if (mode[0] == 'r') return both ? O_RDWR : O_RDONLY;
  return (both ? O_RDWR : O_WRONLY) | O_CREAT | (mode[0] == 'a' ? O_APPEND : O_TRUNC);
}

static FILE *make_stream(int descriptor, const char *mode) {
  const cookie_io_functions_t calls = {stream_read, stream_write, stream_seek, stream_close};
  struct stream *stream = take();
  if (!stream) {
    errno = EMFILE;
    return NULL;
  }
  stream->descriptor = descriptor;
  stream->file = fopencookie(stream, mode, calls);
  if (!stream->file) stream->taken = 0;
  return stream->file;
}

/* Counted once, as fopen. */
static FILE *open_stream(const char *path, const char *mode) {
  int (*opens)(const char *, int, ...);
  *(void **)&opens = dlsym(RTLD_NEXT, "open");
  int descriptor = opens(path, flags_of(mode) | O_CLOEXEC, 0666);
  return descriptor < 0 ? NULL : make_stream(descriptor, mode);
}

static FILE *open_file(struct fault_call *call, const void *caller, const char *path, const char *mode) {
  if (fault_strikes(call, caller, (long)path, 0)) return NULL;
  if (fault_concerns_path(path)) return open_stream(path, mode);
  FILE *(*next)(const char *, const char *);
  *(void **)&next = fault_next(call);
  return next(path, mode);
}

FILE *fopen(const char *path, const char *mode) {
  FAULT_CALL call = {.name = "fopen", .place = FAULT_PATH};
  return open_file(&call, __builtin_return_address(0), path, mode);
}

FILE *fopen64(const char *path, const char *mode) {
  FAULT_CALL call = {.name = "fopen64", .place = FAULT_PATH};
  return open_file(&call, __builtin_return_address(0), path, mode);
}

FILE *fdopen(int descriptor, const char *mode) {
  FAULT_CALL call = {.name = "fdopen", .place = FAULT_DESCRIPTOR};
  if (fault_strikes(&call, __builtin_return_address(0), descriptor, 0)) return NULL;
  if (fault_concerns_file(descriptor)) return make_stream(descriptor, mode);
  FILE *(*next)(int, const char *);
  *(void **)&next = fault_next(&call);
  return next(descriptor, mode);
}

int fileno(FILE *file) {
  FAULT_CALL call = {.name = "fileno"};
  for (int i = 0; i < MOST_STREAMS; i++) {
    if (streams[i].taken && streams[i].file == file) return streams[i].descriptor;
  }
  int (*next)(FILE *);
  *(void **)&next = fault_next(&call);
  return next(file);
}
