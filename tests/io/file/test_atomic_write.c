/* What a person names as output takes a file, and is none of those that are read. */
#include "io/file/path_check.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "runtime/base/stop.h"
#include "tests/io/synthetic_files.h"

IN_MADE_FOLDER;

static const char *const nothing[] = {NULL};

TEST(a_name_that_takes_a_file_is_fine) {
  const char *const inputs[] = {"in", "missing", NULL};
  synthetic_text("in", "1");
  synthetic_text("old", "2");
  assert_ok(path_check_writable("new", nothing));
  assert_ok(path_check_writable("new", inputs));
  assert_ok(path_check_writable("old", inputs));
  assert_ok(path_check_writable("no/such/folder/new", inputs));
  assert_ok(path_check_writable("/tmp/no/such/folder/new", inputs));
  assert_int_equal(access("no", F_OK), -1); /* a check makes nothing */
}

TEST(an_output_is_no_input_under_any_name) {
  const char *const inputs[] = {"missing", "in", "set", NULL};
  assert_int_equal(mkdir("set", 0777), 0);
  assert_int_equal(mkdir("set/raw", 0777), 0);
  synthetic_text("in", "1");
  synthetic_text("set/raw/edge.csv", "2");
  assert_int_equal(symlink("in", "by_symlink"), 0);
  assert_int_equal(link("in", "by_link"), 0);
  assert_fails(path_check_writable("in", inputs), BAD_INPUT, "in: cannot be written: it is the input in");
  assert_fails(path_check_writable("./set/../in", inputs), BAD_INPUT, "it is the input in");
  assert_fails(path_check_writable("by_symlink", inputs), BAD_INPUT, "by_symlink: cannot be written: it is");
  assert_fails(path_check_writable("by_link", inputs), BAD_INPUT, "it is the input in");
  assert_fails(path_check_writable("set/raw/edge.csv", inputs), BAD_INPUT,
               "it is the input set/raw/edge.csv");
  assert_ok(path_check_writable("in", nothing));
  assert_ok(path_check_writable("set/raw/new", inputs));
}

TEST(what_takes_no_file_has_its_sentence) {
  synthetic_text("file", "1");
  assert_int_equal(mkdir("folder", 0777), 0);
  assert_int_equal(mkfifo("pipe", 0777), 0);
  assert_fails(path_check_writable("", nothing), BAD_INPUT, "the name of the file to write is empty");
  assert_fails(path_check_writable("folder", nothing), BAD_INPUT, "folder: is a folder; a file is expected");
  assert_fails(path_check_writable("new/", nothing), BAD_INPUT, "new/: is a folder; a file is expected");
  assert_fails(path_check_writable("pipe", nothing), BAD_INPUT,
               "pipe: is a device or pipe; a file is expected");
  assert_fails(path_check_writable("file/new", nothing), BAD_INPUT,
               "new: cannot be written: file is not a folder");
  assert_fails(path_check_writable("file/new/er", nothing), BAD_INPUT,
               "cannot be written: file/new: Not a directory");
  assert_int_equal(mkdir("closed", 0555), 0);
  if (geteuid() != 0)
    assert_fails(path_check_writable("closed/new", nothing), BAD_INPUT,
                 "cannot be written: closed: Permission");
}

TEST(only_a_plain_file_is_replaced) {
  struct atomic_write p;
  if (access("pipe", F_OK) != 0) assert_int_equal(mkfifo("pipe", 0777), 0);
  assert_fails(atomic_write_open(&p, "pipe"), FAILED, "pipe: cannot be written: is a device or pipe");
}

TEST(writers_have_numbers_of_their_own) {
  char expected[64];
  struct atomic_write p;
  int64_t mine = atomic_write_writer();
  assert_ok(atomic_write_open(&p, "file"));
  snprintf(expected, sizeof expected, "file.tmp-%lld", (long long)mine);
  assert_int_equal(access(expected, F_OK), 0);
  atomic_write_drop(&p);
  assert_int_equal(access(expected, F_OK), -1);
  pid_t pid = fork();
  if (pid == 0) _exit(atomic_write_writer() == mine);
  int status = -1;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_int_equal(status, 0);
  assert_true(mine > INT32_MAX); /* more than a process id */
}

/* A file that replaces another, too, has the rights that the umask leaves, and what was there goes on under
 * its other names. */
TEST(a_file_gets_the_rights_of_the_umask) {
  static const mode_t masks[] = {0, 022, 027, 077};
  mode_t before = umask(0);
  struct stat status;
  struct atomic_write p;
  FILE *out;
  synthetic_text("rights", "old");
  assert_int_equal(chmod("rights", 0600), 0);
  assert_int_equal(link("rights", "other_name"), 0);
  for (size_t i = 0; i < sizeof masks / sizeof masks[0]; i++) {
    umask(masks[i]);
    assert_ok(atomic_write_open(&p, "rights"));
    assert_ok(atomic_write_stream(&p, &out));
    fputs("new", out);
    assert_ok(atomic_write_commit(&p));
    assert_int_equal(stat("rights", &status), 0);
    assert_int_equal(status.st_mode & 07777, 0666 & ~masks[i]);
    assert_int_equal(status.st_size, 3);
  }
  umask(before);
  size_t size;
  unsigned char *bytes = synthetic_bytes("other_name", &size);
  assert_memory_equal(bytes, "old", 3);
  free(bytes);
}

/* Nor is a folder that everybody may write to made where there is no umask. */
TEST(folders_are_not_for_everybody) {
  mode_t before = umask(0);
  struct stat status;
  assert_ok(make_folder("open/to"));
  umask(before);
  assert_int_equal(stat("open/to", &status), 0);
  assert_int_equal(status.st_mode & 07777, 0775);
}

/* Somebody who knows the name that comes next, or has drawn it too, stops nothing. */
TEST(a_name_that_is_taken_gives_way_to_another) {
  char taken[64];
  struct atomic_write p;
  synthetic_text("victim", "1");
  snprintf(taken, sizeof taken, "guess.tmp-%lld", (long long)atomic_write_writer());
  assert_int_equal(symlink("victim", taken), 0);
  assert_ok(atomic_write_open(&p, "guess"));
  assert_string_not_equal(p.temporary, taken);
  assert_int_equal(write(p.file, "new", 3), 3);
  assert_ok(atomic_write_commit(&p));
  struct stat status;
  assert_int_equal(stat("victim", &status), 0);
  assert_int_equal(status.st_size, 1);
  assert_int_equal(lstat("guess", &status), 0);
  assert_true(S_ISREG(status.st_mode) && status.st_size == 3);
}

/* A link of another user is not: only root can make one here. */
TEST(only_links_of_ones_own_lead_to_folders) {
  struct atomic_write p;
  assert_int_equal(mkdir("real", 0777), 0);
  assert_int_equal(symlink("real", "mine"), 0);
  assert_ok(atomic_write_open(&p, "mine/file"));
  assert_ok(atomic_write_commit(&p));
  assert_int_equal(access("real/file", F_OK), 0);
  if (lchown("mine", 12345, (gid_t)-1) != 0) skip();
  assert_fails(atomic_write_open(&p, "mine/other"), BAD_INPUT,
               "mine: is a symbolic link that another user made");
  atomic_write_clean("mine/file", 0);
  assert_int_equal(access("real/other", F_OK), -1);
}

/* Where the process stands then is of no account. */
TEST(a_signal_removes_what_is_being_written) {
  int status;
  assert_int_equal(mkdir("stopped", 0777), 0);
  pid_t pid = fork();
  if (pid == 0) {
    struct atomic_write p;
    if (stop_start(atomic_write_remove_named) != OK) _exit(1);
    if (atomic_write_open(&p, "stopped/file") != OK || access(p.path, F_OK) == 0 || chdir("/") != 0) _exit(2);
    kill(getpid(), SIGTERM);
    for (;;) pause();
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
  assert_int_equal(rmdir("stopped"), 0); /* nothing was left in it */
}

TEST(a_name_that_is_too_long_is_refused_at_once) {
  char name[300], path[1200];
  struct atomic_write p;
  memset(name, 'n', sizeof name);
  name[232] = '\0';
  assert_fails(path_check_writable(name, nothing), BAD_INPUT, "at most 231 characters");
  assert_fails(atomic_write_open(&p, name), BAD_INPUT, "at most 231 characters");
  name[231] = '\0';
  assert_ok(path_check_writable(name, nothing));
  assert_ok(atomic_write_open(&p, name));
  assert_ok(atomic_write_commit(&p));
  memset(path, '/', sizeof path);
  path[1100] = '\0';
  path[1099] = 'f';
  assert_fails(path_check_writable(path, nothing), BAD_INPUT, "at most 1023 characters");
}

/* What somebody may still be writing stays. */
TEST(old_leftovers_go) {
  const struct timespec day_ago[2] = {{time(NULL) - 86401, 0}, {time(NULL) - 86401, 0}};
  synthetic_text("kept.h5.tmp-1", "new");
  synthetic_text("kept.h5.tmp-2", "old");
  synthetic_text("kept.h5", "old, too");
  synthetic_text("kept.h5.tmp-notes", "a person's");
  assert_int_equal(utimensat(AT_FDCWD, "kept.h5.tmp-2", day_ago, 0), 0);
  assert_int_equal(utimensat(AT_FDCWD, "kept.h5", day_ago, 0), 0);
  atomic_write_clean("kept.h5", 86400);
  assert_int_equal(access("kept.h5.tmp-1", F_OK), 0);
  assert_int_equal(access("kept.h5.tmp-2", F_OK), -1);
  assert_int_equal(access("kept.h5", F_OK), 0);
  atomic_write_clean("kept.h5", 0);
  assert_int_equal(access("kept.h5.tmp-1", F_OK), -1);
  assert_int_equal(access("kept.h5.tmp-notes", F_OK), 0);
}

TEST(the_folder_of_a_file_is_made) {
  assert_ok(make_folder_of("made/for/file"));
  assert_ok(make_folder_of("made/for/file"));
  assert_ok(make_folder_of("file_alone"));
  assert_int_equal(access("made/for", F_OK), 0);
  assert_int_equal(access("made/for/file", F_OK), -1);
}
