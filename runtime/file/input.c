#include "runtime/file/input.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/base/worker.h"

static const double PATIENCE = .5; /* s, until a line says what is waited for */

int input_code(int error) {
  switch (error) {
  case EMFILE:
  case ENFILE:
  case ENOMEM:
  case EIO:
  case ESTALE:
  case EDQUOT:
  case ETIMEDOUT:
    return FAILED;
  }
  return BAD_INPUT;
}

static int check_kind(const char *path, mode_t mode) {
  if (S_ISDIR(mode)) FAIL(BAD_INPUT, "%s: is a folder; a file is expected", path);
  if (!S_ISREG(mode)) FAIL(BAD_INPUT, "%s: is a device or pipe; a file is expected", path);
  return OK;
}

/* Looks before it opens, for opening a device can have effects, and once more behind. */
int input_open_file(const char *path, int *descriptor) {
  struct stat status;
  *descriptor = -1;
  if (path[0] == '\0') FAIL(BAD_INPUT, "the file's name is empty");
  if (stat(path, &status) != 0) FAIL(input_code(errno), "%s: cannot be read: %s", path, strerror(errno));
  TRY(check_kind(path, status.st_mode));
  int file = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) FAIL(input_code(errno), "%s: cannot be read: %s", path, strerror(errno));
  int code = fstat(file, &status) == 0 ? check_kind(path, status.st_mode) : OK;
  if (code == OK)
    *descriptor = file;
  else
    close(file);
  return code;
}

/* A pipe without a writer keeps whoever opens it. */
struct opening {
  const char *path;
  int descriptor, error;
};

static int open_waiting(void *context) {
  struct opening *o = context;
  o->descriptor = open(o->path, O_RDONLY | O_CLOEXEC);
  o->error = errno;
  return OK;
}

static int open_pipe(const char *path) {
  struct opening o = {.path = path, .descriptor = -1};
  struct worker worker;
  if (worker_start(&worker, open_waiting, &o) != OK) {
    error_clear();
    open_waiting(&o);
  } else {
    if (!worker_wait(&worker, PATIENCE)) fprintf(stderr, "waiting for a writer of %s\n", path);
    (void)worker_finish(&worker);
  }
  errno = o.error;
  return o.descriptor;
}

FILE *input_open(const char *path) {
  struct stat status;
  int is_pipe = stat(path, &status) == 0 && S_ISFIFO(status.st_mode);
  int file = is_pipe ? open_pipe(path) : open(path, O_RDONLY | O_NOCTTY | O_CLOEXEC);
  FILE *stream = file >= 0 ? fdopen(file, "rb") : NULL;
  if (file >= 0 && !stream) {
    close(file);
    errno = ENOMEM;
  }
  return stream;
}

int input_check_settings(const char *path) {
  struct stat status, null;
  if (stat(path, &status) != 0) return OK; /* whoever opens it says so */
  int is_null = stat("/dev/null", &null) == 0 && status.st_rdev == null.st_rdev;
  if ((S_ISCHR(status.st_mode) && !is_null) || S_ISBLK(status.st_mode))
    FAIL(BAD_INPUT, "%s: is a device; a file is expected", path);
  return OK;
}
