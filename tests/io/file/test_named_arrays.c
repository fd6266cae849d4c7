#include "io/file/named_arrays.h"
#include "io/file/npz.h"
#include "tests/io/synthetic_files.h"

IN_MADE_FOLDER;

static float numbers[] = {1, 2, 3, 4, 5, 6}, one[] = {-.5f};
static const struct named_array arrays[] = {
    {"a.weight", 2, {2, 3}, numbers}, {"b", 1, {1}, one}, {"c", 3, {1, 3, 2}, numbers}};

TEST(safetensors_are_a_header_and_the_data) {
  const char *header = "{\"__metadata__\":{\"format\":\"pt\"},"
                       "\"a.weight\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]},"
                       "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[24,28]},"
                       "\"c\":{\"dtype\":\"F32\",\"shape\":[1,3,2],\"data_offsets\":[28,52]}}";
  FILE *out = fopen("a.safetensors", "w");
  assert_ok(named_arrays_write_safetensors(out, arrays, 3));
  fclose(out);
  size_t size, length = strlen(header), padded = (length + 7) / 8 * 8;
  unsigned char *bytes = synthetic_bytes("a.safetensors", &size);
  assert_int_equal(size, 8 + padded + 52);
  assert_true(bytes[0] == padded % 256 && bytes[1] == padded / 256);
  for (int i = 2; i < 8; i++) assert_int_equal(bytes[i], 0);
  assert_memory_equal(bytes + 8, header, length);
  for (size_t i = length; i < padded; i++) assert_int_equal(bytes[8 + i], ' ');
  assert_memory_equal(bytes + 8 + padded, numbers, 24);
  assert_memory_equal(bytes + 8 + padded + 24, one, 4);
  assert_memory_equal(bytes + 8 + padded + 28, numbers, 24);
  free(bytes);
}

TEST(archives_read_back) {
  struct npz npz;
  FILE *out = fopen("a.npz", "w");
  assert_ok(named_arrays_write_npz(out, arrays, 3));
  fclose(out);
  assert_ok(npz_open(&npz, "a.npz"));
  for (int i = 0; i < 3; i++) {
    struct npy array;
    float value[6];
    assert_ok(npz_read(&npz, arrays[i].name, &array));
    assert_true(array.dims == arrays[i].dims && array.count * 4 == named_array_bytes(&arrays[i]));
    for (int d = 0; d < array.dims; d++) assert_int_equal(array.dim[d], arrays[i].dim[d]);
    assert_ok(npy_float(&array, 0, array.count, value));
    assert_memory_equal(value, arrays[i].data, (size_t)named_array_bytes(&arrays[i]));
    npy_free(&array);
  }
  npz_close(&npz);
}
