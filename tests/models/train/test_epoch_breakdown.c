#include "models/train/epoch_breakdown.h"
#include "runtime/profile/profile.h"
#include "tests/check.h"

AFTER_EACH {
  profile_free();
}

static void spend(double seconds) {
  double until = profile_clock() + seconds;
  while (profile_clock() < until) continue;
}

static void region(const char *name, double seconds) {
  profile_begin(name);
  profile_work(100, 1000);
  spend(seconds);
  profile_end();
}

static void aggregate(void) {
  region("pack", 1e-4);
  profile_begin_beside(1, "exchange", 64);
  profile_begin("own part");
  region("spmm", 3e-4);
  profile_end();
  profile_begin("wait");
  spend(1e-4);
  profile_end_beside(1);
  profile_end();
  profile_begin("halo part");
  region("spmm", 2e-4);
  profile_end();
}

static void one_epoch(void) {
  profile_begin("epoch");
  profile_begin("forward");
  region("spmm", 1e-4); /* of sparse features: beside no part of the aggregation */
  aggregate();
  region("update", 1e-4);
  profile_end();
  profile_begin("loss");
  region("cross_entropy", 1e-4);
  profile_end();
  spend(2e-4);
  profile_end();
}

TEST(parts_of_epochs_add_up_to_them) {
  profile_enable();
  aggregate(); /* not in an epoch */
  for (int i = 0; i < 3; i++) one_epoch();
  struct epoch_breakdown parts = epoch_breakdown_read();
  double sum = 0;
  for (int p = 0; p < EPOCH_PARTS; p++) sum += p == EPOCH_EXCHANGE ? 0 : parts.part[p].seconds;
  assert_close(parts.epochs, 3, 0);
  assert_close(sum, parts.seconds, 1e-9);
  assert_true(parts.part[EPOCH_OTHER].seconds >= 3 * 2e-4);
  assert_true(parts.part[EPOCH_OWN].seconds >= 3 * 3e-4);
  assert_true(parts.part[EPOCH_GEMM].seconds >= 3 * 1e-4 && parts.part[EPOCH_GEMM].seconds < parts.seconds);
  assert_true(parts.part[EPOCH_REDUCE].seconds == 0);
}

TEST(work_of_a_part_is_that_of_all_its_regions) {
  profile_enable();
  for (int i = 0; i < 2; i++) one_epoch();
  struct epoch_breakdown parts = epoch_breakdown_read();
  assert_close(parts.part[EPOCH_OWN].bytes, 200, 0);
  assert_close(parts.part[EPOCH_OWN].flops, 2000, 0);
  assert_close(parts.part[EPOCH_GEMM].flops, 2000, 0);
  assert_close(parts.part[EPOCH_LOSS].bytes, 200, 0);
  assert_close(parts.part[EPOCH_EXCHANGE].bytes, 128, 0);
}

TEST(a_difference_holds_what_came_between) {
  profile_enable();
  one_epoch();
  struct epoch_breakdown before = epoch_breakdown_read();
  one_epoch();
  one_epoch();
  struct epoch_breakdown after = epoch_breakdown_read(), between = epoch_breakdown_since(&after, &before);
  assert_close(between.epochs, 2, 0);
  assert_close(between.seconds, after.seconds - before.seconds, 1e-12);
  assert_close(between.part[EPOCH_HALO].flops, 2000, 0);
}

TEST(the_hidden_share_is_between_0_and_1) {
  struct epoch_breakdown parts = {.epochs = 1, .seconds = 1};
  assert_true(epoch_breakdown_hidden(&parts) == 0); /* no exchange */
  parts.part[EPOCH_EXCHANGE].seconds = .5;
  assert_true(epoch_breakdown_hidden(&parts) == 1);
  for (double wait = 0; wait < .8; wait += .1) {
    parts.part[EPOCH_WAIT].seconds = wait;
    assert_close(epoch_breakdown_hidden(&parts), fmax(0, 1 - wait / .5), 1e-12);
  }
  profile_enable();
  for (int i = 0; i < 3; i++) one_epoch();
  parts = epoch_breakdown_read();
  assert_true(epoch_breakdown_hidden(&parts) > 0 && epoch_breakdown_hidden(&parts) < 1);
}

TEST(the_bound_hides_the_shorter_of_exchange_and_own_part) {
  struct epoch_breakdown parts = {.epochs = 1, .seconds = 100};
  parts.part[EPOCH_PACK].seconds = 1;
  parts.part[EPOCH_EXCHANGE].seconds = 4;
  parts.part[EPOCH_WAIT].seconds = 50;
  parts.part[EPOCH_OTHER].seconds = 30;
  parts.part[EPOCH_OWN].seconds = 3;
  parts.part[EPOCH_HALO].seconds = 10;
  parts.part[EPOCH_GEMM].seconds = 20;
  assert_close(epoch_breakdown_bound(&parts), 35, 1e-12);
  parts.part[EPOCH_OWN].seconds = 7;
  assert_close(epoch_breakdown_bound(&parts), 37, 1e-12);
}

TEST(without_a_recording_there_are_no_parts) {
  one_epoch();
  struct epoch_breakdown parts = epoch_breakdown_read();
  assert_true(parts.epochs == 0 && parts.seconds == 0);
  for (int p = 0; p < EPOCH_PARTS; p++) assert_true(parts.part[p].seconds == 0);
}
