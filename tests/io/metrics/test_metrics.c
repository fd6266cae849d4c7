#include "tests/check.h"

#include <dlfcn.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/metrics/metrics.h"
#include "tests/io/tiny.h"

IN_TINY_FOLDER("metrics");

static char *content_of(const char *dir) {
  static char text[4096];
  char path[400];
  snprintf(path, sizeof path, "%s/%s/metrics.jsonl", folder, dir);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static char *content(void) {
  return content_of("a/b");
}

static void write_runs(const char *dir) {
  struct metrics m;
  assert_ok(metrics_open(&m, dir, 0, -1));
  for (int run = 0; run < 2; run++) {
    for (int epoch = 1; epoch <= 3; epoch++) {
      struct metrics_row row = {run, epoch, .5 * epoch, .25, NAN,  1. / 3,           12,
                                NAN, .75,   .125,       .01, 4096, 1764213824.123456};
      assert_ok(metrics_epoch(&m, &row));
    }
    struct metrics_final last = {run, 2, 3, .75, .5, 1.5, 1 << 20};
    assert_ok(metrics_final(&m, &last));
  }
  metrics_close(&m);
}

TEST(a_line_is_a_json_object_and_nan_is_null) {
  char dir[400];
  snprintf(dir, sizeof dir, "%s/a/b", folder);
  write_runs(dir);
  const char *first = "{\"run\": 0, \"epoch\": 1, \"loss\": 0.5, \"train\": 0.25, \"val\": null, "
                      "\"test\": 0.3333333333333333, \"ms\": 12, \"train_loss\": null, \"val_loss\": 0.75, "
                      "\"test_loss\": 0.125, \"lr\": 0.01, \"sent_bytes\": 4096, "
                      "\"time\": 1764213824.123456}\n";
  const char *last = "{\"run\": 1, \"final\": true, \"best_epoch\": 2, \"epochs\": 3, \"val\": 0.75, "
                     "\"test\": 0.5, \"seconds\": 1.5, \"peak_bytes\": 1048576}\n";
  assert_memory_equal(content(), first, strlen(first));
  assert_string_equal(content() + strlen(content()) - strlen(last), last);
}

static int lines_of(const char *text) {
  int lines = 0;
  for (; *text; text++) lines += *text == '\n';
  return lines;
}

TEST(resuming_cuts_back_to_the_epoch) {
  char dir[400], path[500];
  struct metrics m;
  snprintf(dir, sizeof dir, "%s/a/b", folder);
  snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
  write_runs(dir);
  FILE *torn = fopen(path, "a");
  assert_non_null(torn);
  fwrite("\0\0\0\n", 1, 4, torn); /* blocks that were never written */
  fputs("{\"run\": 1, \"epoch\": 1, \"lo", torn);
  fclose(torn);
  assert_ok(metrics_open(&m, dir, 1, 2));
  metrics_close(&m);
  assert_int_equal(lines_of(content()), 4 + 2);
  assert_null(strstr(content(), "\"run\": 1, \"epoch\": 3"));
  assert_null(strstr(content(), "\"run\": 1, \"final\""));
  assert_non_null(strstr(content(), "\"run\": 0, \"final\""));
  assert_ok(metrics_open(&m, dir, 0, 0));
  metrics_close(&m);
  assert_int_equal(lines_of(content()), 0);
}

/* Where these are not 0, files opened for reading give so many bytes and then an error of the disk. */
static long readable;
static FILE *source;

static ssize_t read_some(void *cookie, char *to, size_t bytes) {
  (void)cookie;
  size_t size = bytes < (size_t)readable ? bytes : (size_t)readable;
  errno = EIO;
  if (size == 0) return -1;
  readable -= (long)size;
  return (ssize_t)fread(to, 1, size, source);
}

static int close_source(void *cookie) {
  (void)cookie;
  return fclose(source);
}

static FILE *failing(FILE *file) {
  if (!file || readable == 0) return file;
  source = file;
  FILE *stream = fopencookie(NULL, "r", (cookie_io_functions_t){.read = read_some, .close = close_source});
  setvbuf(stream, NULL, _IONBF, 0);
  return stream;
}

FILE *fopen(const char *path, const char *mode) {
  FILE *(*next)(const char *, const char *);
  *(void **)&next = dlsym(RTLD_NEXT, "fopen");
  FILE *file = next(path, mode);
  return mode[0] == 'r' ? failing(file) : file;
}

FILE *fdopen(int fd, const char *mode) {
  FILE *(*next)(int, const char *);
  *(void **)&next = dlsym(RTLD_NEXT, "fdopen");
  FILE *file = next(fd, mode);
  return mode[0] == 'r' ? failing(file) : file;
}

/* Else the epochs behind it would be lost, and nobody be told. */
TEST(a_file_that_cannot_be_read_stays_as_it_is) {
  char dir[400], before[4096];
  struct metrics m;
  snprintf(dir, sizeof dir, "%s/a/b", folder);
  write_runs(dir);
  snprintf(before, sizeof before, "%s", content());
  for (long size = 1; size < (long)strlen(before); size += 50) {
    readable = size;
    int code = metrics_open(&m, dir, 1, 2);
    readable = 0;
    assert_int_equal(code, FAILED);
    assert_non_null(strstr(error_message(), "metrics.jsonl: cannot be read: Input/output error"));
    error_clear();
    assert_string_equal(content(), before);
  }
  assert_ok(metrics_open(&m, dir, 1, 2));
  metrics_close(&m);
  assert_int_equal(lines_of(content()), 4 + 2);
}

/* Others can put links and pipes into a group's folder. What they lead to is neither read, written nor waited
 * for; nor is a file with another name, as a hard link gives one. */
TEST(what_is_no_file_of_the_run_is_left_alone) {
  char dir[400], path[500], victim[500];
  struct metrics m;
  struct stat status;
  snprintf(dir, sizeof dir, "%s/shared", folder);
  snprintf(path, sizeof path, "%s/metrics.jsonl", dir);
  snprintf(victim, sizeof victim, "%s/victim", folder);
  assert_ok(make_folder(dir));
  FILE *file = fopen(victim, "w");
  fputs("{\"run\": 0, \"epoch\": 9, \"loss\": 1}\n", file);
  fclose(file);
  for (int resumes = 0; resumes < 2; resumes++) {
    for (int hard = 0; hard < 2; hard++) {
      (void)unlink(path);
      assert_int_equal(hard ? link(victim, path) : symlink("../victim", path), 0);
      int code = metrics_open(&m, dir, 0, resumes ? 1 : -1);
      metrics_close(&m);
      if (resumes && !hard)
        assert_fails(code, BAD_INPUT, "metrics.jsonl: is a symbolic link");
      else
        assert_int_equal(code, OK);
      error_clear();
      assert_int_equal(stat(victim, &status), 0);
      assert_true(status.st_size > 30);
      assert_int_equal(lstat(path, &status), 0);
      assert_true((resumes && !hard) || (S_ISREG(status.st_mode) && status.st_size == 0));
    }
  }
  (void)unlink(path);
  assert_int_equal(mkfifo(path, 0666), 0);
  assert_fails(metrics_open(&m, dir, 0, 1), FAILED, "is a device or pipe");
  assert_fails(metrics_open(&m, dir, 0, -1), FAILED, "is a device or pipe");
}

TEST(a_new_run_starts_a_new_file) {
  char dir[400];
  struct metrics m;
  snprintf(dir, sizeof dir, "%s/a/b", folder);
  write_runs(dir);
  assert_ok(metrics_open(&m, dir, 0, -1));
  metrics_close(&m);
  assert_string_equal(content(), "");
}

TEST(a_full_disk_and_a_file_in_the_way_are_said) {
  char path[400];
  struct metrics m = {0};
  struct metrics_row row = {0};
  m.file = fopen("/dev/full", "w");
  snprintf(m.path, sizeof m.path, "/dev/full");
  assert_non_null(m.file);
  assert_fails(metrics_epoch(&m, &row), FAILED, "No space left on device");
  metrics_close(&m);
  snprintf(path, sizeof path, "%s/a/b/metrics.jsonl", folder);
  assert_fails(metrics_open(&m, path, 0, -1), FAILED, "is not a folder");
}

TEST(without_a_best_epoch_it_is_null) {
  char dir[400];
  struct metrics m;
  struct metrics_final last = {0, 0, 3, NAN, NAN, 1.5, 1};
  snprintf(dir, sizeof dir, "%s/null", folder);
  assert_ok(metrics_open(&m, dir, 0, -1));
  assert_ok(metrics_final(&m, &last));
  metrics_close(&m);
  assert_non_null(
      strstr(content_of("null"), "\"best_epoch\": null, \"epochs\": 3, \"val\": null, \"test\": null"));
}
