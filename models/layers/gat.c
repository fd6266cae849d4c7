/* gat: Z_v = sum_u a_vu (W h_u) in each of several heads, a_vu = softmax over the row of
 * LeakyReLU_.2(a_l . W h_u + a_r . W h_v), with exactly one self loop a node (Velickovic et al. 2018). Hidden
 * layers put the heads side by side, the last one takes their mean. */
#include "kernels/ops/attention.h"
#include "models/layers/layers.h"

/* What neighbours need: x | the reals l . x. */
static void attend_to(struct build *b, struct step *attend, int weight, int64_t out) {
  const struct kernels *k = b->run->kernels;
  const int64_t heads = attend->heads, width = heads * attend->width;
  const int64_t forward = message_elements(k, width) + message_reals(k, heads);
  const int64_t backward = attention_message_cols(k, out, attend->heads);
  struct step product = step_of(STEP_LINEAR, b->layer);
  attend->in[0] = build_value(b, "message", forward, 0);
  attend->in[1] = product.out[0] = build_view(b, "product", attend->in[0], 0, width);
  product.in[0] = b->x;
  product.parameter[0] = weight;
  build_step(b, product);
  attend->exchange = forward > backward ? forward : backward;
}

static void add_outputs(struct build *b, struct step *attend, int64_t out) {
  const struct kernels *k = b->run->kernels;
  const int64_t heads = attend->heads, width = heads * attend->width;
  attend->out[0] = build_value(b, "heads", width, 0);
  if (b->last) attend->out[1] = build_value(b, "mean", out, 1);
  attend->out[2] = build_value(b, "right", heads, 1);
  attend->out[3] = build_value(b, "positive", width, 0);
  attend->out[4] = build_value(b, "share", heads, 1);
  attend->out[5] = build_value(b, "log sum", heads, 1);
  if (b->run->comm->size > 1 && k->dtype != k->real)
    attend->out[6] = build_value(b, "sums", attention_sums_cols(k, width), 1);
}

static void gat_layer(struct build *b, int64_t out, struct layer_epilogue form) {
  const struct config *config = b->run->config;
  const int heads = (int)(b->last ? config->model.heads_last : config->model.heads);
  struct step attend = step_of(STEP_ATTEND, b->layer);
  attend.heads = heads;
  attend.width = (int)(b->last ? out : out / heads);
  int weight = build_weight(b, "weight", build_cols(b, b->x), (int64_t)heads * attend.width);
  attend.parameter[0] = build_weight(b, "left", heads, attend.width);
  attend.parameter[1] = build_weight(b, "right", heads, attend.width);
  struct step epilogue = build_epilogue_parameters(b, out, form);
  attend_to(b, &attend, weight, out);
  add_outputs(b, &attend, out);
  build_step(b, attend);
  build_epilogue(b, attend.out[b->last], epilogue);
}

static void gat_build(struct build *b) {
  attention_of_heads(b);
  build_alike(b, gat_layer);
}

const struct model_type gat_model = {.name = "gat",
                                     .about = "graph attention (Velickovic et al. 2018)",
                                     .build = gat_build,
                                     .check = attention_check_heads};
