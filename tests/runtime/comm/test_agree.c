/* Agreement on how a stage ended: one code, one voice. */
#include <sys/mman.h>

#include "runtime/comm/comm.h"
#include "tests/ranks.h"

static struct comm comm;
RANK_TESTS(comm);

static int stage(int code) {
  if (code != OK) FAIL(code, "rank %d: code %d", comm.rank, code);
  return OK;
}

/* Whether error_print would speak. */
static int speaks(void) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  error_print(out, "test");
  fclose(out);
  free(text);
  return size > 0;
}

/* Code of rank r in pattern p: base 3 digits 0, 1, 2. */
static int code_of(int pattern, int r) {
  for (int i = 0; i < r; i++) pattern /= 3;
  return pattern % 3;
}

static void check_pattern(int pattern) {
  int highest = OK, speaker = -1;
  for (int r = 0; r < comm.size; r++) {
    int code = code_of(pattern, r);
    if (code > highest) highest = code;
    if (code != OK && speaker < 0) speaker = r;
  }
  error_clear();
  assert_int_equal(comm_agree(&comm, stage(code_of(pattern, comm.rank))), highest);
  assert_int_equal(speaks(), speaker == comm.rank);
  if (highest == OK) return;
  assert_int_equal(comm_agree(&comm, highest), highest); /* the stage around it */
  assert_int_equal(speaks(), speaker == comm.rank);
}

TEST(the_highest_code_wins_and_the_lowest_rank_speaks) {
  int patterns = 1;
  for (int r = 0; r < comm.size; r++) patterns *= 3;
  int step = patterns > 81 ? patterns / 40 : 1; /* not a multiple of 3: every digit changes */
  for (int pattern = 0; pattern < patterns; pattern += step) check_pattern(pattern);
}

static int needs_everyone(void) {
  int64_t one = 1;
  return comm_sum_int64(&comm, &one);
}

static int exchange_with_all(void) {
  enum { LONG = 200000 };
  char *data = calloc((size_t)(2 * comm.size), LONG);
  memset(data, comm.rank + 1, (size_t)(comm.size * LONG));
  struct message sends[16], recvs[16];
  for (int r = 0; r < comm.size; r++) {
    sends[r] = (struct message){r, data + r * LONG, LONG};
    recvs[r] = (struct message){r, data + (comm.size + r) * LONG, LONG};
  }
  int code = comm_swap(&comm, sends, comm.size, recvs, comm.size);
  for (int r = 0; r < comm.size && code == OK; r++) assert_int_equal(data[(comm.size + r) * LONG], r + 1);
  free(data); /* nothing may arrive here any more */
  return code;
}

/* The failing rank goes to the agreement; the others wait for it in some call and are fetched from there. */
static void check_failure_inside(int failing, int (*work)(void)) {
  error_clear();
  assert_ok(comm_barrier(&comm));
  int code = comm.rank == failing ? stage(BAD_INPUT) : work();
  assert_int_equal(code, BAD_INPUT);
  assert_int_equal(comm_agree(&comm, code), BAD_INPUT);
  assert_int_equal(speaks(), comm.rank == failing);
}

TEST(a_rank_that_fails_inside_a_stage_fetches_the_others) {
  for (int i = 0; i < 4; i++) {
    for (int k = 1; k < 15; k++) check_pattern(40 + k); /* older failures are still on their way */
    check_failure_inside(i % comm.size, exchange_with_all);
  }
}

TEST(it_fetches_them_from_a_collective_call) {
  check_failure_inside(0, needs_everyone);
}

/* One rank finds its messages wrong when it has posted them; whatever arrives in memory that is gone kills.
 */
static int exchange_that_is_wrong_for(int failing) {
  enum { SHORT = 1000, MOST = 16 };
  size_t bytes = (size_t)(2 * MOST * SHORT);
  char *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  struct message sends[MOST], recvs[MOST];
  assert_ptr_not_equal(data, MAP_FAILED);
  for (int r = 0; r < comm.size; r++) {
    sends[r] = (struct message){r, data + r * SHORT, SHORT};
    recvs[r] = (struct message){r, data + (MOST + r) * SHORT, SHORT};
  }
  if (comm.rank == failing) recvs[failing].bytes--;
  int code = comm_swap(&comm, sends, comm.size, recvs, comm.size);
  munmap(data, bytes);
  return code;
}

TEST(a_rank_that_fails_with_messages_under_way_ends_them_first) {
  for (int failing = 0; failing < comm.size; failing++) {
    error_clear();
    assert_ok(comm_barrier(&comm));
    int code = exchange_that_is_wrong_for(failing);
    assert_int_equal(comm_agree(&comm, code), FAILED);
    assert_int_equal(speaks(), comm.rank == failing);
  }
}

TEST(the_ranks_can_talk_afterwards) {
  int64_t one = 1;
  error_clear();
  assert_ok(exchange_with_all());
  assert_ok(comm_sum_int64(&comm, &one));
  assert_int_equal(one, comm.size);
}
