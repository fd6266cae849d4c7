#include "tests/check.h"

#include <unistd.h>

#include "io/metrics.h"
#include "tests/io/tiny.h"

static const char *folder;

static char *content(void) {
  static char text[4096];
  char path[400];
  snprintf(path, sizeof path, "%s/a/b/metrics.jsonl", folder);
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  text[fread(text, 1, sizeof text - 1, file)] = '\0';
  fclose(file);
  return text;
}

static void write_runs(const char *dir) {
  struct metrics m;
  assert_ok(metrics_open(&m, dir, 0, -1));
  for (int run = 0; run < 2; run++) {
    for (int epoch = 1; epoch <= 3; epoch++) {
      struct metrics_row row = {run, epoch, .5 * epoch, .25, NAN, 1. / 3, 12};
      assert_ok(metrics_epoch(&m, &row));
    }
    struct metrics_final last = {run, 2, 3, .75, .5, 1.5, 1 << 20};
    assert_ok(metrics_final(&m, &last));
  }
  metrics_close(&m);
}

static void a_line_is_a_json_object_and_nan_is_null(void **state) {
  (void)state;
  char dir[400];
  snprintf(dir, sizeof dir, "%s/a/b", folder);
  write_runs(dir);
  const char *first = "{\"run\": 0, \"epoch\": 1, \"loss\": 0.5, \"train\": 0.25, \"val\": null, "
                      "\"test\": 0.3333333333333333, \"ms\": 12}\n";
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

static void resuming_cuts_back_to_the_epoch(void **state) {
  (void)state;
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

static void a_new_run_starts_a_new_file(void **state) {
  (void)state;
  char dir[400];
  struct metrics m;
  snprintf(dir, sizeof dir, "%s/a/b", folder);
  write_runs(dir);
  assert_ok(metrics_open(&m, dir, 0, -1));
  metrics_close(&m);
  assert_string_equal(content(), "");
}

static void a_full_disk_and_a_file_in_the_way_are_said(void **state) {
  (void)state;
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_line_is_a_json_object_and_nan_is_null),
      cmocka_unit_test(resuming_cuts_back_to_the_epoch),
      cmocka_unit_test(a_new_run_starts_a_new_file),
      cmocka_unit_test(a_full_disk_and_a_file_in_the_way_are_said),
  };
  folder = tiny_folder("metrics");
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  tiny_remove_folder(folder);
  return failed;
}
