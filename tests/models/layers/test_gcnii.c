/* GCNII: its logits beside the formula, gradients by central differences, weight decay by group. */
#include "tests/models/layers/formula.h"

enum { CONVOLUTIONS = 3, HIDDEN = 6 };

/* One convolution: relu(((1 - a) P h + a h0) ((1 - b) I + b W)). */
static struct rows convolve(const struct fixture *f, struct rows h, struct rows h0, int l, double alpha,
                            double lambda) {
  char name[32];
  snprintf(name, sizeof name, "layer%d.weight", l);
  double beta = log(lambda / l + 1);
  struct rows s = normalised_aggregate_of(f, h), y = rows_of(f->nodes, HIDDEN);
  for (int64_t i = 0; i < f->nodes * HIDDEN; i++) s.value[i] = (1 - alpha) * s.value[i] + alpha * h0.value[i];
  add_linear(f, s, name, NULL, y);
  for (int64_t i = 0; i < f->nodes * HIDDEN; i++) y.value[i] = (1 - beta) * s.value[i] + beta * y.value[i];
  clamp(f, y);
  free(s.value);
  return y;
}

static void check_formula(const struct fixture *f, const char *settings, double alpha, double lambda) {
  open_formula(f, settings);
  struct rows x = input_of(f), h0 = rows_of(f->nodes, HIDDEN), logits = rows_of(f->nodes, f->classes);
  add_linear(f, x, "layer0.weight", "layer0.bias", h0);
  clamp(f, h0);
  struct rows h = rows_of(f->nodes, HIDDEN);
  memcpy(h.value, h0.value, (size_t)(f->nodes * HIDDEN) * sizeof *h.value);
  for (int l = 1; l <= CONVOLUTIONS; l++) {
    struct rows next = convolve(f, h, h0, l, alpha, lambda);
    free(h.value);
    h = next;
  }
  add_linear(f, h, "layer4.weight", "layer4.bias", logits);
  assert_logits(logits);
  struct rows all[] = {x, h0, h, logits};
  for (int i = 0; i < 4; i++) free(all[i].value);
  fixture_close(&job);
}

TEST(logits_follow_the_formula) {
  check_formula(&plain, "model.type = \"gcnii\"\nmodel.layers = 3", .1, .5);
  check_formula(&sparse, "model.type = \"gcnii\"\nmodel.layers = 3\nmodel.alpha = 0.4\nmodel.lambda = 1.5",
                .4, 1.5);
  check_formula(&directed_weighted, "model.type = \"gcnii\"\nmodel.layers = 3\nmodel.alpha = 0.0", 0, .5);
}

TEST(any_depth) {
  check_model(&plain, "model.type = \"gcnii\"\nmodel.layers = 1");
  check_model(&plain, "model.type = \"gcnii\"\nmodel.layers = 4\nmodel.dropout_input = 0.25");
  check_model(&plain,
              "model.type = \"gcnii\"\nmodel.layers = 12\nmodel.dropout = 0.1\nmodel.activation = \"elu\"");
}

TEST(shares_norms_and_features) {
  check_model(&sparse, "model.type = \"gcnii\"\nmodel.layers = 3\nmodel.dropout = 0.0");
  check_model(&plain, "model.type = \"gcnii\"\nmodel.alpha = 0.5\nmodel.lambda = 1.5\nmodel.layers = 3\n"
                      "model.norm = \"layer\"");
  check_model(&plain, "model.type = \"gcnii\"\nmodel.layers = 3\nmodel.norm = \"batch\"\nmodel.hidden = 5");
}

TEST(weighted_and_directed_graphs) {
  check_model(&weighted, "model.type = \"gcnii\"\nmodel.layers = 3\nmodel.norm_edges = \"row\"");
  check_model(&directed_weighted, "model.type = \"gcnii\"\nmodel.layers = 3");
}

/* The group holds the weights of the convolutions and nothing else. */
TEST(convolutions_have_a_weight_decay_of_their_own) {
  open_formula(&plain, "model.type = \"gcnii\"\nmodel.layers = 3\ntrain.weight_decay = 5e-4\n"
                       "train.weight_decay_convolutions = 0.01");
  const struct parameters *p = &job.trainer.model.parameters;
  assert_true(p->group_decay == .01);
  for (int i = 0; i < p->length; i++) {
    const struct parameter *piece = &p->list[i];
    int inside = piece->offset >= p->group_begin && piece->offset < p->group_end;
    int layer = piece->name[strlen("layer")] - '0';
    assert_int_equal(inside, layer >= 1 && layer <= CONVOLUTIONS);
  }
  fixture_close(&job);
  open_formula(&plain, "model.type = \"gcnii\"\nmodel.layers = 3\ntrain.weight_decay = 5e-4");
  assert_true(p->group_begin == p->group_end);
  fixture_close(&job);
}
