/* A loss that has become a million times what it was at first ends the training, on every rank; a small one
 * may come back to what a model has that knows nothing. */
#include "models/train/divergence.h"
#include "tests/ranks.h"

static struct comm comm;
RANK_TESTS(comm);

/* What is said of these losses, one after the other. */
static int check(const double *loss, int count, double first) {
  struct run run = {.comm = &comm};
  const struct tally tally = {0};
  int code = OK;
  for (int i = 0; i < count && code == OK; i++) {
    const struct divergence at = {i + 1, loss[i], &tally, 0};
    code = divergence_check(&at, &first, NULL, &run);
  }
  return code;
}
#define CHECK(...) check((const double[]){__VA_ARGS__}, sizeof((double[]){__VA_ARGS__}) / sizeof(double), 0)

TEST(a_loss_may_grow_to_a_million_times_its_first_value) {
  assert_ok(CHECK(2, 1, 1.9e6, .1));
  assert_int_equal(CHECK(2, 1.9e6, 2.1e6), FAILED);
  assert_true(error_is_silent() ||
              strstr(error_message(), "epoch 3: the loss is 2.1e+06, over a million times the 2 "));
  assert_true(comm.size == 1 || error_is_agreed());
  assert_int_equal(CHECK(.01, 7e5), FAILED);
}

TEST(a_small_loss_may_come_back_to_that_of_an_ignorant_model) {
  assert_ok(CHECK(1e-9, 5));
  assert_ok(CHECK(0, 5e5));
}
