#include <unistd.h>

#include "runtime/comm/comm.h"
#include "runtime/profile/profile.h"
#include "runtime/profile/profile_tree.h"
#include "tests/ranks.h"

static struct comm comm;
RANK_TESTS(comm);

AFTER_EACH {
  profile_free();
}

/* Every rank: epoch > spmm, twice; rank r: epoch > exchange r times; the last rank: epoch > "odd \ one". */
static void record(void) {
  profile_enable();
  for (int i = 0; i < 2; i++) {
    profile_begin("epoch");
    profile_begin("spmm");
    profile_end();
    for (int k = 0; i == 0 && k < comm.rank; k++) {
      profile_begin("exchange");
      profile_end();
    }
    profile_end();
  }
  if (comm.rank == comm.size - 1) {
    profile_begin("odd \\ \"one\"");
    profile_end();
  }
}

static char *read_all(FILE *file) {
  char *text = calloc(1, 1 << 16);
  assert_non_null(text);
  rewind(file);
  assert_true(fread(text, 1, (1 << 16) - 1, file) > 0);
  return text;
}

/* What profile_print writes to stdout on this rank; "" where it says nothing. */
static char *printed(void) {
  FILE *file = tmpfile();
  assert_non_null(file);
  fflush(stdout);
  int saved = dup(STDOUT_FILENO);
  dup2(fileno(file), STDOUT_FILENO);
  int code = profile_print(&comm);
  fflush(stdout);
  dup2(saved, STDOUT_FILENO);
  close(saved);
  fputc('\n', file);
  char *text = read_all(file);
  fclose(file);
  assert_ok(code);
  return text;
}

static int occurrences(const char *text, const char *what) {
  int count = 0;
  for (; (text = strstr(text, what)); text++) count++;
  return count;
}

/* The calls that the row of a region tells, averaged over the ranks; -1: there is no such row. */
static double calls_of(const char *text, const char *name) {
  const char *row = strstr(text, name);
  return row ? strtod(row + strlen(name), NULL) : -1;
}

TEST(regions_of_all_ranks_are_gathered) {
  struct profile_region *all;
  int64_t width;
  record();
  assert_ok(profile_gather(&comm, &all, &width));
  for (int r = 0; r < comm.size; r++) {
    const struct profile_region *region = all + r * width;
    assert_string_equal(region[0].name, "run");
    assert_string_equal(region[1].name, "epoch");
    assert_string_equal(region[2].name, "spmm");
    assert_int_equal(region[1].calls, 2);
    int64_t count = 3 + (r > 0) + (r == comm.size - 1);
    if (r > 0) assert_int_equal(region[3].calls, r);
    assert_true(count <= width && (count == width || region[count].name[0] == '\0'));
  }
  free(all);
}

TEST(the_table_merges_regions_by_path) {
  record();
  char *text = printed();
  if (comm.rank > 0) {
    assert_string_equal(text, "\n");
  } else {
    const char *epoch = strstr(text, "\n  epoch "), *spmm = strstr(text, "\n    spmm ");
    assert_true(epoch && spmm && spmm > epoch);
    assert_int_equal(occurrences(text, "epoch"), 1);
    assert_int_equal(occurrences(text, "exchange"), comm.size > 1);
    assert_close(calls_of(text, "epoch"), 2, 0);
    assert_close(calls_of(text, "spmm"), 2, 0);
    if (comm.size > 1) assert_close(calls_of(text, "exchange"), (comm.size - 1) / 2.0, 0.5);
    assert_int_equal(occurrences(text, "one\""), 1);
  }
  free(text);
}

TEST(the_trace_holds_every_event_of_every_rank) {
  char path[64], name[32];
  snprintf(path, sizeof path, "trace.%d.json", comm.size);
  record();
  assert_ok(profile_write_trace(&comm, path));
  if (comm.rank > 0) return;
  FILE *file = fopen(path, "r");
  assert_non_null(file);
  char *text = read_all(file);
  fclose(file);
  unlink(path);
  int64_t events = 4 * comm.size + comm.size * (comm.size - 1) / 2 + 1;
  assert_int_equal(occurrences(text, "\"ph\":\"X\""), events);
  assert_int_equal(occurrences(text, "\"thread_name\",\"args\":{\"name\":\"host "), comm.size);
  assert_int_equal(occurrences(text, "\"odd \\\\ \\\"one\\\"\""), 1);
  for (int r = 0; r < comm.size; r++) {
    snprintf(name, sizeof name, "\"rank %d\"", r);
    assert_int_equal(occurrences(text, name), 1);
  }
  assert_int_equal(occurrences(text, "{"), occurrences(text, "}"));
  assert_string_equal(text + strlen(text) - 4, "\n]}\n");
  free(text);
}

TEST(a_trace_that_cannot_be_written_fails_on_every_rank) {
  record();
  int code = profile_write_trace(&comm, "/nowhere/trace.json");
  assert_int_equal(code, FAILED);
  if (comm.rank == 0)
    assert_non_null(strstr(error_message(), "/nowhere/trace.json: cannot be written: /nowhere: No such"));
  error_clear();
}

TEST(without_a_recording_the_table_is_empty) {
  char *text = printed();
  assert_int_equal(occurrences(text, "\n"), comm.rank == 0 ? 2 : 1);
  free(text);
}
