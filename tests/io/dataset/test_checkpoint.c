#include "tests/check.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "io/dataset/checkpoint.h"
#include "io/file/h5_hdf5.h"
#include "io/file/path_check.h"
#include "tests/io/tiny.h"

IN_TINY_FOLDER("checkpoint");

enum { ROWS = 300, COLS = 1000 };

/* What a trainer might keep; every number tells the epoch that wrote it. */
struct content {
  int64_t epoch;
  double best;
  char config[64];
  float *weight;
  int64_t seen[3];
  struct checkpoint_item item[2];
  struct checkpoint_value value[3];
  struct checkpoint checkpoint;
};

static void fill(struct content *c, int64_t epoch) {
  c->epoch = epoch;
  c->best = (double)epoch / 8;
  snprintf(c->config, sizeof c->config, "epoch = %lld", (long long)epoch);
  for (int64_t i = 0; i < ROWS * COLS; i++) c->weight[i] = (float)epoch;
  for (int i = 0; i < 3; i++) c->seen[i] = epoch + i;
}

static struct content *content_new(int64_t epoch) {
  struct content *c = calloc(1, sizeof *c);
  c->weight = calloc(ROWS * COLS, sizeof *c->weight);
  c->item[0] = (struct checkpoint_item){"parameters/layer0.weight", H5_FLOAT, ROWS, COLS, c->weight};
  c->item[1] = (struct checkpoint_item){"state/seen", H5_INT64, 3, 0, c->seen};
  c->value[0] = (struct checkpoint_value){.name = "epoch", .kind = CHECKPOINT_INT, .integer = &c->epoch};
  c->value[1] = (struct checkpoint_value){.name = "best", .kind = CHECKPOINT_REAL, .real = &c->best};
  c->value[2] = (struct checkpoint_value){
      .name = "config", .kind = CHECKPOINT_TEXT, .text = c->config, .text_size = sizeof c->config};
  c->checkpoint = (struct checkpoint){.item = c->item, .items = 2, .value = c->value, .values = 3};
  fill(c, epoch);
  return c;
}

static void content_free(struct content *c) {
  free(c->weight);
  free(c);
}

static void assert_whole(const struct content *c) {
  char config[64];
  snprintf(config, sizeof config, "epoch = %lld", (long long)c->epoch);
  assert_string_equal(c->config, config);
  assert_true(c->best == (double)c->epoch / 8);
  for (int64_t i = 0; i < ROWS * COLS; i++) {
    if (c->weight[i] != (float)c->epoch) fail_msg("weight %lld is of another epoch", (long long)i);
  }
  for (int i = 0; i < 3; i++) assert_int_equal(c->seen[i], c->epoch + i);
}

TEST(what_was_written_is_read_back) {
  char path[400];
  struct content *out = content_new(17), *in = content_new(0);
  checkpoint_path(path, sizeof path, folder, 0, 17);
  assert_ok(checkpoint_write(&out->checkpoint, path));
  assert_ok(checkpoint_read(&in->checkpoint, path));
  assert_int_equal(in->epoch, 17);
  assert_whole(in);
  content_free(out);
  content_free(in);
}

TEST(another_shape_type_or_name_is_refused) {
  char path[400];
  struct content *c = content_new(1);
  snprintf(path, sizeof path, "%s/shapes.h5", folder);
  assert_ok(checkpoint_write(&c->checkpoint, path));
  c->item[0].cols = COLS / 2;
  assert_fails(checkpoint_read(&c->checkpoint, path), BAD_INPUT, "300 x 500 is expected");
  c->item[0].cols = COLS;
  c->item[1].type = H5_INT32;
  assert_fails(checkpoint_read(&c->checkpoint, path), BAD_INPUT, "/state/seen: is int64; int32 is expected");
  c->item[1].type = H5_INT64;
  snprintf(c->item[1].name, sizeof c->item[1].name, "state/heard");
  assert_fails(checkpoint_read(&c->checkpoint, path), BAD_INPUT, "/state/heard: is missing");
  c->checkpoint.items = 0;
  c->value[0].kind = CHECKPOINT_TEXT;
  c->value[0].text = c->config;
  c->value[0].text_size = sizeof c->config;
  assert_fails(checkpoint_read(&c->checkpoint, path), BAD_INPUT, "\"epoch\" is not a string");
  content_free(c);
}

TEST(a_dataset_is_not_a_checkpoint) {
  char path[400];
  struct checkpoint nothing = {0};
  struct dataset_source source = tiny_source(TASK_MULTICLASS, 5, 1);
  snprintf(path, sizeof path, "%s/dataset.h5", folder);
  assert_ok(dataset_write(&source, path));
  dataset_source_free(&source);
  assert_fails(checkpoint_read(&nothing, path), BAD_INPUT, "is not a checkpoint");
  snprintf(path, sizeof path, "%s/absent.h5", folder);
  assert_fails(checkpoint_read(&nothing, path), BAD_INPUT, "No such file or directory");
}

TEST(another_versions_checkpoint_is_refused) {
  char path[400];
  struct checkpoint nothing = {0};
  snprintf(path, sizeof path, "%s/version.h5", folder);
  assert_ok(checkpoint_write(&nothing, path));
  assert_ok(checkpoint_read(&nothing, path));
  hid_t file = H5Fopen(path, H5F_ACC_RDWR, H5P_DEFAULT);
  hid_t version = H5Aopen(file, "version", H5P_DEFAULT);
  assert_true(H5Awrite(version, H5T_NATIVE_INT, &(int){99}) >= 0);
  H5Aclose(version);
  H5Fclose(file);
  assert_fails(checkpoint_read(&nothing, path), BAD_INPUT,
               "is a checkpoint of version 99; this program reads");
}

static void touch(const char *dir, const char *name) {
  char path[500];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fclose(file);
}

static int there(const char *dir, const char *name) {
  char path[500];
  snprintf(path, sizeof path, "%s/%s", dir, name);
  return access(path, F_OK) == 0;
}

TEST(the_newest_is_by_run_then_epoch) {
  char dir[400], path[500];
  snprintf(dir, sizeof dir, "%s/newest", folder);
  assert_ok(checkpoint_newest(dir, path, sizeof path)); /* no such folder yet */
  assert_string_equal(path, "");
  assert_ok(make_folder(dir));
  assert_ok(checkpoint_newest(dir, path, sizeof path));
  assert_string_equal(path, "");
  const char *const names[] = {"epoch-0-100.h5", "epoch-1-9.h5",        "epoch-1-10.h5",
                               "epoch-2-5.h5x",  "epoch-3-1.h5.tmp-77", "best-9-9.h5"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) touch(dir, names[i]);
  assert_ok(checkpoint_newest(dir, path, sizeof path));
  assert_non_null(strstr(path, "/epoch-1-10.h5"));
}

TEST(pruning_keeps_the_newest_of_a_run) {
  char dir[400];
  snprintf(dir, sizeof dir, "%s/prune", folder);
  assert_ok(make_folder(dir));
  const char *const names[] = {"epoch-0-8.h5", "epoch-1-9.h5",        "epoch-1-10.h5", "epoch-1-100.h5",
                               "best-1.h5",    "epoch-1-1.h5.tmp-77", "epoch-0-9.h5"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) touch(dir, names[i]);
  assert_ok(checkpoint_prune(dir, 1, 2));
  assert_false(there(dir, "epoch-1-9.h5"));
  assert_false(there(dir, "epoch-1-1.h5.tmp-77"));
  assert_true(there(dir, "epoch-1-10.h5") && there(dir, "epoch-1-100.h5") && there(dir, "best-1.h5"));
  assert_true(there(dir, "epoch-0-8.h5") && there(dir, "epoch-0-9.h5"));
}

TEST(cutting_back_leaves_what_stands_at_or_before_an_epoch) {
  char dir[400], path[500];
  int64_t removed;
  snprintf(dir, sizeof dir, "%s/cut", folder);
  assert_ok(checkpoint_cut_back(dir, 1, 10, &removed)); /* no such folder yet */
  assert_ok(make_folder(dir));
  const char *const names[] = {"epoch-0-100.h5", "epoch-1-9.h5", "epoch-1-10.h5", "epoch-1-11.h5",
                               "epoch-2-5.h5",   "best-3-9.h5",  "epoch-10-1.h5"};
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) touch(dir, names[i]);
  assert_ok(checkpoint_cut_back(dir, 1, 10, &removed));
  assert_int_equal(removed, 3);
  assert_true(there(dir, "epoch-0-100.h5") && there(dir, "epoch-1-9.h5") && there(dir, "epoch-1-10.h5"));
  assert_false(there(dir, "epoch-1-11.h5") || there(dir, "epoch-2-5.h5") || there(dir, "epoch-10-1.h5"));
  assert_true(there(dir, "best-3-9.h5"));
  assert_ok(checkpoint_newest_of(dir, 0, path, sizeof path));
  assert_non_null(strstr(path, "/epoch-0-100.h5"));
  assert_ok(checkpoint_newest_of(dir, 2, path, sizeof path));
  assert_string_equal(path, "");
  assert_ok(checkpoint_cut_back(dir, -1, 0, &removed));
  assert_ok(checkpoint_newest(dir, path, sizeof path));
  assert_string_equal(path, "");
}

TEST(what_older_files_lack_stays_as_it_is) {
  char path[400];
  double seconds = 7;
  struct content *c = content_new(3);
  snprintf(path, sizeof path, "%s/older.h5", folder);
  assert_ok(checkpoint_write(&c->checkpoint, path));
  struct checkpoint_value value = {.name = "seconds", .kind = CHECKPOINT_REAL, .real = &seconds};
  struct checkpoint newer = {.value = &value, .values = 1};
  assert_fails(checkpoint_read(&newer, path), BAD_INPUT, "\"seconds\" is missing");
  value.optional = 1;
  seconds = 7;
  assert_ok(checkpoint_read(&newer, path));
  assert_true(seconds == 7);
  content_free(c);
}

/* A child writes one checkpoint after another over the same file until it is killed, each third time not
 * before one is whole. */
TEST(killing_the_writer_leaves_the_previous_checkpoint) {
  char path[400];
  struct content *c = content_new(0);
  volatile int64_t *written = mmap(NULL, sizeof *written, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                                   -1, 0);
  assert_ptr_not_equal(written, MAP_FAILED);
  checkpoint_path(path, sizeof path, folder, 5, 0);
  struct timespec before, after;
  clock_gettime(CLOCK_MONOTONIC, &before);
  assert_ok(checkpoint_write(&c->checkpoint, path));
  clock_gettime(CLOCK_MONOTONIC, &after);
  int64_t one = (after.tv_sec - before.tv_sec) * 1000000000 + after.tv_nsec - before.tv_nsec;
  uint64_t random = 12345;
  int64_t last = 0;
  for (int i = 0; i < 30; i++) {
    pid_t pid = fork();
    if (pid == 0) {
      for (int64_t epoch = last + 1;; epoch++) {
        fill(c, epoch);
        if (checkpoint_write(&c->checkpoint, path) != OK) _exit(1);
        *written = epoch;
      }
    }
    random = random * 6364136223846793005u + 1442695040888963407u;
    int64_t delay = (int64_t)(random >> 33) % (3 * one);
    for (int tries = 0; i % 3 == 0 && *written <= last && tries < 120000; tries++) usleep(1000);
    nanosleep(&(struct timespec){delay / 1000000000, delay % 1000000000}, NULL);
    kill(pid, SIGKILL);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_ok(checkpoint_read(&c->checkpoint, path));
    assert_whole(c);
    assert_true(i % 3 == 0 ? c->epoch > last : c->epoch >= last);
    last = c->epoch;
  }
  munmap((void *)(intptr_t)written, sizeof *written);
  content_free(c);
}
