#include "runtime/file/atomic_write.h"

#include <dirent.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdatomic.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "runtime/base/base.h"
#include "runtime/base/fnv.h"

enum {
  ATTEMPTS = 100,    /* at a name that nobody has */
  NOT_FOR_ALL = 0775 /* rights to a new folder: without a umask, too, not everybody replaces what is in it */
};

int parent_of(const char *path, char folder[PATH_MAX]) {
  char copy[PATH_MAX];
  if (strlen(path) >= sizeof copy)
    FAIL(BAD_INPUT, "%.200s...: a path of at most %d characters is allowed", path, PATH_MAX - 1);
  snprintf(copy, sizeof copy, "%s", path);
  snprintf(folder, PATH_MAX, "%s", dirname(copy));
  return OK;
}

static const char *name_in(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

void stem_of(const char *path, char *stem, size_t size) {
  const char *name = name_in(path), *dot = strrchr(name, '.');
  snprintf(stem, size, "%.*s", dot && dot > name ? (int)(dot - name) : (int)strlen(name), name);
}

static int code_of(int error) {
  return error == ENAMETOOLONG ? BAD_INPUT : FAILED;
}

/* Whether a link there is this user's own or the administrator's, as whose links the kernel follows in
 * folders that everybody writes to. */
static int is_trusted_link(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0 && S_ISLNK(status.st_mode) &&
         (status.st_uid == geteuid() || status.st_uid == 0);
}

int atomic_write_folder(const char *path, int *folder) {
  enum { FLAGS = O_RDONLY | O_DIRECTORY | O_CLOEXEC };
  struct stat status;
  *folder = open(path, FLAGS | O_NOFOLLOW);
  if (*folder < 0 && (errno == ELOOP || errno == ENOTDIR) && is_trusted_link(path))
    *folder = open(path, FLAGS);
  if (*folder >= 0) return OK;
  int error = errno;
  if (lstat(path, &status) == 0 && S_ISLNK(status.st_mode) && !is_trusted_link(path))
    FAIL(BAD_INPUT, "%s: is a symbolic link that another user made; nothing is written through it", path);
  errno = error;
  FAIL(code_of(error), "%s: %s", path, strerror(error));
}

static int64_t writer;
static pid_t writer_process;

static void draw_writer(void) {
  uint64_t number;
  if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    number = fnv_add((uint64_t)now.tv_nsec, &now.tv_sec, (int64_t)sizeof now.tv_sec);
    number = fnv_add(number, &writer_process, (int64_t)sizeof writer_process);
  }
  writer = (int64_t)(number >> 2 | 1ULL << 62);
}

int64_t atomic_write_writer(void) {
  if (writer_process != getpid()) {
    writer_process = getpid();
    draw_writer();
  }
  return writer;
}

/* What a signal removes, through that folder. */
static char named[NAME_MAX + 1];
static int named_folder;
static atomic_int is_named;

static void note_name(const struct atomic_write *p) {
  is_named = 0;
  named_folder = p->folder;
  memcpy(named, p->temporary, sizeof named);
  is_named = 1;
}

void atomic_write_remove_named(void) {
  if (is_named) unlinkat(named_folder, named, 0);
}

static int make_file(struct atomic_write *p) {
  struct stat status;
  if (fstatat(p->folder, p->name, &status, 0) == 0 && !S_ISREG(status.st_mode))
    FAIL(FAILED, "%s: cannot be written: is a %s", p->path,
         S_ISDIR(status.st_mode) ? "folder" : "device or pipe");
  p->file = -1;
  for (int attempt = 0; attempt < ATTEMPTS && p->file < 0; attempt++) {
    snprintf(p->temporary, sizeof p->temporary, "%.*s.tmp-%lld", NAME_MAX - ATOMIC_WRITE_SUFFIX, p->name,
             (long long)atomic_write_writer());
    note_name(p); /* ahead of its making: a signal may come at any time */
    p->file = openat(p->folder, p->temporary, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (p->file >= 0) return OK;
    is_named = 0;
    if (errno != EEXIST) break;
    draw_writer();
  }
  FAIL(code_of(errno), "%s: cannot be written: %s", p->path, strerror(errno));
}

int atomic_write_check_name(const char *path) {
  if (strlen(path) >= PATH_MAX)
    FAIL(BAD_INPUT, "%.200s...: a path of at most %d characters is allowed", path, PATH_MAX - 1);
  if (strlen(name_in(path)) > NAME_MAX - ATOMIC_WRITE_SUFFIX)
    FAIL(BAD_INPUT, "%s: the name of a file that is written has at most %d characters", path,
         NAME_MAX - ATOMIC_WRITE_SUFFIX);
  return OK;
}

int atomic_write_open(struct atomic_write *p, const char *path) {
  char folder[PATH_MAX];
  *p = (struct atomic_write){0};
  TRY(atomic_write_check_name(path));
  TRY(parent_of(path, folder));
  snprintf(p->path, sizeof p->path, "%s", path);
  snprintf(p->name, sizeof p->name, "%s", name_in(path));
  int code = atomic_write_folder(folder, &p->folder);
  if (code != OK) FAIL(code, "%s: cannot be written: %s", path, error_message());
  code = make_file(p);
  p->open = code == OK;
  if (code != OK) close(p->folder);
  return code;
}

int atomic_write_stream(struct atomic_write *p, FILE **stream) {
  *stream = p->stream = fdopen(p->file, "w");
  if (!*stream) FAIL(FAILED, "%s: cannot be written: %s", p->path, strerror(errno));
  return OK;
}

/* What went wrong; the descriptor is closed even so. */
static int close_file(struct atomic_write *p, int sync) {
  int error = 0;
  if (p->file < 0) return 0;
  errno = 0;
  if (p->stream && (ferror(p->stream) | (fflush(p->stream) != 0))) error = errno ? errno : EIO;
  if (sync && error == 0 && fsync(p->file) != 0) error = errno;
  int closed = p->stream ? fclose(p->stream) : close(p->file);
  if (closed != 0 && error == 0) error = errno;
  p->file = -1;
  p->stream = NULL;
  return error;
}

/* From here on a signal finds nothing to remove; the number of the descriptor is free for others. */
static void close_folder(struct atomic_write *p) {
  is_named = 0;
  close(p->folder);
  p->open = 0;
}

static int (*asked)(void *context);
static void *asked_context;

void atomic_write_ask(int (*check)(void *context), void *context) {
  asked = check;
  asked_context = context;
}

int atomic_write_commit(struct atomic_write *p) {
  int error = close_file(p, 1);
  int code = error == 0 && asked ? asked(asked_context) : OK;
  if (code != OK) {
    atomic_write_drop(p);
    return code;
  }
  if (error == 0 && renameat(p->folder, p->temporary, p->folder, p->name) != 0) error = errno;
  if (error != 0) {
    atomic_write_drop(p);
    FAIL(FAILED, "%s: cannot be written: %s", p->path, strerror(error));
  }
  error = fsync(p->folder) == 0 ? 0 : errno;
  close_folder(p);
  if (error != 0 && error != EINVAL) /* some file systems do not sync folders */
    FAIL(FAILED, "%s: cannot sync its folder: %s", p->path, strerror(error));
  return OK;
}

void atomic_write_drop(struct atomic_write *p) {
  if (!p->open) return;
  close_file(p, 0);
  unlinkat(p->folder, p->temporary, 0);
  close_folder(p);
}

/* Whether that is the name of a temporary file of `name`. */
static int is_left(const char *left, const char *name) {
  static const char mark[] = ".tmp-";
  size_t length = strlen(name);
  if (strncmp(left, name, length) != 0 || strncmp(left + length, mark, sizeof mark - 1) != 0) return 0;
  left += length + sizeof mark - 1;
  return *left && left[strspn(left, "0123456789")] == '\0';
}

void atomic_write_clean(const char *path, int64_t seconds) {
  const char *name = name_in(path);
  char place[PATH_MAX];
  int folder = -1;
  time_t latest = time(NULL) - (time_t)seconds;
  if (parent_of(path, place) == OK) (void)atomic_write_folder(place, &folder);
  DIR *listing = folder >= 0 ? fdopendir(folder) : NULL;
  for (struct dirent *entry; listing && (entry = readdir(listing));) {
    struct stat status;
    if (is_left(entry->d_name, name) && fstatat(folder, entry->d_name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        (seconds == 0 || status.st_mtime <= latest))
      (void)unlinkat(folder, entry->d_name, 0);
  }
  if (listing)
    closedir(listing);
  else if (folder >= 0)
    close(folder);
  error_clear();
}

int make_folder(const char *path) {
  char part[PATH_MAX];
  size_t length = strlen(path);
  struct stat status;
  if (length == 0 || length >= sizeof part)
    FAIL(BAD_INPUT, "folder \"%.200s\": a name of 1 to %d characters is allowed", path, PATH_MAX - 1);
  for (size_t end = 1; end <= length; end++) {
    if (path[end] != '/' && path[end] != '\0') continue;
    snprintf(part, sizeof part, "%.*s", (int)end, path);
    if (mkdir(part, NOT_FOR_ALL) != 0 && errno != EEXIST)
      FAIL(code_of(errno), "%s: cannot be made: %s", part, strerror(errno));
  }
  if (stat(path, &status) != 0 || !S_ISDIR(status.st_mode)) FAIL(FAILED, "%s: is not a folder", path);
  return OK;
}

int make_folder_of(const char *path) {
  char folder[PATH_MAX];
  TRY(parent_of(path, folder));
  return make_folder(folder);
}
