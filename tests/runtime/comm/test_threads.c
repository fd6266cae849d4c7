/* How many threads a rank takes. Each rank binds itself before it asks. */
#include <sched.h>

#include "runtime/comm/comm.h"
#include "tests/ranks.h"

static struct comm comm;
static cpu_set_t every; /* processors that the tests were started on */
static int allowed;     /* how many they could use: more, under taskset */

/* The n-th processor that we may use. */
static size_t processor(int n) {
  size_t cpu = 0;
  for (; cpu < CPU_SETSIZE; cpu++)
    if (CPU_ISSET(cpu, &every) && n-- == 0) break;
  return cpu;
}

/* Binds this rank to processors first .. first + count - 1. */
static void bind(int first, int count) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (int i = first; i < first + count; i++) CPU_SET(processor(i), &mask);
  assert_int_equal(sched_setaffinity(0, sizeof mask, &mask), 0);
}

/* The fair share of processors, or less where a container grants less. */
static void check_share(int threads, int share, const char *text) {
  if (strstr(text, "the container may use"))
    assert_int_in_range(threads, 1, share);
  else
    assert_int_equal(threads, share);
}

BEFORE_EACH {
  unsetenv("OMP_NUM_THREADS");
  assert_int_equal(sched_setaffinity(0, sizeof every, &every), 0);
}

TEST(a_wish_is_granted) {
  int threads = 0;
  char text[256];
  assert_ok(comm_threads(&comm, 3, &threads, text, sizeof text));
  assert_int_equal(threads, 3);
  assert_string_equal(text, "3 threads a rank (runtime.threads)");
}

TEST(the_environment_is_respected) {
  int threads = 0;
  char text[256];
  setenv("OMP_NUM_THREADS", "5,2", 1);
  assert_ok(comm_threads(&comm, 0, &threads, text, sizeof text));
  assert_int_equal(threads, 5);
  assert_string_equal(text, "5 threads a rank (OMP_NUM_THREADS)");
  setenv("OMP_NUM_THREADS", "many", 1);
  assert_ok(comm_threads(&comm, 0, &threads, text, sizeof text));
  assert_null(strstr(text, "OMP_NUM_THREADS"));
  const char *many[] = {"4097", "100000", "99999999999999999999"};
  for (size_t i = 0; i < sizeof many / sizeof many[0]; i++) {
    setenv("OMP_NUM_THREADS", many[i], 1);
    assert_int_equal(comm_threads(&comm, 0, &threads, text, sizeof text), BAD_INPUT);
    assert_ok(comm_threads(&comm, 2, &threads, text, sizeof text));
  }
}

TEST(ranks_with_the_same_binding_share_it) {
  int threads = 0, count = CPU_COUNT(&every);
  char text[256], bound[64], shared[64];
  assert_ok(comm_threads(&comm, 0, &threads, text, sizeof text));
  check_share(threads, count / comm.size > 1 ? count / comm.size : 1, text);
  snprintf(bound, sizeof bound, "bound to %d processor", count);
  assert_non_null(strstr(text, bound));
  snprintf(shared, sizeof shared, "shared by %d ranks", comm.size);
  if (comm.size > 1) assert_non_null(strstr(text, shared));
  if (2 * count > allowed) assert_null(strstr(text, "idle"));
}

TEST(a_rank_bound_alone_keeps_its_processors) {
  int threads = 0;
  char text[256];
  if (CPU_COUNT(&every) < comm.size) skip();
  bind(comm.rank, 1);
  assert_ok(comm_threads(&comm, 0, &threads, text, sizeof text));
  assert_int_equal(threads, 1);
  assert_non_null(strstr(text, "1 thread a rank (bound to 1 processor"));
  assert_null(strstr(text, "shared"));
  cpu_set_t after;
  assert_int_equal(sched_getaffinity(0, sizeof after, &after), 0);
  assert_int_equal(CPU_COUNT(&after), 1); /* asking changes nothing */
}

/* Rank 0 on processors 0 and 1, the others on processor 1: no more than a fair share anywhere. */
TEST(overlapping_bindings_are_shared_fairly) {
  int threads = 0;
  char text[256];
  if (CPU_COUNT(&every) < 2) skip();
  bind(comm.rank == 0 ? 0 : 1, comm.rank == 0 ? 2 : 1);
  assert_ok(comm_threads(&comm, 0, &threads, text, sizeof text));
  check_share(threads, comm.size == 1 ? 2 : 1, text);
}

TEST(idle_processors_are_pointed_out) {
  int threads = 0;
  char text[256];
  if (CPU_COUNT(&every) < 2) skip();
  bind(0, 1);
  assert_ok(comm_threads(&comm, 0, &threads, text, sizeof text));
  assert_int_equal(threads, 1);
  assert_non_null(strstr(text, "stay idle: mpirun --map-by slot:PE=n or --bind-to none"));
}

BEFORE_ALL {
  TRY(ranks_open(&comm));
  if (sched_getaffinity(0, sizeof every, &every) != 0) return FAILED;
  cpu_set_t most;
  memset(&most, 0xff, sizeof most);
  if (sched_setaffinity(0, sizeof most, &most) != 0 || sched_getaffinity(0, sizeof most, &most) != 0)
    return FAILED;
  allowed = CPU_COUNT(&most);
  return OK;
}

AFTER_ALL {
  comm_close(&comm);
}
