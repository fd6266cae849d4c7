/* wgrad: dW = factor x^T dy. */
#include "models/program/rules/rules.h"

struct tensor rule_input(const struct pass *pass, int value, int64_t rows) {
  return rule_rows(pass, value,
                   value == VALUE_FEATURES ? features_tensor(pass->features) : rule_tensor(pass, value),
                   rows);
}

struct gemm rule_wgrad(const struct pass *pass, const struct step *wgrad) {
  struct gemm product = {.a = rule_input(pass, wgrad->in[0], wgrad->rows[TRAINING].count),
                         .transpose_a = 1,
                         .b = tensor_in(pass, wgrad, 1)};
  product.c = parameter_gradient(pass->parameters, pass->run, wgrad->parameter[0]);
  if (wgrad->factor != 1) product.factor = &wgrad->factor;
  return product;
}

int run_wgrad(const struct pass *pass, const struct step *step) {
  struct tensor dw = parameter_gradient(pass->parameters, pass->run, step->parameter[0]);
  if (step->in[0] == VALUE_FEATURES)
    return features_gradient(pass->features, pass->run, tensor_in(pass, step, 1), dw);
  struct gemm product = rule_wgrad(pass, step);
  return op_gemm(pass->run->kernels, &product);
}
