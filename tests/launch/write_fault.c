/* Loaded before the C library (LD_PRELOAD), makes writes into the HDF5 files under the folder WRITE_FAULT_IN
 * go wrong after the first one: WRITE_FAULT=no_space fails them as a full disk does, WRITE_FAULT=kill ends
 * the process on the spot. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

ssize_t write(int fd, const void *data, size_t bytes);
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset);
ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset);

static int concerns(int fd) {
  const char *folder = getenv("WRITE_FAULT_IN");
  char link[64], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = folder ? readlink(link, path, sizeof path - 1) : -1;
  if (length < 0) return 0;
  path[length] = '\0';
  return strncmp(path, folder, strlen(folder)) == 0 && strstr(path, ".h5") != NULL;
}

/* Whether this write fails, with errno set. */
static int fails(int fd) {
  static int writes;
  const char *fault = getenv("WRITE_FAULT");
  if (!fault || !concerns(fd) || writes++ == 0) return 0;
  if (strcmp(fault, "kill") == 0) kill(getpid(), SIGKILL);
  errno = ENOSPC;
  return 1;
}

ssize_t write(int fd, const void *data, size_t bytes) {
  ssize_t (*next)(int, const void *, size_t);
  *(void **)&next = dlsym(RTLD_NEXT, "write");
  return fails(fd) ? -1 : next(fd, data, bytes);
}

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset) {
  ssize_t (*next)(int, const void *, size_t, off_t);
  *(void **)&next = dlsym(RTLD_NEXT, "pwrite");
  return fails(fd) ? -1 : next(fd, data, bytes, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset) {
  ssize_t (*next)(int, const void *, size_t, off64_t);
  *(void **)&next = dlsym(RTLD_NEXT, "pwrite64");
  return fails(fd) ? -1 : next(fd, data, bytes, offset);
}
