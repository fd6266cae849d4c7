#include "io/file/npy.h"
#include "runtime/base/base.h"
#include "tests/io/synthetic_files.h"

IN_MADE_FOLDER;

/* Parses an array of these raw bytes. */
static int parse(struct npy *npy, const char *descr, const char *shape, int fortran, int version,
                 const void *data, size_t bytes) {
  size_t size;
  void *file = synthetic_npy(descr, shape, fortran, version, data, bytes, &size);
  return npy_parse(npy, file, (int64_t)size, "x.npy");
}

static void swap_bytes(unsigned char *to, const void *from, size_t width, size_t count) {
  for (size_t i = 0; i < count * width; i++)
    to[i] = ((const unsigned char *)from)[i - i % width + width - 1 - i % width];
}

/* Three values of `width` bytes, in both byte orders and all versions. */
static void check_type(char kind, int width, const void *data, const int64_t *expected) {
  unsigned char swapped[24];
  swap_bytes(swapped, data, (size_t)width, 3);
  for (int version = 1; version <= 3; version++) {
    for (int big = 0; big < 2; big++) {
      char descr[8];
      snprintf(descr, sizeof descr, "%c%c%d", width == 1 ? '|' : big ? '>' : '<', kind, width);
      struct npy npy;
      int64_t value[3];
      float real[3];
      assert_ok(parse(&npy, descr, "(3,)", 0, version, big ? swapped : data, (size_t)(3 * width)));
      assert_int_equal(npy.count, 3);
      assert_ok(npy_int64(&npy, 0, 3, value));
      assert_ok(npy_float(&npy, 0, 3, real));
      for (int i = 0; i < 3; i++) {
        assert_int_equal(value[i], expected[i]);
        assert_true(real[i] == (float)expected[i]);
      }
      assert_ok(npy_int64(&npy, 2, 1, value));
      assert_int_equal(value[0], expected[2]);
      npy_free(&npy);
    }
  }
}

TEST(every_type_is_read_in_both_byte_orders) {
  const int64_t natural[] = {0, 1, 200}, whole[] = {-2, 0, 77}, truth[] = {1, 0, 1};
  check_type('b', 1, (const uint8_t[]){1, 0, 1}, truth);
  check_type('u', 1, (const uint8_t[]){0, 1, 200}, natural);
  check_type('u', 2, (const uint16_t[]){0, 1, 200}, natural);
  check_type('u', 4, (const uint32_t[]){0, 1, 200}, natural);
  check_type('u', 8, (const uint64_t[]){0, 1, 200}, natural);
  check_type('i', 1, (const int8_t[]){-2, 0, 77}, whole);
  check_type('i', 2, (const int16_t[]){-2, 0, 77}, whole);
  check_type('i', 4, (const int32_t[]){-2, 0, 77}, whole);
  check_type('i', 8, whole, whole);
  check_type('f', 2, (const uint16_t[]){0xC000, 0, 0x54D0}, whole);
  check_type('f', 4, (const float[]){-2, 0, 77}, whole);
  check_type('f', 8, (const double[]){-2, 0, 77}, whole);
}

TEST(half_floats_have_their_ieee_values) {
  struct npy npy;
  float value[4];
  const uint16_t half[] = {0x0001, 0x3555, 0x7BFF, 0x8400}, none[] = {0x7C00, 0xFC00, 0x7C01};
  assert_ok(parse(&npy, "<f2", "(4,)", 0, 1, half, sizeof half));
  assert_ok(npy_float(&npy, 0, 4, value));
  const float expected[] = {0x1p-24F, 0.333251953125F, 65504, -0x1p-14F};
  for (int i = 0; i < 4; i++) assert_true(value[i] == expected[i]);
  npy_free(&npy);
  assert_ok(parse(&npy, "<f2", "(3,)", 0, 1, none, sizeof none));
  for (int i = 0; i < 3; i++) {
    assert_fails(npy_float(&npy, i, 1, value), BAD_INPUT, "is not a finite");
    assert_int_equal(npy_is_nan(&npy, i), i == 2);
  }
  npy_free(&npy);
}

TEST(fortran_order_comes_out_in_c_order) {
  const int32_t stored[] = {0, 3, 1, 4, 2, 5}; /* columns of [[0, 1, 2], [3, 4, 5]] */
  struct npy npy;
  int64_t value[6];
  assert_ok(parse(&npy, "<i4", "(2, 3)", 1, 1, stored, sizeof stored));
  assert_int_equal(npy.dims, 2);
  assert_ok(npy_int64(&npy, 0, 6, value));
  for (int i = 0; i < 6; i++) assert_int_equal(value[i], i);
  npy_free(&npy);
  assert_fails(parse(&npy, "<i4", "(1, 2, 3)", 1, 1, stored, sizeof stored), BAD_INPUT,
               "Fortran order with 3");
  npy_free(&npy);
}

TEST(texts_are_read) {
  struct npy npy;
  char text[8];
  assert_ok(parse(&npy, "|S3", "()", 0, 1, "csr", 3));
  assert_int_equal(npy.count, 1);
  assert_ok(npy_text(&npy, 0, text, sizeof text));
  assert_string_equal(text, "csr");
  int64_t value;
  assert_fails(npy_int64(&npy, 0, 1, &value), BAD_INPUT, "holds texts");
  npy_free(&npy);
  assert_ok(parse(&npy, "<U3", "()", 0, 1, "c\0\0\0s\0\0\0r\0\0\0", 12));
  assert_ok(npy_text(&npy, 0, text, sizeof text));
  assert_string_equal(text, "csr");
  npy_free(&npy);
}

TEST(values_that_do_not_fit_are_errors) {
  struct npy npy;
  int64_t value[2];
  float real[2];
  assert_ok(parse(&npy, "<u8", "(2,)", 0, 1, (const uint64_t[]){1, UINT64_MAX}, 16));
  assert_fails(npy_int64(&npy, 0, 2, value), BAD_INPUT, "x.npy: element 1 is not a whole number");
  npy_free(&npy);
  assert_ok(parse(&npy, "<f8", "(2,)", 0, 1, (const double[]){1, 2.5}, 16));
  assert_fails(npy_int64(&npy, 0, 2, value), BAD_INPUT, "element 1 is not a whole number");
  npy_free(&npy);
  assert_ok(parse(&npy, "<f8", "(2,)", 0, 1, (const double[]){(double)NAN, 1e300}, 16));
  assert_fails(npy_float(&npy, 0, 2, real), BAD_INPUT, "element 0 is not a finite");
  assert_fails(npy_float(&npy, 1, 1, real), BAD_INPUT, "element 1 is not a finite");
  assert_fails(npy_int64(&npy, 0, 2, value), BAD_INPUT, "element 0 is not a whole");
  npy_free(&npy);
}

TEST(lying_headers_are_refused) {
  const struct {
    const char *descr, *shape, *message;
  } bad[] = {
      {"<i4", "(3,)", "asks for 3 elements of 4 bytes, the file has 8"},
      {"<i4", "(1,)", "asks for 1 elements"},
      {"<i4", "(4611686018427387904, 4)", "not a list of sizes"},
      {"<i4", "(4611686018427387904,)", "asks for"},
      {"<i4", "(99999999999999999999,)", "not a list of sizes"},
      {"<i4", "(-2,)", "not a list of sizes"},
      {"<i4", "(1, 1, 1, 2, 1)", "more than 4 dimensions"},
      {"<i4", "(2", "not a list of sizes"},
      {"<i4", "2", "has no shape"},
      {"|O", "(1,)", "Python objects"},
      {"<c8", "(1,)", "type '<c8' is not bool, int, uint or float"},
      {"<M8[ns]", "(1,)", "type '<M8[ns]' is not bool, int, uint or float"},
      {"<i3", "(2,)", "is not bool, int, uint or float"},
      {"<f16", "(1,)", "is not bool, int, uint or float"},
      {"<f", "(2,)", "is not bool, int, uint or float"},
      {"", "(2,)", "is not bool, int, uint or float"},
      {"<U99999999999", "(2,)", "is not bool, int, uint or float"},
  };
  struct npy npy;
  for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
    assert_fails(parse(&npy, bad[i].descr, bad[i].shape, 0, 1, "12345678", 8), BAD_INPUT, bad[i].message);
    npy_free(&npy);
  }
  assert_fails(parse(&npy, "<i4", "(2,)", 0, 4, "12345678", 8), BAD_INPUT, "npy version 4; allowed: 1 to 3");
  npy_free(&npy);
}

TEST(files_are_read_and_cut_ones_refused) {
  size_t size;
  struct npy npy;
  const float data[] = {1, 2, 3, 4};
  unsigned char *bytes = synthetic_npy("<f4", "(2, 2)", 0, 1, data, sizeof data, &size);
  synthetic_file("a.npy", bytes, size);
  assert_ok(npy_read(&npy, "a.npy"));
  assert_memory_equal(npy.data, data, sizeof data);
  npy_free(&npy);
  for (size_t cut = 0; cut < size; cut++) {
    synthetic_file("cut.npy", bytes, cut);
    assert_fails(npy_read(&npy, "cut.npy"), BAD_INPUT, "cut.npy: ");
    npy_free(&npy);
  }
  free(bytes);
  assert_fails(npy_read(&npy, "missing.npy"), BAD_INPUT, "missing.npy: cannot be opened");
  assert_fails(npy_read(&npy, "."), BAD_INPUT, "not a regular file");
}

TEST(files_are_read_piece_by_piece) {
  enum { COUNT = 100000 };
  size_t size;
  struct npy npy;
  int32_t *data = malloc(COUNT * sizeof *data);
  int64_t *value = malloc(COUNT * sizeof *value);
  for (int i = 0; i < COUNT; i++) data[i] = 3 * i - 70000;
  unsigned char *bytes = synthetic_npy("<i4", "(100000,)", 0, 2, data, COUNT * sizeof *data, &size);
  synthetic_file("pieces.npy", bytes, size);
  assert_ok(npy_open(&npy, "pieces.npy"));
  assert_int_equal(npy.count, COUNT);
  for (int64_t first = 0, count = 1; first < COUNT;
       first += count, count = smaller(3 * count, COUNT - first)) {
    assert_ok(npy_load(&npy, first, count));
    assert_ok(npy_int64(&npy, first, count, value));
    for (int64_t i = 0; i < count; i++) assert_int_equal(value[i], data[first + i]);
  }
  assert_ok(npy_load(&npy, 7, 2)); /* any of them, also once more */
  assert_ok(npy_int64(&npy, 8, 1, value));
  assert_int_equal(value[0], data[8]);
  synthetic_file("pieces.npy", bytes, size - 4); /* the file is another one now, with less in it */
  assert_fails(npy_load(&npy, COUNT - 1, 1), BAD_INPUT, "pieces.npy: cannot be read: it has become shorter");
  npy_free(&npy);
  assert_fails(npy_open(&npy, "pieces.npy"), BAD_INPUT, "the header asks for 100000 elements of 4 bytes");
  npy_free(&npy);
  for (size_t cut = 0; cut < 128; cut++) {
    synthetic_file("cut.npy", bytes, cut);
    assert_fails(npy_open(&npy, "cut.npy"), BAD_INPUT, "cut.npy: ");
    npy_free(&npy);
  }
  free(bytes);
  bytes = synthetic_npy("<f4", "(2, 2)", 1, 1, data, 16, &size);
  synthetic_file("fortran.npy", bytes, size);
  assert_fails(npy_open(&npy, "fortran.npy"), BAD_INPUT, "in Fortran order");
  npy_free(&npy);
  free_all(bytes, data, value);
}

TEST(every_flipped_bit_is_read_or_refused) {
  size_t size;
  unsigned char *bytes = synthetic_npy("<f4", "(2, 3)", 1, 1, "abcdefghijklmnopqrstuvwx", 24, &size);
  for (size_t bit = 0; bit < 8 * size; bit++) {
    unsigned char *copy = malloc(size);
    memcpy(copy, bytes, size);
    copy[bit / 8] ^= (unsigned char)(1 << bit % 8);
    struct npy npy;
    float *values = calloc(size, sizeof *values);
    if (npy_parse(&npy, copy, (int64_t)size, "flip.npy") == OK) {
      assert_true(npy.count <= 24);
      if (npy_float(&npy, 0, npy.count, values) != OK) error_clear();
    }
    error_clear();
    free(values);
    npy_free(&npy);
  }
  free(bytes);
}
