/* sage: Z = H W_self + P H W (Hamilton, Ying and Leskovec 2017). model.aggregator "mean": P is the mean over
 * the neighbours; "sum": their sum; "gcn": the mean over the neighbours and the node itself, and Z = P H W
 * alone; "max": Z = H W_self + M W, M_v = max over the neighbours u of relu(H_u W_p + b_p), as wide as hidden
 * layers; "min": the same with their minimum. */
#include "io/dataset/dataset.h"
#include "kernels/ops/reduce.h"
#include "models/layers/layers.h"
#include "runtime/base/error.h"

static void sage_layer(struct build *b, int64_t out, struct layer_epilogue form) {
  int weight = build_weight(b, "weight", build_cols(b, b->x), out);
  struct step epilogue = build_epilogue_parameters(b, out, form);
  int self = build_weight(b, "self", build_cols(b, b->x), out);
  int product = build_linear(b, b->x, weight), own = build_linear(b, b->x, self);
  build_epilogue(b, build_aggregate(b, product, own), epilogue);
}

/* The message of the backward: the gradient of M, the gap behind it included, and the winners. */
static int64_t message_cols(const struct build *b, int64_t width) {
  enum dtype dtype = b->run->kernels->dtype;
  int64_t size = dtype_bytes(dtype), bytes = width * (int64_t)sizeof(int32_t);
  return tensor_stride(dtype, width) + (bytes + size - 1) / size;
}

static int build_largest(struct build *b, int x) {
  struct step step = step_of(STEP_REDUCE, b->layer);
  const int64_t width = build_cols(b, x);
  step.in[0] = x;
  step.exchange = message_cols(b, width);
  step.out[0] = build_value(b, "most", width, 0);
  step.out[1] = build_value(b, "winners", step.exchange, 0);
  int gradient = build_view(b, "grad most", step.out[1], 0, width);
  b->program->value[step.out[0]].gradient = gradient;
  build_step(b, step);
  return step.out[0];
}

static void pool_layer(struct build *b, int64_t out, struct layer_epilogue form) {
  const int64_t in = build_cols(b, b->x), width = b->run->config->model.hidden;
  const int x = b->x;
  int pool = build_weight(b, "pool", in, width);
  struct step relu = step_of(STEP_EPILOGUE, b->layer);
  relu.epilogue.activation = ACTIVATION_RELU;
  relu.index.bias = build_parameter(b, "pool_bias", 1, width, START_ZERO);
  int weight = build_weight(b, "weight", width, out), self = build_weight(b, "self", in, out);
  struct step epilogue = build_epilogue_parameters(b, out, form);
  relu.in[0] = build_linear(b, x, pool);
  relu.out[0] = build_in_place(b, "value", relu.in[0]);
  build_step(b, relu);
  int most = build_largest(b, relu.out[0]);
  build_epilogue(b, build_two_linears(b, most, weight, x, self), epilogue);
}

static int check(const struct config *config, const struct dataset *dataset) {
  const enum aggregator aggregator = config->model.aggregator;
  const char *name = aggregator == AGGREGATOR_MIN ? "min" : "max";
  if ((aggregator != AGGREGATOR_MAX && aggregator != AGGREGATOR_MIN) || !dataset) return OK;
  if (dataset->weighted)
    FAIL(BAD_INPUT,
         "%s: its edges have weights, which model.aggregator = \"%s\" has no use for; import it without",
         config->dataset.path, name);
  if (dataset->nodes >= NO_WINNER)
    FAIL(BAD_INPUT, "%s has %lld nodes; model.aggregator = \"%s\" takes up to %d", config->dataset.path,
         (long long)dataset->nodes, name, NO_WINNER);
  return OK;
}

static void sage_build(struct build *b) {
  static const enum adjacency_norm adjacency_norms[] = {[AGGREGATOR_MEAN] = ADJACENCY_NORM_MEAN,
                                                        [AGGREGATOR_GCN] = ADJACENCY_NORM_SELF_MEAN,
                                                        [AGGREGATOR_SUM] = ADJACENCY_NORM_SUM,
                                                        [AGGREGATOR_MAX] = ADJACENCY_NORM_SUM,
                                                        [AGGREGATOR_MIN] = ADJACENCY_NORM_SUM};
  static build_layer *const layers[] = {[AGGREGATOR_MEAN] = sage_layer,
                                        [AGGREGATOR_GCN] = gcn_layer,
                                        [AGGREGATOR_SUM] = sage_layer,
                                        [AGGREGATOR_MAX] = pool_layer,
                                        [AGGREGATOR_MIN] = pool_layer};
  const enum aggregator aggregator = b->run->config->model.aggregator;
  struct propagation *p = b->propagation;
  p->adjacency_norm = adjacency_norms[aggregator];
  p->wants_ids = p->reduces = layers[aggregator] == pool_layer;
  build_alike(b, layers[aggregator]);
}

const struct model_type sage_model = {
    .name = "sage",
    .about = "GraphSAGE: mean, sum, maximum or minimum of the neighbours (Hamilton et al. 2017)",
    .build = sage_build,
    .check = check};
