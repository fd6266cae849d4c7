/* Files that tests make. */
#ifndef TESTS_IO_SYNTHETIC_FILES_H
#define TESTS_IO_SYNTHETIC_FILES_H

#include <ftw.h>
#include <unistd.h>
#include <zip.h>
#include <zlib.h>

#include "tests/check.h"

static char synthetic_folder[64];

static inline int synthetic_setup(void) {
  strcpy(synthetic_folder, "/tmp/gnntrain-test-XXXXXX");
  return mkdtemp(synthetic_folder) && chdir(synthetic_folder) == 0 ? 0 : -1;
}

static inline int synthetic_remove(const char *path, const struct stat *status, int flag, struct FTW *place) {
  (void)status, (void)flag, (void)place;
  return remove(path);
}

static inline void synthetic_teardown(void) {
  if (chdir("/tmp") != 0 || nftw(synthetic_folder, synthetic_remove, 16, FTW_DEPTH | FTW_PHYS) != 0)
    perror(synthetic_folder);
}

/* The tests of this program run in an empty folder of its own. */
#define IN_MADE_FOLDER        \
  AFTER_ALL {                 \
    synthetic_teardown();     \
  }                           \
  BEFORE_ALL {                \
    return synthetic_setup(); \
  }                           \
  struct test

static inline void synthetic_file(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

static inline void synthetic_text(const char *path, const char *text) {
  synthetic_file(path, text, strlen(text));
}

static inline void synthetic_gzip(const char *path, const char *text) {
  gzFile file = gzopen(path, "wb");
  assert_non_null(file);
  if (*text) assert_int_equal(gzwrite(file, text, (unsigned)strlen(text)), (int)strlen(text));
  assert_int_equal(gzclose(file), Z_OK);
}

/* The whole file; the caller frees it. */
static inline unsigned char *synthetic_bytes(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  fseek(file, 0, SEEK_END);
  *size = (size_t)ftell(file);
  rewind(file);
  unsigned char *bytes = malloc(*size + 1);
  assert_non_null(bytes);
  assert_int_equal(fread(bytes, 1, *size, file), *size);
  fclose(file);
  return bytes;
}

/* The bytes of an npy file: descr as "<f4", shape as "(2, 3)". The caller frees them. */
static inline void *synthetic_npy(const char *descr, const char *shape, int fortran, int version,
                                  const void *data, size_t bytes, size_t *size) {
  char header[256];
  int length = snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }\n", descr,
                        fortran ? "True" : "False", shape);
  size_t prefix = version == 1 ? 10 : 12;
  *size = prefix + (size_t)length + bytes;
  unsigned char *file = calloc(*size, 1);
  assert_non_null(file);
  memcpy(file, "\x93NUMPY", 6);
  file[6] = (unsigned char)version;
  file[8] = (unsigned char)length;
  memcpy(file + prefix, header, (size_t)length);
  if (bytes) memcpy(file + prefix + length, data, bytes);
  return file;
}

/* One array of an archive. */
struct synthetic_array {
  const char *name, *descr, *shape;
  const void *data;
  size_t bytes;
  int fortran;
};

static inline void synthetic_npz(const char *path, const struct synthetic_array *array, int arrays) {
  int code;
  zip_t *zip = zip_open(path, ZIP_CREATE | ZIP_TRUNCATE, &code);
  assert_non_null(zip);
  for (int i = 0; i < arrays; i++) {
    size_t size;
    char member[64];
    void *bytes = synthetic_npy(array[i].descr, array[i].shape, array[i].fortran, 1, array[i].data,
                                array[i].bytes, &size);
    zip_source_t *source = zip_source_buffer(zip, bytes, size, 1);
    snprintf(member, sizeof member, "%s.npy", array[i].name);
    zip_int64_t index = zip_file_add(zip, member, source, ZIP_FL_OVERWRITE);
    assert_true(index >= 0);
    if (i % 2) zip_set_file_compression(zip, (zip_uint64_t)index, ZIP_CM_STORE, 0);
  }
  assert_int_equal(zip_close(zip), 0);
}

#endif
