#include "models/train/rates.h"

#include "tests/check.h"

static struct config settings(enum schedule schedule, int64_t warmup) {
  struct config config = {0};
  config.train.lr = .8;
  config.train.epochs = 20;
  config.train.schedule = schedule;
  config.train.warmup = warmup;
  config.train.step_every = 4;
  config.train.step_factor = .5;
  return config;
}

TEST(constant_stays) {
  struct config config = settings(SCHEDULE_CONSTANT, 0);
  assert_close(rates_lr(&config, 1), .8, 0);
  assert_close(rates_lr(&config, 20), .8, 0);
}

TEST(warmup_rises_in_equal_steps_to_the_full_rate) {
  struct config config = settings(SCHEDULE_CONSTANT, 3);
  assert_close(rates_lr(&config, 1), .2, 1e-15);
  assert_close(rates_lr(&config, 2), .4, 1e-15);
  assert_close(rates_lr(&config, 3), .6, 1e-15);
  assert_close(rates_lr(&config, 4), .8, 1e-15);
}

TEST(cosine_falls_from_full_to_nearly_zero) {
  struct config config = settings(SCHEDULE_COSINE, 0);
  assert_close(rates_lr(&config, 1), .8, 1e-15);
  assert_close(rates_lr(&config, 11), .4, 1e-15);
  assert_true(rates_lr(&config, 20) < .01 && rates_lr(&config, 20) > 0);
}

TEST(steps_halve_every_four_epochs_after_the_warmup) {
  struct config config = settings(SCHEDULE_STEP, 2);
  assert_close(rates_lr(&config, 6), .8, 1e-15);
  assert_close(rates_lr(&config, 7), .4, 1e-15);
  assert_close(rates_lr(&config, 11), .2, 1e-15);
}
