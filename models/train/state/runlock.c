#include "models/train/state/runlock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/file/atomic_write.h"
#include "runtime/file/input.h"

enum { OWNER = 128, ATTEMPTS = 10 };

static const char mark[] = "process ";

/* Who signed it: "" when nobody has. Whatever else others wrote there does not reach the terminal. */
static void read_owner(int file, char owner[OWNER]) {
  ssize_t length = pread(file, owner, OWNER - 1, 0);
  owner[length > 0 ? length : 0] = '\0';
  for (char *c = owner; *c; c++) {
    if (*c < ' ' || *c > '~') *c = '?';
  }
}

/* Says in the file who holds it, for the message of those who come later. */
static void sign(int file) {
  char host[64] = "", owner[OWNER];
  gethostname(host, sizeof host - 1);
  int length = snprintf(owner, sizeof owner, "%s%ld on %s", mark, (long)getpid(), host);
  if (ftruncate(file, 0) != 0 || pwrite(file, owner, (size_t)length, 0) != length)
    log_info("note: log.dir: the lock in use is not signed: %s", strerror(errno));
}

static int is_same(const struct stat *a, const struct stat *b) {
  return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Whether the name `lock` leads to that file. */
static int is_named(const struct runlock *lock, int file) {
  struct stat named, opened;
  return fstatat(lock->folder, "lock", &named, AT_SYMLINK_NOFOLLOW) == 0 && fstat(file, &opened) == 0 &&
         is_same(&named, &opened);
}

/* Only what is a lock is signed: a plain file under no other name, empty or signed before. */
static int check_file(int file, const char *folder) {
  struct stat status;
  char owner[OWNER];
  read_owner(file, owner);
  int is_lock = fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink <= 1 &&
                (status.st_size == 0 || strncmp(owner, mark, sizeof mark - 1) == 0);
  if (!is_lock)
    FAIL(BAD_INPUT, "log.dir: %s/lock is no lock of a run; remove it or name another log.dir", folder);
  return OK;
}

/* *file -1: there is none, and none was to be made. */
static int open_file(const struct runlock *lock, const char *folder, int flags, int *file) {
  *file = openat(lock->folder, "lock", O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | flags, 0666);
  if (*file >= 0) return OK;
  if (errno == ENOENT && !(flags & O_CREAT)) return OK;
  if (errno == ELOOP)
    FAIL(BAD_INPUT, "log.dir: %s/lock is a symbolic link; remove it or name another log.dir", folder);
  FAIL(input_code(errno), "log.dir: cannot write %s/lock: %s", folder, strerror(errno));
}

static int refuse(int file, const char *folder) {
  char owner[OWNER];
  read_owner(file, owner);
  FAIL(BAD_INPUT, "log.dir: %s is in use by %s; wait for its end, stop it or name another log.dir", folder,
       owner[0] ? owner : "another process");
}

/* *error: why the file system does not lock it. */
static int lock_file(int file, const char *folder, int *error) {
  *error = 0;
  TRY(check_file(file, folder));
  if (flock(file, LOCK_EX | LOCK_NB) != 0) *error = errno;
  return *error == EWOULDBLOCK ? refuse(file, folder) : OK;
}

/* A file that was removed while it was opened and locked is nobody's lock: then there is another try. */
static int take_file(struct runlock *lock, const char *folder, int make) {
  for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
    int file, error;
    TRY(open_file(lock, folder, make ? O_CREAT : 0, &file));
    if (file < 0) return OK;
    int code = lock_file(file, folder, &error);
    if (code == OK && error && make)
      log_info("note: %s/lock: cannot be locked (%s): mind that no other run writes there", folder,
               strerror(error));
    if (code == OK && !error && is_named(lock, file)) {
      sign(file);
      lock->file = file;
      lock->held = 1;
      return OK;
    }
    close(file);
    if (code != OK || error) return code;
  }
  FAIL(FAILED, "log.dir: %s/lock is removed again and again by another process", folder);
}

int runlock_take(struct runlock *lock, const char *folder, int make) {
  if (lock->held) return runlock_hold(lock, folder);
  runlock_release(lock);
  int code = atomic_write_folder(folder, &lock->folder);
  if (code != OK && !make && errno == ENOENT) {
    error_clear();
    return OK;
  }
  if (code != OK) FAIL(BAD_INPUT, "log.dir: %s", error_message());
  lock->open = 1;
  return take_file(lock, folder, make);
}

/* The name has another file: it is free only where nobody has signed it. */
static int take_other(int file, const char *folder) {
  char owner[OWNER];
  read_owner(file, owner);
  int code = owner[0] ? BAD_INPUT : check_file(file, folder);
  if (code == OK && flock(file, LOCK_EX | LOCK_NB) == 0) return OK;
  FAIL(FAILED,
       "log.dir: %s belongs to %s now, for its file `lock` was removed or replaced; this run ends and leaves "
       "the folder as it is",
       folder, owner[0] ? owner : "another process");
}

static int take_again(struct runlock *lock, const char *folder) {
  int file;
  TRY(open_file(lock, folder, O_CREAT, &file));
  int code = take_other(file, folder);
  if (code != OK) {
    close(file);
    return code;
  }
  sign(file);
  close(lock->file);
  lock->file = file;
  log_info("note: log.dir: %s/lock was removed or replaced while this run holds it; it is there again",
           folder);
  return OK;
}

int runlock_hold(struct runlock *lock, const char *folder) {
  struct stat named, opened;
  if (!lock->open) return OK;
  if (stat(folder, &named) != 0 || fstat(lock->folder, &opened) != 0 || !is_same(&named, &opened))
    FAIL(
        FAILED,
        "log.dir: %s is no longer the folder that this run began in, which was renamed, removed or replaced; "
        "the run ends and writes nothing more",
        folder);
  return lock->held && !is_named(lock, lock->file) ? take_again(lock, folder) : OK;
}

void runlock_release(struct runlock *lock) {
  if (lock->held) close(lock->file);
  if (lock->open) close(lock->folder);
  *lock = (struct runlock){0};
}
