/* Rows in chunks that pass HDF5 by, read and written by all threads. */
#include "tests/check.h"

#include <fcntl.h>
#include <unistd.h>

#include "io/file/h5_hdf5.h"
#include "runtime/base/integer.h"
#include "tests/io/tiny.h"

IN_TINY_FOLDER("h5_chunks");

static char path[400];

static const char *file_named(const char *name) {
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

/* Bytes of a large matrix: runs of zeros, runs of 0xFF and all kinds. */
static uint8_t *many_bytes(int64_t count) {
  uint8_t *bytes = malloc((size_t)count);
  for (int64_t i = 0; i < count; i++) bytes[i] = i >> 16 & 1 ? (uint8_t)(i * i >> 7) : i >> 17 & 1 ? 0xFF : 0;
  return bytes;
}

/* Whether rows come past HDF5. */
static int come_by_chunks(struct h5 *h5, const char *name, int64_t first, int64_t count, enum h5_type type,
                          void *to) {
  struct h5_set set;
  assert_ok(h5_open_set(h5, name, &set));
  int came = h5_read_chunks(h5, &set, first, count, type, to);
  h5_close_set(&set);
  return came;
}

/* More rows than that, in chunks, do not pass through HDF5; the last chunk and ends of the rows wanted lie
 * within one. */
TEST(many_rows_are_read_by_all_threads) {
  static const struct {
    enum h5_type type;
    int64_t size, cols;
  } sets[] = {{H5_INT32, 4, 0}, {H5_FLOAT, 4, 7}, {H5_UINT8, 1, 5}, {H5_INT64, 8, 0}};
  struct h5 h5;
  for (int i = 0; i < 4; i++) {
    const int64_t width = sets[i].size * larger(sets[i].cols, 1), rows = 9500000 / width,
                  wanted = 6000000 / width;
    uint8_t *bytes = many_bytes(rows * width), *back = calloc((size_t)rows, (size_t)width);
    assert_ok(h5_create(&h5, file_named("many.h5")));
    assert_ok(h5_write_all(&h5, "/set", sets[i].type, rows, sets[i].cols, bytes));
    assert_ok(h5_commit(&h5));
    assert_ok(h5_open(&h5, path));
    assert_ok(h5_read_rows(&h5, "/set", 0, rows, sets[i].type, back));
    assert_memory_equal(back, bytes, (size_t)(rows * width));
    memset(back, 1, (size_t)(rows * width));
    assert_true(come_by_chunks(&h5, "/set", 0, rows, sets[i].type, back));
    assert_memory_equal(back, bytes, (size_t)(rows * width));
    memset(back, 1, (size_t)(rows * width));
    assert_ok(h5_read_rows(&h5, "/set", 12345, wanted, sets[i].type, back));
    assert_memory_equal(back, bytes + 12345 * width, (size_t)(wanted * width));
    assert_int_equal(back[wanted * width], 1);
    assert_true(come_by_chunks(&h5, "/set", 12345, wanted, sets[i].type, back));
    assert_memory_equal(back, bytes + 12345 * width, (size_t)(wanted * width));
    assert_false(come_by_chunks(&h5, "/set", 12345, 10, sets[i].type, back));
    h5_close(&h5);
    free(bytes);
    free(back);
  }
}

/* Which rows go past HDF5 into a dataset of a file that is being written. */
static void go_by_chunks(struct h5 *h5, int64_t first, int64_t count, enum h5_type type, const void *data,
                         int64_t *from, int64_t *to) {
  struct h5_set set;
  assert_ok(h5_open_set(h5, "/set", &set));
  h5_write_chunks(h5, &set, first, count, h5_memory_type(type), data, from, to);
  h5_close_set(&set);
}

/* Whole chunks go past HDF5, which finds their checksums right; ends of the rows go through it. */
TEST(many_rows_are_written_by_all_threads) {
  enum { ROWS = 1500000, WIDTH = 12, CHUNK = (1 << 20) / WIDTH, HEAD = 777, MIDDLE = 1000000 };
  uint8_t *bytes = many_bytes(ROWS * WIDTH), *back = calloc(ROWS, WIDTH);
  double *other = calloc(ROWS, 3 * sizeof *other);
  struct h5 h5;
  struct h5_set set;
  int64_t from, to;
  assert_ok(h5_create(&h5, file_named("written_many.h5")));
  assert_ok(h5_new_dataset(&h5, "/set", H5_INT32, ROWS, 3));
  go_by_chunks(&h5, 0, ROWS, H5_INT32, back, &from, &to);
  assert_int_equal(from, 0);
  assert_int_equal(to, ROWS / CHUNK * CHUNK);
  go_by_chunks(&h5, HEAD, MIDDLE, H5_INT32, bytes + HEAD * WIDTH, &from, &to);
  assert_int_equal(from, CHUNK);
  assert_int_equal(to, (HEAD + MIDDLE) / CHUNK * CHUNK);
  go_by_chunks(&h5, HEAD, 10, H5_INT32, bytes, &from, &to);
  assert_int_equal(from, to);
  go_by_chunks(&h5, 0, ROWS, H5_DOUBLE, other, &from, &to);
  assert_int_equal(from, to);
  assert_ok(h5_write_rows(&h5, "/set", 0, HEAD, H5_INT32, bytes));
  assert_ok(h5_write_rows(&h5, "/set", HEAD, MIDDLE, H5_INT32, bytes + HEAD * WIDTH));
  assert_ok(h5_write_rows(&h5, "/set", HEAD + MIDDLE, ROWS - HEAD - MIDDLE, H5_INT32,
                          bytes + (HEAD + MIDDLE) * WIDTH));
  assert_ok(h5_commit(&h5));
  assert_ok(h5_open(&h5, path));
  assert_ok(h5_open_set(&h5, "/set", &set));
  assert_true(H5Dread(set.id, H5T_NATIVE_INT32, H5S_ALL, H5S_ALL, H5P_DEFAULT, back) >= 0);
  assert_memory_equal(back, bytes, ROWS * WIDTH);
  h5_close_set(&set);
  h5_close(&h5);
  free(bytes);
  free(back);
  free(other);
}

TEST(a_damaged_chunk_among_many_is_found) {
  const int64_t count = 2000000;
  uint8_t *bytes = many_bytes(4 * count), *back = malloc(4 * (size_t)count);
  struct h5 h5;
  assert_ok(h5_create(&h5, file_named("damaged_many.h5")));
  assert_ok(h5_write_all(&h5, "/set", H5_INT32, count, 0, bytes));
  assert_ok(h5_commit(&h5));
  int file = open(path, O_RDWR);
  uint8_t one;
  assert_int_equal(pread(file, &one, 1, 5000000), 1);
  one ^= 4;
  assert_int_equal(pwrite(file, &one, 1, 5000000), 1);
  close(file);
  assert_ok(h5_open(&h5, path));
  assert_fails(h5_read_rows(&h5, "/set", 0, count, H5_INT32, back), BAD_INPUT,
               "rows 0 to 2000000 are damaged");
  assert_false(come_by_chunks(&h5, "/set", 0, count, H5_INT32, back));
  h5_close(&h5);
  free(bytes);
  free(back);
}

/* A dataset of 1,500,000 x 2 numbers as others write it, of which the first rows have values. */
static void write_others(const char *name, const hsize_t chunk[2], int deflated, hid_t type, int rows,
                         const int32_t *value) {
  const hsize_t size[2] = {1500000, 2};
  const hid_t file = H5Fcreate(file_named(name), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t space = H5Screate_simple(2, size, NULL), creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 2, chunk);
  if (deflated) H5Pset_deflate(creation, 1);
  const hid_t set = H5Dcreate2(file, "set", type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
  const hsize_t none[2] = {0, 0}, written[2] = {(hsize_t)rows, 2};
  const hid_t memory = H5Screate_simple(2, written, NULL);
  H5Sselect_hyperslab(space, H5S_SELECT_SET, none, NULL, written, NULL);
  assert_true(H5Dwrite(set, H5T_NATIVE_INT32, memory, space, H5P_DEFAULT, value) >= 0);
  H5Sclose(memory);
  H5Dclose(set);
  H5Pclose(creation);
  H5Sclose(space);
  H5Fclose(file);
}

/* Chunks without checksums; of half rows; deflated; turned bytes; chunks that were never written. */
TEST(many_rows_of_others_are_read_as_they_come) {
  enum { COUNT = 3000000 };
  static const struct {
    hsize_t chunk[2];
    int deflated, turned, rows, direct;
  } others[] = {{{100000, 2}, 0, 0, 1500000, 1},
                {{100000, 1}, 0, 0, 1500000, 0},
                {{100000, 2}, 1, 0, 1500000, 0},
                {{100000, 2}, 0, 1, 1500000, 0},
                {{100000, 2}, 0, 0, 700000, 0}};
  int32_t *value = malloc(COUNT * sizeof *value), *back = malloc(COUNT * sizeof *back);
  for (int i = 0; i < 5; i++) {
    struct h5 h5;
    for (int64_t j = 0; j < COUNT; j++) value[j] = j < 2 * others[i].rows ? (int32_t)(j * 2654435761u) : 0;
    write_others("many_others.h5", others[i].chunk, others[i].deflated,
                 others[i].turned ? H5T_STD_I32BE : H5T_STD_I32LE, others[i].rows, value);
    memset(back, 1, COUNT * sizeof *back);
    assert_ok(h5_open(&h5, path));
    assert_ok(h5_read_rows(&h5, "set", 0, COUNT / 2, H5_INT32, back));
    assert_memory_equal(back, value, COUNT * sizeof *back);
    assert_int_equal(come_by_chunks(&h5, "set", 0, COUNT / 2, H5_INT32, back), others[i].direct);
    h5_close(&h5);
  }
  free(value);
  free(back);
}
