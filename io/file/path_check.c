#include "io/file/path_check.h"

#include <fts.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/h5.h"
#include "runtime/base/base.h"
#include "runtime/file/input.h"

int path_check_readable(const char *path) {
  int file;
  TRY(input_open_file(path, &file));
  close(file);
  return OK;
}

/* The nearest folder above `path` that is there takes files, or the folders that are missing. */
static int check_folder(const char *path) {
  char folder[PATH_MAX];
  struct stat status;
  TRY(parent_of(path, folder));
  int missing = stat(folder, &status) != 0;
  while (missing && errno == ENOENT && strcmp(folder, ".") != 0) {
    TRY(parent_of(folder, folder));
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

int path_check_writable(const char *path, const char *const *inputs) {
  struct stat status;
  size_t length = strlen(path);
  if (length == 0) FAIL(BAD_INPUT, "the name of the file to write is empty");
  if (path[length - 1] == '/') FAIL(BAD_INPUT, "%s: is a folder; a file is expected", path);
  if (length >= sizeof((struct h5){0}).path)
    FAIL(BAD_INPUT, "%.200s...: a path of at most %zu characters is allowed", path,
         sizeof((struct h5){0}).path - 1);
  TRY(atomic_write_check_name(path));
  if (stat(path, &status) == 0) TRY(check_replaced(path, &status, inputs));
  return check_folder(path);
}

static int begins_as_one(FILE *in, const char *const *beginning) {
  char text[64] = "";
  const size_t length = fread(text, 1, sizeof text - 1, in);
  int fits = length == 0 && *beginning;
  for (; *beginning; beginning++) fits |= strncmp(text, *beginning, strlen(*beginning)) == 0;
  return fits;
}

int path_check_replaced(const char *path, const char *const *beginning, const char *what) {
  FILE *there = fopen(path, "re");
  if (!there) return OK;
  const int fits = begins_as_one(there, beginning);
  fclose(there);
  if (fits) return OK;
  FAIL(BAD_INPUT, "%s: is there and is no %s; remove it or name another", path, what);
}
