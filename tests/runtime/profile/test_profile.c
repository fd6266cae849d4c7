#include <time.h>

#include "runtime/profile/profile.h"
#include "runtime/profile/profile_tree.h"
#include "tests/check.h"
#include "tests/runtime/profile/seconds.h"

AFTER_EACH {
  profile_free();
}

static void spend(double seconds) {
  double until = profile_clock() + seconds;
  while (profile_clock() < until) continue;
}

/* The number of the region with that name below `parent`; -1: there is none. */
static int64_t region_at(const struct profile_region *region, int64_t count, const char *name,
                         int64_t parent) {
  for (int64_t i = 1; i < count; i++)
    if (region[i].parent == parent && strcmp(region[i].name, name) == 0) return i;
  return -1;
}

TEST(nothing_is_recorded_until_enabled) {
  int64_t count;
  profile_begin("early");
  profile_end();
  assert_int_equal(profile_enabled(), 0);
  assert_true(profile_seconds("early") == 0);
  profile_events(&count);
  assert_int_equal(count, 0);
}

TEST(regions_nest_and_equal_names_add_up) {
  struct profile_region *region;
  int64_t count;
  profile_enable();
  for (int i = 0; i < 3; i++) {
    profile_begin("epoch");
    profile_begin("spmm");
    spend(0.001);
    profile_end();
    profile_begin("gemm");
    profile_begin("spmm");
    profile_end();
    profile_end();
    profile_end();
  }
  assert_ok(profile_tree(&region, &count));
  assert_int_equal(count, 5);
  assert_int_equal(region[0].parent, -1);
  int64_t epoch = region_at(region, count, "epoch", 0);
  int64_t spmm = region_at(region, count, "spmm", epoch), gemm = region_at(region, count, "gemm", epoch);
  int64_t inner = region_at(region, count, "spmm", gemm);
  assert_true(epoch > 0 && spmm > epoch && gemm > spmm && inner > gemm);
  for (int64_t i = 1; i < count; i++) assert_int_equal(region[i].calls, 3);
  assert_true(region[spmm].seconds >= 0.003);
  assert_true(region[epoch].seconds >= region[spmm].seconds + region[gemm].seconds);
  assert_true(region[0].seconds >= region[epoch].seconds);
  assert_close(profile_seconds("spmm"), region[spmm].seconds + region[inner].seconds, 1e-12);
  free(region);
}

TEST(events_stand_in_order_of_their_end) {
  int64_t count;
  profile_enable();
  profile_begin("outer");
  profile_begin("inner");
  spend(0.001);
  profile_end();
  profile_end();
  const struct profile_event *event = profile_events(&count);
  assert_int_equal(count, 2);
  assert_int_equal(event[0].region, 2);
  assert_int_equal(event[1].region, 1);
  assert_true(event[1].start <= event[0].start);
  assert_true(event[1].start + event[1].seconds >= event[0].start + event[0].seconds);
  assert_true(event[0].seconds >= 0.001);
}

TEST(a_region_open_before_the_start_is_left_out) {
  int64_t count;
  double begun = profile_clock();
  profile_begin("before");
  profile_enable();
  profile_begin("after");
  profile_end();
  profile_end();
  profile_end();
  const struct profile_event *event = profile_events(&count);
  assert_int_equal(count, 1);
  assert_true(event[0].seconds > 0 && event[0].seconds <= profile_clock() - begun);
  assert_true(profile_seconds("before") == 0);
}

TEST(many_regions_and_events_are_counted) {
  enum { NAMES = 700 };
  static char name[NAMES][16];
  struct profile_region *region;
  int64_t count;
  profile_enable();
  for (int i = 0; i < NAMES; i++) {
    snprintf(name[i], sizeof name[i], "r%d", i);
    profile_begin(name[i]);
    profile_end();
  }
  for (int i = 0; i < PROFILE_EVENTS; i++) {
    profile_begin("same");
    profile_end();
  }
  assert_ok(profile_tree(&region, &count));
  assert_int_equal(count, NAMES + 2);
  assert_int_equal(region[region_at(region, count, "r699", 0)].calls, 1);
  assert_int_equal(region[region_at(region, count, "same", 0)].calls, PROFILE_EVENTS);
  profile_events(&count);
  assert_int_equal(count, PROFILE_EVENTS);
  free(region);
}

static int answer(void) {
  return 42;
}

TEST(a_profiled_call_keeps_its_value) {
  profile_enable();
  assert_int_equal(PROFILE("answer", answer()), 42);
  assert_true(profile_seconds("answer") > 0);
}

TEST(the_clock_counts_from_the_start_of_the_program) {
  double first = profile_clock();
  assert_true(first >= 0 && first < 60);
  assert_true(profile_clock() >= first);
  double before = (double)time(NULL), now = profile_epoch() + profile_clock(), after = (double)time(NULL);
  assert_true(now > before - 1 && now < after + 2); /* however long the machine stood still between them */
}
