#include "tests/check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/file/h5_hdf5.h"
#include "io/file/path_check.h"
#include "tests/io/tiny.h"

IN_TINY_FOLDER("h5");

static char path[400];

static const char *file_named(const char *name) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static void write_bytes(const char *name, const void *bytes, size_t size) {
  FILE *file = fopen(file_named(name), "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  fclose(file);
}

TEST(each_type_is_read_back_by_rows) {
  struct h5 h5;
  int64_t wide[5] = {INT64_MIN, -1, 0, 1, INT64_MAX}, got_wide[5];
  int32_t narrow[6] = {INT32_MIN, 0, 1, 2, 3, INT32_MAX}, got_narrow[4];
  uint8_t byte[3] = {0, 128, 255}, got_byte[3];
  double real[2] = {1. / 3, -1e300}, got_real[2];
  const char *const text[3] = {"one", "", "drei \xc3\xa4"};
  char *got_text[2];
  assert_ok(h5_create(&h5, file_named("types.h5")));
  assert_ok(h5_write_all(&h5, "/a/b/wide", H5_INT64, 5, 0, wide));
  assert_ok(h5_write_all(&h5, "/a/narrow", H5_INT32, 3, 2, narrow));
  assert_ok(h5_write_all(&h5, "/byte", H5_UINT8, 3, 0, byte));
  assert_ok(h5_write_all(&h5, "/real", H5_DOUBLE, 2, 1, real));
  assert_ok(h5_write_all(&h5, "/none", H5_FLOAT, 0, 7, NULL));
  assert_ok(h5_write_strings(&h5, "/a/text", 3, text));
  assert_ok(h5_commit(&h5));
  assert_ok(h5_probe(path));
  assert_ok(h5_open(&h5, path));
  assert_ok(h5_read_rows(&h5, "/a/b/wide", 0, 5, H5_INT64, got_wide));
  assert_memory_equal(got_wide, wide, sizeof wide);
  assert_ok(h5_read_rows(&h5, "/a/narrow", 1, 2, H5_INT32, got_narrow));
  assert_memory_equal(got_narrow, narrow + 2, sizeof got_narrow);
  assert_ok(h5_read_rows(&h5, "/byte", 0, 3, H5_UINT8, got_byte));
  assert_memory_equal(got_byte, byte, sizeof byte);
  assert_ok(h5_read_rows(&h5, "/real", 0, 2, H5_DOUBLE, got_real));
  assert_memory_equal(got_real, real, sizeof real);
  assert_ok(h5_read_strings(&h5, "/a/text", 1, 2, got_text));
  assert_string_equal(got_text[0], text[1]);
  assert_string_equal(got_text[1], text[2]);
  free(got_text[0]);
  free(got_text[1]);
  struct h5_shape shape;
  assert_ok(h5_shape(&h5, "/none", &shape));
  assert_true(shape.exists && shape.dims == 2 && shape.dim[0] == 0 && shape.dim[1] == 7);
  assert_ok(h5_shape(&h5, "/a/absent", &shape));
  assert_false(shape.exists);
  char **names;
  int64_t count;
  assert_ok(h5_list(&h5, "/a", &names, &count));
  assert_int_equal(count, 3);
  assert_string_equal(names[0], "b");
  assert_string_equal(names[2], "text");
  h5_free_names(names, count);
  h5_close(&h5);
}

/* Types that take more room in memory than in the file, as others write them. */
TEST(narrow_numbers_of_others_are_read) {
  enum { COUNT = 300000 };
  hsize_t size = COUNT;
  hid_t half = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(half, 15, 10, 5, 0, 10);
  H5Tset_size(half, 2);
  H5Tset_ebias(half, 15);
  const hid_t type[] = {H5T_STD_I8LE, H5T_STD_I16LE, H5T_STD_U16BE, H5T_STD_U32LE, half};
  int8_t *ones = malloc(COUNT), name[2] = {'a', 0};
  double *back = malloc(COUNT * sizeof *back);
  memset(ones, 1, COUNT);
  hid_t file = H5Fcreate(file_named("others.h5"), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  hid_t space = H5Screate_simple(1, &size, NULL);
  for (int i = 0; i < 5; i++, name[0]++) {
    hid_t set = H5Dcreate2(file, (char *)name, type[i], space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    assert_true(H5Dwrite(set, H5T_NATIVE_INT8, H5S_ALL, H5S_ALL, H5P_DEFAULT, ones) >= 0);
    H5Dclose(set);
  }
  H5Sclose(space);
  H5Fclose(file);
  H5Tclose(half);
  struct h5 h5;
  assert_ok(h5_probe(path));
  assert_ok(h5_open(&h5, path));
  for (name[0] = 'a'; name[0] < 'f'; name[0]++) {
    assert_ok(h5_read_rows(&h5, (char *)name, 0, COUNT, H5_DOUBLE, back));
    for (int64_t i = 0; i < COUNT; i++) assert_true(back[i] == 1);
  }
  h5_close(&h5);
  free(ones);
  free(back);
}

TEST(a_request_that_does_not_fit_is_refused) {
  struct h5 h5;
  float value[4] = {1, 2, 3, 4};
  int32_t integer[4];
  char text[8], *string[1];
  int64_t number;
  assert_ok(h5_create(&h5, file_named("refuse.h5")));
  assert_ok(h5_write_all(&h5, "/group/value", H5_FLOAT, 4, 0, value));
  assert_ok(h5_write_text(&h5, "name", "twelve chars"));
  assert_ok(h5_write_int(&h5, "count", 3));
  assert_ok(h5_commit(&h5));
  assert_ok(h5_open(&h5, path));
  assert_fails(h5_read_rows(&h5, "/group/value", 2, 3, H5_FLOAT, value), BAD_INPUT,
               "/group/value: has 4 rows; rows 2 to 5");
  assert_fails(h5_read_rows(&h5, "/group/value", -1, 1, H5_FLOAT, value), BAD_INPUT, "has 4 rows");
  assert_fails(h5_read_rows(&h5, "/group/value", 0, 4, H5_INT32, integer), BAD_INPUT,
               "integers are expected");
  assert_fails(h5_read_rows(&h5, "/group", 0, 1, H5_FLOAT, value), BAD_INPUT, "/group: is a group");
  assert_fails(h5_read_rows(&h5, "/absent", 0, 1, H5_FLOAT, value), BAD_INPUT, "/absent: is missing");
  assert_fails(h5_read_strings(&h5, "/group/value", 0, 1, string), BAD_INPUT, "of strings is expected");
  assert_fails(h5_read_text(&h5, "name", text, sizeof text), BAD_INPUT, "12 bytes; at most 7");
  assert_fails(h5_read_int(&h5, "name", &number), BAD_INPUT, "\"name\" is not an integer");
  assert_fails(h5_read_text(&h5, "count", text, sizeof text), BAD_INPUT, "is not a string");
  assert_fails(h5_read_int(&h5, "counts", &number), BAD_INPUT, "\"counts\" is missing");
  assert_ok(h5_read_int(&h5, "count", &number));
  assert_int_equal(number, 3);
  h5_close(&h5);
}

TEST(what_is_no_file_or_not_hdf5_has_its_sentence) {
  char bytes[4096];
  for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 31);
  assert_fails(h5_probe(file_named("absent.h5")), BAD_INPUT, "No such file or directory");
  assert_fails(h5_probe(folder), BAD_INPUT, "is a folder");
  assert_fails(h5_probe("/dev/zero"), BAD_INPUT, "is a device or pipe");
  write_bytes("noise.h5", bytes, sizeof bytes);
  assert_fails(h5_probe(path), BAD_INPUT, "is not an HDF5 file");
  write_bytes("empty.h5", bytes, 0);
  assert_fails(h5_probe(path), BAD_INPUT, "is not an HDF5 file");
  memcpy(bytes, "\x89HDF\r\n\x1a\n", 8);
  write_bytes("header.h5", bytes, sizeof bytes);
  assert_fails(h5_probe(path), BAD_INPUT, "is a damaged or truncated HDF5 file");
}

/* One flipped byte in the middle of the numbers: only a checksum can tell. */
TEST(a_flipped_byte_of_data_is_found) {
  struct h5 h5;
  enum { COUNT = 4096 };
  int64_t value[COUNT];
  for (int64_t i = 0; i < COUNT; i++) value[i] = 0x1122334455667788;
  assert_ok(h5_create(&h5, file_named("flip.h5")));
  assert_ok(h5_write_all(&h5, "/value", H5_INT64, COUNT, 0, value));
  assert_ok(h5_commit(&h5));
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  char *bytes = malloc((size_t)status.st_size);
  FILE *file = fopen(path, "rb");
  assert_int_equal(fread(bytes, 1, (size_t)status.st_size, file), status.st_size);
  fclose(file);
  char *middle = memmem(bytes, (size_t)status.st_size, value, 64);
  assert_non_null(middle);
  middle[10000] ^= 4;
  write_bytes("flip.h5", bytes, (size_t)status.st_size);
  free(bytes);
  assert_fails(h5_probe(path), BAD_INPUT, "/value: rows 0 to 4096 are damaged");
  assert_ok(h5_open(&h5, path));
  assert_fails(h5_read_rows(&h5, "/value", 0, COUNT, H5_INT64, value), BAD_INPUT, "damaged");
  h5_close(&h5);
}

/* Fails for want of space at several places, then works again in the same process. Runs in a child: exits
 * with 0 when every failure was said and left nothing behind. */
static void write_until_full(const char *dir, int64_t rows) {
  struct h5 h5;
  float *value = calloc((size_t)rows, sizeof *value);
  char name[500];
  snprintf(name, sizeof name, "%s/full.h5", dir);
  for (int times = 0; times < 3; times++) {
    int code = h5_create(&h5, name);
    for (int i = 0; i < 4 && code == OK; i++) {
      char set[16];
      snprintf(set, sizeof set, "/set%d", i);
      code = h5_write_all(&h5, set, H5_FLOAT, rows, 0, value);
    }
    if (code == OK) code = h5_commit(&h5);
    h5_close(&h5);
    int said = strstr(error_message(), "No space left on device") ||
               strstr(error_message(), "File too large");
    if (code != FAILED || !said)
      fprintf(stderr, "rows %lld: code %d: %s\n", (long long)rows, code, error_message());
    if (code != FAILED || !said) _exit(1);
    snprintf(name, sizeof name, "%s/full.h5.tmp-%lld", dir, (long long)atomic_write_writer());
    if (access(name, F_OK) == 0) _exit(2);
    snprintf(name, sizeof name, "%s/full.h5", dir);
    if (access(name, F_OK) == 0) _exit(3);
  }
  free(value);
  int code = h5_create(&h5, name);
  if (code == OK) code = h5_write_int(&h5, "small", 1);
  if (code == OK) code = h5_commit(&h5);
  h5_close(&h5);
  unlink(name);
  exit(code == OK ? 0 : 4); /* HDF5's own cleaning up runs here, too */
}

static int status_of(pid_t pid) {
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

TEST(a_size_limit_fails_with_its_reason_and_leaves_nothing) {
  static const int64_t rows[] = {30 * 1000, 100 * 1000, 1000 * 1000};
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      signal(SIGXFSZ, SIG_IGN);
      setrlimit(RLIMIT_FSIZE, &(struct rlimit){300000, 300000});
      write_until_full(folder, rows[i]);
    }
    assert_int_equal(status_of(pid), 0);
  }
}

TEST(a_full_disk_fails_with_its_reason_and_leaves_nothing) {
  char dir[400];
  snprintf(dir, sizeof dir, "%s/disk", folder);
  assert_ok(make_folder(dir));
  if (mount("tmpfs", dir, "tmpfs", 0, "size=256k") != 0) skip(); /* not root */
  static const int64_t rows[] = {30 * 1000, 1000 * 1000};
  int worst = 0;
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
    pid_t pid = fork();
    if (pid == 0) write_until_full(dir, rows[i]);
    int code = status_of(pid);
    worst = code > worst ? code : worst;
  }
  char name[500];
  snprintf(name, sizeof name, "%s/filler", dir);
  FILE *filler = fopen(name, "wb");
  assert_non_null(filler);
  while (fputc(1, filler) != EOF && fflush(filler) == 0) continue;
  fclose(filler);
  struct h5 h5;
  snprintf(name, sizeof name, "%s/late.h5", dir);
  int created = h5_create(&h5, name);
  if (created == OK) created = h5_commit(&h5);
  h5_close(&h5);
  snprintf(name, sizeof name, "%s/late.h5.tmp-%lld", dir, (long long)atomic_write_writer());
  int left = access(name, F_OK) == 0;
  assert_int_equal(umount(dir), 0);
  assert_int_equal(worst, 0);
  assert_int_equal(created, FAILED);
  assert_false(left);
}

TEST(what_is_not_committed_leaves_the_old_file) {
  struct h5 h5;
  int64_t value;
  for (int i = 0; i < 2; i++) {
    char temporary[500];
    assert_ok(h5_create(&h5, file_named("old.h5")));
    snprintf(temporary, sizeof temporary, "%s.tmp-%lld", path, (long long)atomic_write_writer());
    assert_int_equal(access(temporary, F_OK), 0);
    assert_ok(h5_write_int(&h5, "value", i));
    if (i == 0) assert_ok(h5_commit(&h5));
    h5_close(&h5);
    assert_int_equal(access(temporary, F_OK), -1);
  }
  assert_ok(h5_open(&h5, path));
  assert_ok(h5_read_int(&h5, "value", &value));
  assert_int_equal(value, 0);
  h5_close(&h5);
}

TEST(a_folder_that_is_not_there_is_said) {
  struct h5 h5;
  assert_fails(h5_create(&h5, "/nowhere/at/all.h5"), FAILED, "/nowhere/at: No such file or directory");
  h5_close(&h5);
  assert_fails(h5_create(&h5, folder), FAILED, "is a folder");
  h5_close(&h5);
}
