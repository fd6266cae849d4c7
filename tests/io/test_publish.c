/* What a person names as output takes a file, and is none of those that are read. */
#include "io/publish.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "tests/io/made_files.h"

static const char *const nothing[] = {NULL};

static void a_name_that_takes_a_file_is_fine(void **state) {
  (void)state;
  const char *const inputs[] = {"in", "missing", NULL};
  made_text("in", "1");
  made_text("old", "2");
  assert_ok(check_writable("new", nothing));
  assert_ok(check_writable("new", inputs));
  assert_ok(check_writable("old", inputs));
  assert_ok(check_writable("no/such/folder/new", inputs));
  assert_ok(check_writable("/tmp/no/such/folder/new", inputs));
  assert_int_equal(access("no", F_OK), -1); /* a check makes nothing */
}

static void an_output_is_no_input_under_any_name(void **state) {
  (void)state;
  const char *const inputs[] = {"missing", "in", "set", NULL};
  assert_int_equal(mkdir("set", 0777), 0);
  assert_int_equal(mkdir("set/raw", 0777), 0);
  made_text("in", "1");
  made_text("set/raw/edge.csv", "2");
  assert_int_equal(symlink("in", "by_symlink"), 0);
  assert_int_equal(link("in", "by_link"), 0);
  assert_fails(check_writable("in", inputs), BAD_INPUT, "in: cannot be written: it is the input in");
  assert_fails(check_writable("./set/../in", inputs), BAD_INPUT, "it is the input in");
  assert_fails(check_writable("by_symlink", inputs), BAD_INPUT, "by_symlink: cannot be written: it is");
  assert_fails(check_writable("by_link", inputs), BAD_INPUT, "it is the input in");
  assert_fails(check_writable("set/raw/edge.csv", inputs), BAD_INPUT, "it is the input set/raw/edge.csv");
  assert_ok(check_writable("in", nothing));
  assert_ok(check_writable("set/raw/new", inputs));
}

static void what_takes_no_file_has_its_sentence(void **state) {
  (void)state;
  made_text("file", "1");
  assert_int_equal(mkdir("folder", 0777), 0);
  assert_int_equal(mkfifo("pipe", 0777), 0);
  assert_fails(check_writable("", nothing), BAD_INPUT, "the name of the file to write is empty");
  assert_fails(check_writable("folder", nothing), BAD_INPUT, "folder: is a folder; a file is expected");
  assert_fails(check_writable("new/", nothing), BAD_INPUT, "new/: is a folder; a file is expected");
  assert_fails(check_writable("pipe", nothing), BAD_INPUT, "pipe: is a device or pipe; a file is expected");
  assert_fails(check_writable("file/new", nothing), BAD_INPUT,
               "new: cannot be written: file is not a folder");
  assert_fails(check_writable("file/new/er", nothing), BAD_INPUT,
               "cannot be written: file/new: Not a directory");
  assert_int_equal(mkdir("closed", 0555), 0);
  if (geteuid() != 0)
    assert_fails(check_writable("closed/new", nothing), BAD_INPUT, "cannot be written: closed: Permission");
}

static void only_a_plain_file_is_replaced(void **state) {
  (void)state;
  struct publish p;
  if (access("pipe", F_OK) != 0) assert_int_equal(mkfifo("pipe", 0777), 0);
  assert_fails(publish_open(&p, "pipe"), FAILED, "pipe: cannot be written: is a device or pipe");
}

static void writers_have_numbers_of_their_own(void **state) {
  (void)state;
  char expected[64];
  struct publish p;
  int64_t mine = publish_writer();
  assert_ok(publish_open(&p, "file"));
  snprintf(expected, sizeof expected, "file.tmp-%lld", (long long)mine);
  assert_int_equal(access(expected, F_OK), 0);
  publish_drop(&p);
  assert_int_equal(access(expected, F_OK), -1);
  pid_t pid = fork();
  if (pid == 0) _exit(publish_writer() == mine);
  int status = -1;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_true(mine > INT32_MAX); /* more than a process id */
}

/* What somebody may still be writing stays. */
static void old_leftovers_go(void **state) {
  (void)state;
  const struct timespec day_ago[2] = {{time(NULL) - 86401, 0}, {time(NULL) - 86401, 0}};
  made_text("kept.h5.tmp-1", "new");
  made_text("kept.h5.tmp-2", "old");
  made_text("kept.h5", "old, too");
  assert_int_equal(utimensat(AT_FDCWD, "kept.h5.tmp-2", day_ago, 0), 0);
  assert_int_equal(utimensat(AT_FDCWD, "kept.h5", day_ago, 0), 0);
  publish_clean("kept.h5", 86400);
  assert_int_equal(access("kept.h5.tmp-1", F_OK), 0);
  assert_int_equal(access("kept.h5.tmp-2", F_OK), -1);
  assert_int_equal(access("kept.h5", F_OK), 0);
  publish_clean("kept.h5", 0);
  assert_int_equal(access("kept.h5.tmp-1", F_OK), -1);
}

static void the_folder_of_a_file_is_made(void **state) {
  (void)state;
  assert_ok(make_folder_of("made/for/file"));
  assert_ok(make_folder_of("made/for/file"));
  assert_ok(make_folder_of("file_alone"));
  assert_int_equal(access("made/for", F_OK), 0);
  assert_int_equal(access("made/for/file", F_OK), -1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_name_that_takes_a_file_is_fine),
      cmocka_unit_test(an_output_is_no_input_under_any_name),
      cmocka_unit_test(what_takes_no_file_has_its_sentence),
      cmocka_unit_test(only_a_plain_file_is_replaced),
      cmocka_unit_test(writers_have_numbers_of_their_own),
      cmocka_unit_test(old_leftovers_go),
      cmocka_unit_test(the_folder_of_a_file_is_made),
  };
  return cmocka_run_group_tests(tests, made_setup, made_teardown);
}
