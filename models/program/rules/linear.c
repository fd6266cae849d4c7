/* linear: y = x W (+ x2 W2), dx = dy W^T. W is a parameter or what a MAP makes of one. */
#include "kernels/ops/elementwise.h"
#include "models/program/rules/rules.h"
#include "runtime/base/error.h"

static struct tensor weight_of(const struct pass *pass, const struct step *step, int i) {
  return step->in[2] != NONE ? rule_tensor(pass, step->in[2])
                             : parameter_factor(pass->parameters, pass->run, step->parameter[i]);
}

/* Rows of y times the column scale of the aggregation that reads them. */
static const struct epilogue *message_of(const struct pass *pass, const struct step *step,
                                         struct epilogue *scale) {
  struct tensor y = tensor_out(pass, step, 0);
  *scale = (struct epilogue){.z = y, .scale = rule_scale(pass, step), .y = y};
  return scale->scale ? scale : NULL;
}

/* What a product of two rows adds to: sums of sparse features are wider than what they end in. */
static int linear_of_sparse(const struct pass *pass, const struct step *step,
                            const struct epilogue *epilogue) {
  struct tensor y = tensor_out(pass, step, 0), sum = step->out[1] == NONE ? y : tensor_out(pass, step, 1);
  struct gemm product = {.a = tensor_in(pass, step, 0), .b = weight_of(pass, step, 0), .c = sum};
  TRY(op_gemm(pass->run->kernels, &product));
  return features_times(pass->features, pass->run, weight_of(pass, step, 1), sum, epilogue, y);
}

int run_linear(const struct pass *pass, const struct step *step) {
  struct epilogue held, scale;
  struct column_moments moments;
  const struct epilogue *epilogue = rule_epilogue(pass, step, &held);
  const struct step *above = fused(pass, step, FUSE_LINEAR);
  struct tensor y = tensor_out(pass, step, 0);
  if (!epilogue && step->scale != NONE) epilogue = message_of(pass, step, &scale);
  if (step->in[0] == VALUE_FEATURES)
    return features_times(pass->features, pass->run, weight_of(pass, step, 0), (struct tensor){0}, epilogue,
                          y);
  if (step->in[1] == VALUE_FEATURES && pass->run->shard->sparse)
    return linear_of_sparse(pass, step, epilogue);
  struct gemm product = {
      .a = tensor_in(pass, step, 0), .b = weight_of(pass, step, 0), .c = y, .epilogue = epilogue};
  struct gemm chained;
  struct epilogue chained_scale;
  if (step->in[1] != NONE) {
    product.a2 = rule_input(pass, step->in[1], rule_rows_of(pass, step)->count);
    product.b2 = weight_of(pass, step, 1);
  }
  if (above) {
    chained = (struct gemm){.a = tensor_in(pass, above, 0), .b = weight_of(pass, above, 0)};
    chained.c = tensor_out(pass, above, 0);
    if (above->scale != NONE) chained.epilogue = message_of(pass, above, &chained_scale);
    product.chained = &chained;
  }
  product.moments = rule_moments(pass, step, &moments);
  return op_gemm(pass->run->kernels, &product);
}

/* The product and what runs along, but for the epilogue. */
struct dgrad {
  struct gemm product, wgrad[2];
};

static void fill_dgrad(const struct pass *pass, const struct step *step, struct dgrad *dgrad) {
  const struct step *second = fused(pass, step, FUSE_DGRAD);
  const struct step *wgrad[] = {fused(pass, step, FUSE_WGRAD), fused(pass, step, FUSE_SECOND_WGRAD)};
  struct gemm *product = &dgrad->product;
  *product = (struct gemm){.a = tensor_in(pass, step, 0), .b = weight_of(pass, step, 0), .transpose_b = 1};
  product->c = tensor_out(pass, step, 0);
  product->accumulate = (second ? second : step)->in[1] != NONE;
  if (second) product->a2 = tensor_in(pass, second, 0), product->b2 = weight_of(pass, second, 0);
  for (int i = 0; i < 2; i++)
    if (wgrad[i]) dgrad->wgrad[i] = rule_wgrad(pass, wgrad[i]);
  if (wgrad[0]) product->fused_wgrad = &dgrad->wgrad[0];
  if (wgrad[1]) product->fused_wgrad2 = &dgrad->wgrad[1];
}

/* Whether a batch norm's product is better made twice, see struct gemm. */
static int repeats(const struct pass *pass, const struct dgrad *dgrad) {
  return !dgrad->product.a2.data && op_gemm_repeats(pass->run->kernels, &dgrad->product);
}

int run_dgrad(const struct pass *pass, const struct step *step) {
  struct dgrad dgrad;
  struct rule_backward backward;
  fill_dgrad(pass, step, &dgrad);
  dgrad.product.backward = rule_backward(pass, step, &backward);
  dgrad.product.sums_alone = repeats(pass, &dgrad);
  return op_gemm(pass->run->kernels, &dgrad.product);
}

int rule_repeat(const struct pass *pass, const struct step *step, const struct batch_norm_backward *norm,
                int *repeated) {
  struct dgrad dgrad;
  struct rule_backward backward;
  fill_dgrad(pass, step, &dgrad);
  dgrad.product.backward = rule_backward(pass, step, &backward);
  *repeated = repeats(pass, &dgrad);
  if (!*repeated) return OK;
  struct batch_norm_backward again = *norm;
  again.forward = &backward.forward;
  backward.op.shift_grad = backward.op.gain_grad = backward.op.bias_grad = NULL;
  dgrad.product.fused_wgrad = dgrad.product.fused_wgrad2 = NULL;
  dgrad.product.norm = &again;
  return op_gemm(pass->run->kernels, &dgrad.product);
}

/* All maps of the program, which run along with the first one. */
int run_map(const struct pass *pass, const struct step *step) {
  const struct program *p = pass->program;
  enum { MAPS = 64 };
  struct add maps[MAPS];
  int count = 0;
  for (int s = (int)(step - p->step); s < p->loss; s++) {
    const struct step *map = &p->step[s];
    if (map->kind != STEP_MAP) continue;
    maps[count++] = (struct add){.x = parameter_value(pass->parameters, pass->run, map->parameter[0]),
                                 .factor = map->factor,
                                 .diagonal = map->diagonal,
                                 .y = tensor_out(pass, map, 0)};
    if (count < MAPS) continue;
    TRY(op_add_all(pass->run->kernels, maps, count));
    count = 0;
  }
  return op_add_all(pass->run->kernels, maps, count);
}
