/* gatv2: Z_v = sum_u a_vu (L h_u) in each of several heads, a_vu = softmax over the row of
 * a . LeakyReLU_.2(L h_u + R h_v), with exactly one self loop a node (Brody et al. 2022). Heads as in gat. */
#include "kernels/ops/attention.h"
#include "models/layers/layers.h"

static void add_outputs(struct build *b, struct step *attend, int64_t out) {
  const struct kernels *k = b->run->kernels;
  const int64_t heads = attend->heads, width = heads * attend->width;
  attend->out[0] = build_value(b, "heads", width, 0);
  if (b->last) attend->out[1] = build_value(b, "mean", out, 1);
  attend->out[2] = build_value(b, "log sum", heads, 1);
  if (b->run->comm->size > 1 && k->dtype != k->real) attend->out[3] = build_value(b, "sums", width, 1);
}

static void gatv2_layer(struct build *b, int64_t out, struct layer_epilogue form) {
  const struct config *config = b->run->config;
  struct step attend = step_of(STEP_DYNAMIC, b->layer);
  attend.heads = (int)(b->last ? config->model.heads_last : config->model.heads);
  attend.width = (int)(b->last ? out : out / attend.heads);
  attend.exchange = (int64_t)attend.heads * attend.width;
  const int left = build_weight(b, "left", build_cols(b, b->x), attend.exchange);
  const int right = build_weight(b, "right", build_cols(b, b->x), attend.exchange);
  attend.parameter[0] = build_weight(b, "attention", 1, attend.exchange);
  struct step epilogue = build_epilogue_parameters(b, out, form);
  attend.in[0] = build_linear(b, b->x, left);
  attend.in[1] = build_linear(b, b->x, right);
  add_outputs(b, &attend, out);
  build_step(b, attend);
  build_epilogue(b, attend.out[b->last], epilogue);
}

static void gatv2_build(struct build *b) {
  attention_of_heads(b);
  build_alike(b, gatv2_layer);
}

const struct model_type gatv2_model = {.name = "gatv2",
                                       .about = "graph attention with dynamic scores (Brody et al. 2022)",
                                       .build = gatv2_build,
                                       .check = attention_check_heads};
