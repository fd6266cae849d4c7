/* Damaged files: whatever is in them, the readers answer OK, BAD_INPUT or FAILED, soon and in little memory.
 * Each file is read in a child of its own. Deterministic; FUZZ_ROUNDS=N tries more. */
#include "tests/io/bad_files.h"

#include <sys/stat.h>

#include "io/dataset/checkpoint.h"

IN_TINY_FILE("fuzz", path);

enum { ROUNDS = 60 };

static struct checkpoint *some_checkpoint(void) {
  static float weight[40 * 30];
  static int64_t epoch = 7;
  static double best = .5;
  static char config[100] = "train.lr = 0.1";
  static struct checkpoint_item item[] = {{"parameters/layer0.weight", H5_FLOAT, 40, 30, weight},
                                          {"moments/layer0.weight", H5_FLOAT, 1200, 0, weight}};
  static struct checkpoint_value value[] = {
      {.name = "epoch", .kind = CHECKPOINT_INT, .integer = &epoch},
      {.name = "best", .kind = CHECKPOINT_REAL, .real = &best},
      {.name = "config", .kind = CHECKPOINT_TEXT, .text = config, .text_size = sizeof config}};
  static struct checkpoint checkpoint = {.item = item, .items = 2, .value = value, .values = 3};
  return &checkpoint;
}

static int use_checkpoint(const char *file) {
  return checkpoint_read(some_checkpoint(), file);
}

struct bytes {
  unsigned char *data;
  size_t size;
};

static struct bytes load(void) {
  struct bytes b;
  struct stat status;
  assert_int_equal(stat(path, &status), 0);
  b.size = (size_t)status.st_size;
  b.data = malloc(b.size);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_int_equal(fread(b.data, 1, b.size, file), b.size);
  fclose(file);
  return b;
}

static void store(const unsigned char *data, size_t size) {
  FILE *file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(data, 1, size, file), size);
  fclose(file);
}

static uint64_t next_random(uint64_t *state) {
  *state = *state * 6364136223846793005u + 1442695040888963407u;
  return *state >> 33;
}

static int64_t rounds(void) {
  const char *text = getenv("FUZZ_ROUNDS");
  return text ? atoll(text) : ROUNDS;
}

/* One of: a bit, a byte, a field of 2 to 8 bytes of ones or zeros, two places swapped. */
static void damage(struct bytes b, uint64_t *random, char *what, size_t size) {
  size_t place = next_random(random) % (b.size - 8);
  unsigned kind = (unsigned)(next_random(random) % 5);
  size_t width = 2 + next_random(random) % 7;
  snprintf(what, size, "damage %u at %zu, width %zu", kind, place, width);
  if (kind == 0) b.data[place] ^= (unsigned char)(1u << next_random(random) % 8);
  if (kind == 1) b.data[place] = (unsigned char)next_random(random);
  if (kind == 2) memset(b.data + place, 0xff, width);
  if (kind == 3) memset(b.data + place, 0, width);
  if (kind == 4) memmove(b.data + place, b.data + next_random(random) % (b.size - 8), width);
}

static void survives_damage(int (*use)(const char *file), uint64_t seed) {
  struct bytes b = load(), copy = {malloc(b.size), b.size};
  char what[100];
  int64_t bad = 0;
  for (int64_t i = 0; i < rounds(); i++) {
    memcpy(copy.data, b.data, b.size);
    uint64_t random = seed + (uint64_t)i;
    for (int64_t times = i % 4; times >= 0; times--) damage(copy, &random, what, sizeof what);
    store(copy.data, copy.size);
    bad += survive(use, what) != OK;
  }
  assert_true(bad > 0);
  for (int i = 0; i < 24; i++) {
    snprintf(what, sizeof what, "truncated");
    store(b.data, b.size * (size_t)i / 24);
    assert_int_not_equal(survive(use, what), OK);
  }
  store(b.data, b.size);
  assert_int_equal(survive(use, "whole"), OK);
  free(b.data);
  free(copy.data);
}

TEST(a_damaged_dataset_is_survived) {
  static const enum task task[] = {TASK_MULTICLASS, TASK_MULTILABEL};
  for (int t = 0; t < 2; t++) {
    struct dataset_source s = tiny_source(task[t], t ? 1 : 5, 1 + t);
    assert_ok(dataset_write(&s, path));
    dataset_source_free(&s);
    survives_damage(use_dataset, 100 + (uint64_t)t);
  }
}

TEST(a_damaged_checkpoint_is_survived) {
  assert_ok(checkpoint_write(some_checkpoint(), path));
  survives_damage(use_checkpoint, 300);
}

TEST(a_damaged_file_of_another_program_is_survived) {
  for (hsize_t chunk = 0; chunk < 2; chunk++) {
    write_foreign(4 * chunk);
    assert_int_equal(survive(use_dataset, "foreign"), OK);
    survives_damage(use_dataset, 500 + chunk);
  }
}
