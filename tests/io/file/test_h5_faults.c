/* The disk fails under an HDF5 file, at every call in turn: one sentence, the former file in place, nothing
 * left beside it, and the process goes on with HDF5 as if nothing had been. */
#include "tests/check.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/file/h5.h"
#include "tests/io/tiny.h"

IN_TINY_FOLDER("h5_faults");

enum fault { NONE, WRITE, SYNC, CLOSE, RENAME, READ, FAULTS };

/* Which call of that kind on the files of the folder fails from now on, counted from 0. */
static _Atomic enum fault armed;
static _Atomic int countdown;
static int error, lasting;

static int is_ours(int fd) {
  char link[64], target[1024], place[600];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, target, sizeof target - 1);
  if (length <= 0) return 0;
  target[length] = '\0';
  snprintf(place, sizeof place, "/%s/", folder);
  return strstr(target, place) != NULL && strstr(target, ".h5") != NULL;
}

static int strikes(enum fault fault, int concerned) {
  if (fault != armed || !concerned) return 0;
  const int left = countdown--; /* threads write at once */
  if (left > 0 || (left < 0 && !lasting)) return 0;
  if (!lasting) armed = NONE;
  errno = error;
  return 1;
}

/* These stand before those of the C library, HDF5's calls included. */
ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset);
ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset);
ssize_t pread(int fd, void *data, size_t bytes, off_t offset);
ssize_t pread64(int fd, void *data, size_t bytes, off64_t offset);
int fsync(int fd);
int close(int fd);
int rename(const char *from, const char *to);
int renameat(int from_folder, const char *from, int to_folder, const char *to);

#define NEXT(name, type, ...) \
  type (*next)(__VA_ARGS__);  \
  *(void **)&next = dlsym(RTLD_NEXT, #name)

ssize_t pwrite(int fd, const void *data, size_t bytes, off_t offset) {
  NEXT(pwrite, ssize_t, int, const void *, size_t, off_t);
  return strikes(WRITE, is_ours(fd)) ? -1 : next(fd, data, bytes, offset);
}

ssize_t pwrite64(int fd, const void *data, size_t bytes, off64_t offset) {
  NEXT(pwrite64, ssize_t, int, const void *, size_t, off64_t);
  return strikes(WRITE, is_ours(fd)) ? -1 : next(fd, data, bytes, offset);
}

ssize_t pread(int fd, void *data, size_t bytes, off_t offset) {
  NEXT(pread, ssize_t, int, void *, size_t, off_t);
  return strikes(READ, is_ours(fd)) ? -1 : next(fd, data, bytes, offset);
}

ssize_t pread64(int fd, void *data, size_t bytes, off64_t offset) {
  NEXT(pread64, ssize_t, int, void *, size_t, off64_t);
  return strikes(READ, is_ours(fd)) ? -1 : next(fd, data, bytes, offset);
}

int fsync(int fd) {
  NEXT(fsync, int, int);
  return strikes(SYNC, is_ours(fd)) ? -1 : next(fd);
}

/* The descriptor is gone even so, as on Linux. */
int close(int fd) {
  NEXT(close, int, int);
  int fails = strikes(CLOSE, is_ours(fd)), code = next(fd);
  if (fails) errno = error;
  return fails ? -1 : code;
}

int rename(const char *from, const char *to) {
  NEXT(rename, int, const char *, const char *);
  return strikes(RENAME, 1) ? -1 : next(from, to);
}

int renameat(int from_folder, const char *from, int to_folder, const char *to) {
  NEXT(renameat, int, int, const char *, int, const char *);
  return strikes(RENAME, 1) ? -1 : next(from_folder, from, to_folder, to);
}

enum { ROWS = 1500, COLS = 200, MANY = 1500000, FEW = 1000 };

static int32_t many[MANY]; /* written and read past HDF5, by all threads */

/* Chunks of about 1 MiB that blocks of rows do not fall together with, groups and attributes. */
static int write_parts(struct h5 *h5, int64_t value) {
  static float rows[ROWS * COLS];
  for (int i = 0; i < ROWS * COLS; i++) rows[i] = (float)(value + i);
  TRY(h5_write_int(h5, "value", value));
  TRY(h5_new_dataset(h5, "/group/rows", H5_FLOAT, ROWS, COLS));
  for (int first = 0; first < ROWS; first += 700)
    TRY(h5_write_rows(h5, "/group/rows", first, ROWS - first < 700 ? ROWS - first : 700, H5_FLOAT,
                      rows + first * COLS));
  TRY(h5_write_all(h5, "/other/few", H5_FLOAT, 10, 0, rows));
  for (int i = 0; i < MANY; i++) many[i] = (int32_t)value + i;
  TRY(h5_new_dataset(h5, "/many", H5_INT32, MANY, 0));
  TRY(h5_write_rows(h5, "/many", 0, FEW, H5_INT32, many));
  TRY(h5_write_rows(h5, "/many", FEW, MANY - FEW, H5_INT32, many + FEW));
  return h5_commit(h5);
}

static int write_file(const char *path, int64_t value) {
  struct h5 h5;
  TRY(h5_create(&h5, path));
  int code = write_parts(&h5, value);
  h5_close(&h5);
  return code;
}

static int read_parts(struct h5 *h5, int64_t *value) {
  static float rows[ROWS * COLS];
  TRY(h5_read_int(h5, "value", value));
  TRY(h5_read_rows(h5, "/group/rows", 0, ROWS, H5_FLOAT, rows));
  for (int i = 0; i < ROWS * COLS; i++) {
    if (rows[i] != (float)(*value + i)) fail_msg("element %d is another", i);
  }
  TRY(h5_read_rows(h5, "/many", 0, MANY, H5_INT32, many));
  for (int i = 0; i < MANY; i++) {
    if (many[i] != (int32_t)*value + i) fail_msg("number %d is another", i);
  }
  return OK;
}

static int read_file(const char *path, int64_t *value) {
  struct h5 h5;
  TRY(h5_open(&h5, path));
  int code = read_parts(&h5, value);
  h5_close(&h5);
  return code;
}

static int files(void) {
  int count = 0;
  DIR *listing = opendir(folder);
  for (struct dirent *entry; (entry = readdir(listing));) count += entry->d_name[0] != '.';
  closedir(listing);
  return count;
}

/* Every call of that kind in turn, once and from there on. Returns how many there are. */
static int strike_each(enum fault fault, const char *path) {
  for (int call = 0;; call++) {
    for (lasting = 0; lasting < 2; lasting++) {
      error = call % 2 ? EDQUOT : EIO;
      countdown = call;
      armed = fault;
      int code = write_file(path, 1000 + call);
      int struck = armed == NONE || (lasting && code != OK);
      armed = NONE;
      if (!struck) return call;
      assert_int_equal(code, FAILED);
      assert_non_null(strstr(error_message(), "cannot be"));
      assert_non_null(strstr(error_message(), strerror(error)));
      error_clear();
      int64_t value;
      assert_ok(read_file(path, &value));
      assert_int_equal(value, 1);
      assert_int_equal(files(), 1);
    }
  }
}

TEST(each_failure_leaves_the_former_file) {
  char path[400];
  static const int least[FAULTS] = {[WRITE] = 18, [SYNC] = 1, [CLOSE] = 1, [RENAME] = 1};
  snprintf(path, sizeof path, "%s/file.h5", folder);
  assert_ok(write_file(path, 1));
  for (enum fault fault = WRITE; fault <= RENAME; fault++) {
    int calls = strike_each(fault, path);
    if (calls < least[fault])
      fail_msg("%d calls of kind %d failed, at least %d expected", calls, fault, least[fault]);
    int64_t value;
    assert_ok(read_file(path, &value)); /* that last time nothing went wrong */
    assert_int_equal(value, 1000 + calls);
    assert_ok(write_file(path, 1));
  }
}

TEST(a_read_that_fails_is_no_damage) {
  char path[400];
  snprintf(path, sizeof path, "%s/file.h5", folder);
  assert_ok(write_file(path, 1));
  for (int call = 0;; call++) {
    int64_t value = 0;
    error = EIO;
    lasting = 0;
    countdown = call;
    armed = READ;
    int code = read_file(path, &value);
    int struck = armed == NONE;
    armed = NONE;
    if (!struck) {
      assert_true(call > 4);
      assert_int_equal(value, 1);
      return;
    }
    if (code != OK) {
      assert_int_equal(code, FAILED);
      assert_non_null(strstr(error_message(), strerror(EIO)));
    }
    error_clear();
    assert_ok(read_file(path, &value));
  }
}
