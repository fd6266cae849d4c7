#include "kernels/ops/optimizer.h"
#include "tests/kernels/every_table.h"

static struct scalars read_scalars(struct kernels *k) {
  struct scalars scalars;
  assert_ok(device_download(k->device, STREAM_COMPUTE, &scalars, k->scalars, sizeof scalars));
  assert_ok(device_synchronize(k->device, STREAM_COMPUTE));
  return scalars;
}

static void rates(struct kernels *k) {
  const double rate[] = {.5, .25, .125};
  const double *on_device = device_block(k, rate, sizeof rate);
  set_scalars(k, (struct scalars){.epoch = 4, .step = 2, .squares = 7});
  for (uint32_t epoch = 5; epoch < 12; epoch++) {
    assert_ok(op_advance(k, on_device, 3));
    struct scalars scalars = read_scalars(k);
    assert_int_equal(scalars.epoch, epoch);
    assert_int_equal(scalars.step, epoch - 2);
    assert_int_equal(scalars.frozen, 0);
    assert_true(scalars.lr == rate[epoch % 3] && scalars.squares == 7);
  }
}

TEST(each_epoch_takes_the_rate_of_its_number) {
  on_every_table(rates);
}

static void frozen(struct kernels *k) {
  const double rate[] = {.5, .25};
  set_scalars(k, (struct scalars){.epoch = 4, .step = 2, .frozen = 1, .lr = .75});
  assert_ok(op_advance(k, device_block(k, rate, sizeof rate), 2));
  struct scalars scalars = read_scalars(k);
  assert_int_equal(scalars.epoch, 4);
  assert_int_equal(scalars.step, 2);
  assert_true(scalars.frozen && scalars.lr == .75);
}

TEST(frozen_scalars_stay) {
  on_every_table(frozen);
}
