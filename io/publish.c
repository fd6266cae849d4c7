#include "io/publish.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/error.h"
#include "runtime/fnv.h"

int check_readable(const char *path) {
  struct stat status;
  if (path[0] == '\0') FAIL(BAD_INPUT, "the file's name is empty");
  if (stat(path, &status) != 0) FAIL(BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  if (S_ISDIR(status.st_mode)) FAIL(BAD_INPUT, "%s: is a folder; a file is expected", path);
  if (!S_ISREG(status.st_mode)) FAIL(BAD_INPUT, "%s: is a device or pipe; a file is expected", path);
  if (access(path, R_OK) != 0) FAIL(BAD_INPUT, "%s: cannot be read: %s", path, strerror(errno));
  return OK;
}

/* The folder that holds `path`. */
static int folder_of(const char *path, char folder[PATH_MAX]) {
  char copy[PATH_MAX];
  if (strlen(path) >= sizeof copy)
    FAIL(BAD_INPUT, "%s: a path of at most %d characters is allowed", path, PATH_MAX - 1);
  snprintf(copy, sizeof copy, "%s", path);
  snprintf(folder, PATH_MAX, "%s", dirname(copy));
  return OK;
}

/* The nearest folder above `path` that is there takes files, or the folders that are missing. */
static int check_folder(const char *path) {
  char folder[PATH_MAX];
  struct stat status;
  TRY(folder_of(path, folder));
  int missing = stat(folder, &status) != 0;
  while (missing && errno == ENOENT && strcmp(folder, ".") != 0) {
    TRY(folder_of(folder, folder));
    missing = stat(folder, &status) != 0;
  }
  if (!missing && !S_ISDIR(status.st_mode))
    FAIL(BAD_INPUT, "%s: cannot be written: %s is not a folder", path, folder);
  if (missing || access(folder, W_OK | X_OK) != 0)
    FAIL(BAD_INPUT, "%s: cannot be written: %s: %s", path, folder, strerror(errno));
  return OK;
}

/* Whether the file `output` is, under any name, one of those that `files` goes through. */
static int find_among(const char *path, const struct stat *output, FTS *files) {
  for (FTSENT *entry = fts_read(files); entry; entry = fts_read(files)) {
    if (entry->fts_info == FTS_F && entry->fts_statp->st_dev == output->st_dev &&
        entry->fts_statp->st_ino == output->st_ino)
      FAIL(BAD_INPUT, "%s: cannot be written: it is the input %s", path, entry->fts_path);
  }
  return OK;
}

/* `path` is there: it is a plain file, and none of the inputs. */
static int check_replaced(const char *path, const struct stat *status, const char *const *inputs) {
  if (S_ISDIR(status->st_mode)) FAIL(BAD_INPUT, "%s: is a folder; a file is expected", path);
  if (!S_ISREG(status->st_mode)) FAIL(BAD_INPUT, "%s: is a device or pipe; a file is expected", path);
  if (!inputs[0]) return OK;
  FTS *files = fts_open((char *const *)inputs, FTS_LOGICAL | FTS_NOCHDIR, NULL);
  if (!files) FAIL(FAILED, "%s: the inputs cannot be compared with it: %s", path, strerror(errno));
  int code = find_among(path, status, files);
  fts_close(files);
  return code;
}

int check_writable(const char *path, const char *const *inputs) {
  struct stat status;
  size_t length = strlen(path);
  if (length == 0) FAIL(BAD_INPUT, "the name of the file to write is empty");
  if (path[length - 1] == '/') FAIL(BAD_INPUT, "%s: is a folder; a file is expected", path);
  if (stat(path, &status) == 0) TRY(check_replaced(path, &status, inputs));
  return check_folder(path);
}

int64_t publish_writer(void) {
  enum { PID_BITS = 22, PLACE_BITS = 40 };
  static uint64_t place;
  char host[256] = "";
  if (place == 0) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    gethostname(host, sizeof host - 1);
    place = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
    place = fnv_add(place, host, (int64_t)strlen(host));
    place = place >> (64 - PLACE_BITS) | 1;
  }
  return (int64_t)(place << PID_BITS | ((uint64_t)getpid() & ((1 << PID_BITS) - 1)));
}

/* What a signal removes; "": nothing. */
static char named[PATH_MAX];
static volatile sig_atomic_t is_named;

static void note_name(const char *name) {
  is_named = 0;
  if (snprintf(named, sizeof named, "%s", name) < (int)sizeof named) is_named = 1;
}

void publish_remove_named(void) {
  if (is_named) unlink(named);
}

int publish_name(const char *path, char *name, int64_t size) {
  char folder[PATH_MAX];
  struct stat status;
  TRY(folder_of(path, folder));
  if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
    FAIL(FAILED, "%s: cannot be written: is a folder", path);
  if (stat(path, &status) == 0 && !S_ISREG(status.st_mode))
    FAIL(FAILED, "%s: cannot be written: is a device or pipe", path);
  if (access(folder, W_OK | X_OK) != 0)
    FAIL(FAILED, "%s: cannot be written: %s: %s", path, folder, strerror(errno));
  if (snprintf(name, (size_t)size, "%s.tmp-%lld", path, (long long)publish_writer()) >= size) {
    name[0] = '\0';
    FAIL(FAILED, "%s: a path of at most %lld characters is allowed", path, (long long)size - 32);
  }
  note_name(name);
  return OK;
}

static int sync_path(const char *path, int flags) {
  int file = open(path, flags | O_CLOEXEC);
  if (file < 0) return errno;
  int error = fsync(file) == 0 ? 0 : errno;
  close(file);
  return error;
}

int publish(const char *temporary, const char *path) {
  char folder[PATH_MAX];
  TRY(folder_of(path, folder));
  int error = sync_path(temporary, O_RDONLY);
  if (error == 0 && rename(temporary, path) != 0) error = errno;
  if (error != 0) {
    unlink(temporary);
    FAIL(FAILED, "%s: cannot be written: %s", path, strerror(error));
  }
  error = sync_path(folder, O_RDONLY | O_DIRECTORY);
  if (error != 0 && error != EINVAL) /* some file systems do not sync folders */
    FAIL(FAILED, "%s: cannot sync the folder: %s", folder, strerror(error));
  return OK;
}

void publish_clean(const char *path, int64_t seconds) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
  char folder[PATH_MAX];
  size_t length = strlen(name);
  time_t latest = time(NULL) - (time_t)seconds;
  DIR *listing = folder_of(path, folder) == OK ? opendir(folder) : NULL;
  for (struct dirent *entry; listing && (entry = readdir(listing));) {
    struct stat status;
    if (strncmp(entry->d_name, name, length) == 0 && strncmp(entry->d_name + length, ".tmp-", 5) == 0 &&
        fstatat(dirfd(listing), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        (seconds == 0 || status.st_mtime <= latest))
      (void)unlinkat(dirfd(listing), entry->d_name, 0);
  }
  if (listing) closedir(listing);
  error_clear();
}

int make_folder(const char *path) {
  char part[PATH_MAX];
  size_t length = strlen(path);
  struct stat status;
  if (length == 0 || length >= sizeof part)
    FAIL(FAILED, "folder \"%s\": a name of 1 to %d characters is allowed", path, PATH_MAX - 1);
  for (size_t end = 1; end <= length; end++) {
    if (path[end] != '/' && path[end] != '\0') continue;
    snprintf(part, sizeof part, "%.*s", (int)end, path);
    if (mkdir(part, 0777) != 0 && errno != EEXIST)
      FAIL(FAILED, "%s: cannot be made: %s", part, strerror(errno));
  }
  if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) FAIL(FAILED, "%s: is not a folder", path);
  return OK;
}

int make_folder_of(const char *path) {
  char folder[PATH_MAX];
  TRY(folder_of(path, folder));
  return make_folder(folder);
}
