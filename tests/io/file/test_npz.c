#include "io/file/npz.h"
#include "tests/io/synthetic_files.h"

IN_MADE_FOLDER;

static const int64_t numbers[] = {5, 6, 7};

static void make_archive(const char *path) {
  static int32_t zeros[4096];
  const struct synthetic_array array[] = {{"numbers", "<i8", "(3,)", numbers, sizeof numbers, 0},
                                          {"stored", "<i8", "(3,)", numbers, sizeof numbers, 0},
                                          {"zeros", "<i4", "(4096,)", zeros, sizeof zeros, 0}};
  synthetic_npz(path, array, 3);
}

static int read_member(const char *path, const char *name) {
  struct npz npz;
  struct npy array = {0};
  int code = npz_open(&npz, path);
  if (code == OK) code = npz_read(&npz, name, &array);
  npy_free(&array);
  npz_close(&npz);
  return code;
}

TEST(members_are_found_and_read) {
  make_archive("a.npz");
  struct npz npz;
  assert_ok(npz_open(&npz, "a.npz"));
  assert_true(npz_has(&npz, "numbers") && npz_has(&npz, "stored") && !npz_has(&npz, "other"));
  const char *names[] = {"numbers", "stored"};
  for (int i = 0; i < 2; i++) {
    struct npy array;
    int64_t value[3];
    assert_ok(npz_read(&npz, names[i], &array));
    assert_ok(npy_int64(&array, 0, 3, value));
    assert_memory_equal(value, numbers, sizeof numbers);
    npy_free(&array);
  }
  npz_close(&npz);
  assert_ok(read_member("a.npz", "zeros"));
  assert_fails(read_member("a.npz", "other"), BAD_INPUT, "a.npz: there is no array \"other\"");
}

TEST(what_is_no_archive_is_refused) {
  synthetic_text("text.npz", "this is not a zip archive at all");
  assert_fails(read_member("text.npz", "a"), BAD_INPUT, "text.npz: cannot be opened as an npz archive");
  assert_fails(read_member("missing.npz", "a"), BAD_INPUT, "missing.npz: cannot be opened");
  make_archive("whole.npz");
  size_t size;
  unsigned char *bytes = synthetic_bytes("whole.npz", &size);
  synthetic_file("cut.npz", bytes, size - 30);
  assert_fails(read_member("cut.npz", "numbers"), BAD_INPUT, "cut.npz: cannot be opened");
  free(bytes);
}

/* Offset of the central directory's entry of a member. */
static size_t central_entry(const unsigned char *bytes, size_t size, const char *member) {
  for (size_t i = 0; i + 46 + strlen(member) <= size; i++) {
    if (memcmp(bytes + i, "PK\1\2", 4) == 0 && memcmp(bytes + i + 46, member, strlen(member)) == 0) return i;
  }
  fail_msg("no central entry for %s", member);
  return 0;
}

static void set_size(unsigned char *entry, uint32_t size) {
  for (int i = 0; i < 4; i++) entry[24 + i] = (unsigned char)(size >> 8 * i);
}

static void set_compressed_size(unsigned char *entry, uint32_t size) {
  for (int i = 0; i < 4; i++) entry[20 + i] = (unsigned char)(size >> 8 * i);
}

TEST(lying_sizes_and_checksums_are_refused) {
  make_archive("whole.npz");
  size_t size;
  unsigned char *bytes = synthetic_bytes("whole.npz", &size);
  size_t entry = central_entry(bytes, size, "zeros.npy");
  unsigned char saved[46];
  memcpy(saved, bytes + entry, sizeof saved);
  set_size(bytes + entry, 4000000000u);
  synthetic_file("bomb.npz", bytes, size);
  assert_fails(read_member("bomb.npz", "zeros"), BAD_INPUT, "claims 4000000000 bytes");
  set_size(bytes + entry, 5000);
  synthetic_file("short.npz", bytes, size);
  assert_fails(read_member("short.npz", "zeros"), BAD_INPUT, "short.npz: zeros: ");
  set_size(bytes + entry, 20000);
  synthetic_file("long.npz", bytes, size);
  assert_fails(read_member("long.npz", "zeros"), BAD_INPUT, "long.npz: zeros: ");
  set_compressed_size(bytes + entry, 900000000u); /* where it would have to be written that it is more */
  set_size(bytes + entry, 900000000u);
  synthetic_file("beyond.npz", bytes, size);
  assert_fails(read_member("beyond.npz", "zeros"), BAD_INPUT,
               "claims 900000000 compressed bytes in a file of ");
  memcpy(bytes + entry, saved, sizeof saved);
  bytes[entry + 16] ^= 1; /* checksum */
  synthetic_file("crc.npz", bytes, size);
  assert_fails(read_member("crc.npz", "zeros"), BAD_INPUT, "crc.npz: zeros: ");
  free(bytes);
}

TEST(damage_anywhere_is_read_or_refused) {
  make_archive("whole.npz");
  size_t size;
  unsigned char *bytes = synthetic_bytes("whole.npz", &size);
  for (size_t i = 0; i < size; i++) {
    unsigned char old = bytes[i];
    bytes[i] = (unsigned char)(old ^ (1 << i % 8));
    synthetic_file("flip.npz", bytes, size);
    bytes[i] = old;
    const char *names[] = {"numbers", "stored", "zeros"};
    for (int k = 0; k < 3; k++) {
      int code = read_member("flip.npz", names[k]);
      if (code != OK && code != BAD_INPUT) fail_msg("byte %zu: code %d: %s", i, code, error_message());
      error_clear();
    }
  }
  free(bytes);
}
