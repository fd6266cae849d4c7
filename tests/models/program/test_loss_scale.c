/* Rows that are multiplied by the column scale of the aggregation that reads them where they are made
 * (models/program/fuse.c): the gradient of the logits among them, with a bias and without. */
#include "models/program/program.h"
#include "tests/models/fixture.h"

static struct job job;
static const struct fixture plain = {.nodes = 97, .features = 40, .classes = 7};
static const struct fixture labels = {.nodes = 97, .features = 40, .classes = 7, .multilabel = 1};
static const struct fixture hyper = {.nodes = 90, .features = 40, .classes = 7, .hyperedges = 70};

BEFORE_ALL {
  return ranks_open(&job.comm);
}

AFTER_ALL {
  comm_close(&job.comm);
}

/* Whether the loss leaves a message; then the step behind it leaves it as it is. */
static int loss_is_message(const struct fixture *f, const char *settings) {
  fixture_open(&job, f, settings);
  const struct program *p = &job.trainer.model.program;
  const struct step *loss = &p->step[p->loss], *behind = loss + 1;
  const int message = loss->scale != NONE;
  if (message) {
    const struct step *sum = &p->step[loss->scale];
    assert_int_equal(behind->kind, STEP_EPILOGUE_BACKWARD);
    assert_true(sum->kind == STEP_AGGREGATE && sum->aggregation.message && sum->aggregation.transposed);
    assert_true(sum->in[0] == behind->out[0] && p->value[behind->out[0]].place == loss->out[0]);
  }
  fixture_close(&job);
  return message;
}

TEST(a_loss_behind_a_sum_leaves_a_message_whether_a_bias_lies_between_or_not) {
  assert_true(loss_is_message(&plain, "model.hidden = 16"));
  assert_true(loss_is_message(&plain, "model.hidden = 16\nmodel.bias = false"));
  assert_true(loss_is_message(&plain, "model.hidden = 16\nmodel.layers = 3\nmodel.norm = \"batch\""));
  assert_true(loss_is_message(&labels, "model.hidden = 16\nmodel.norm_edges = \"row\""));
  assert_true(loss_is_message(&hyper, "model.type = \"hgnn\"\nmodel.hidden = 32\nruntime.rows = \"all\""));
  assert_true(loss_is_message(&plain, "model.type = \"sgc\"\nruntime.once = false"));
}

/* Logits of a product, or of a sum and something else. */
TEST(other_losses_leave_the_gradient_as_it_is) {
  assert_false(loss_is_message(&plain, "model.hidden = 4"));
  assert_false(loss_is_message(&plain, "model.type = \"mlp\""));
  assert_false(loss_is_message(&plain, "model.type = \"sgc\""));
  assert_false(loss_is_message(&plain, "model.type = \"gcnii\""));
  assert_false(loss_is_message(&plain, "model.type = \"appnp\""));
  assert_false(loss_is_message(&plain, "model.type = \"sage\"\nmodel.hidden = 16"));
}
