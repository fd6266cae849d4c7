/* sage with aggregator "max": Z = H W_self + M W + b, M_v = max over the neighbours u of relu(H_u W_p + b_p),
 * hidden wide (Hamilton, Ying and Leskovec 2017, pooling). A node without neighbours has M_v = 0; of equal
 * values that of the lowest node id counts in the gradient.
 *
 * Forward, the halo carries relu(H W_p + b_p); backward the gradient of M and the ids of those who won. */
#include "io/dataset.h"
#include "kernels/reduce.h"
#include "models/model.h"
#include "models/sage.h"
#include "runtime/error.h"
#include "runtime/memory.h"

struct pool {
  int self, weight, bias; /* parameters W_self, W_p, b_p */
  int64_t width;
  struct tensor value;   /* relu(H W_p + b_p), [own, width] */
  struct tensor most;    /* M, [own, width] */
  struct tensor message; /* of the backward: gradient of M | winners, as many bytes as they take */
  struct tensor sum;     /* M W, to which sparse H W_self is added: z, or real where z is narrower */
  struct update end;     /* of H W_p */
};

static int pool_check(const struct run *run) {
  const struct shard *shard = run->shard;
  if (run->dataset->weighted)
    FAIL(BAD_INPUT,
         "%s: its edges have weights, which model.aggregator = \"max\" has no use for; import it "
         "without",
         run->config->dataset.path);
  if (shard->global_nodes >= NO_WINNER)
    FAIL(BAD_INPUT, "%s has %lld nodes; model.aggregator = \"max\" takes up to %d", run->config->dataset.path,
         (long long)shard->global_nodes, NO_WINNER);
  return OK;
}

/* The gradient's columns in a message, the gap behind them included; and all of it. */
static int64_t gradient_cols(const struct run *run, const struct pool *pool) {
  return tensor_stride(run->kernels->dtype, pool->width);
}

static int64_t message_cols(const struct run *run, const struct pool *pool) {
  int64_t size = dtype_bytes(run->kernels->dtype), bytes = pool->width * (int64_t)sizeof(int32_t);
  return gradient_cols(run, pool) + (bytes + size - 1) / size;
}

static int pool_init(struct model *model, struct run *run, struct layer *layer) {
  struct pool *pool = NULL;
  TRY(pool_check(run));
  TRY(memory_alloc(&pool, (int64_t)sizeof *pool, "a layer"));
  layer->kept = pool;
  pool->width = run->config->model.hidden;
  model->propagation.weighting = WEIGHTING_SUM;
  model->propagation.wants_ids = model->propagation.reduces = 1;
  layer->needs_input = 1;
  layer->scratch = pool->width;
  layer->pairs = layer->index > 0;
  layer->exchange = message_cols(run, pool);
  TRY(layer_add(model, run, layer, "pool", layer->in, pool->width, START_GLOROT, &pool->weight));
  TRY(layer_add(model, run, layer, "pool_bias", 1, pool->width, START_ZERO, &pool->bias));
  TRY(layer_add(model, run, layer, "weight", pool->width, layer->out, START_GLOROT, &layer->weight));
  TRY(layer_add(model, run, layer, "self", layer->in, layer->out, START_GLOROT, &pool->self));
  return layer_end_parameters(model, run, layer);
}

static void pool_plan(struct model *model, struct run *run, struct layer *layer, struct arena *arena) {
  (void)model;
  struct pool *pool = layer->kept;
  enum dtype dtype = run->kernels->dtype, real = run->kernels->real;
  int64_t own = run->shard->own;
  pool->value = arena_tensor(arena, dtype, own, pool->width);
  pool->most = arena_tensor(arena, dtype, own, pool->width);
  pool->message = arena_tensor(arena, dtype, own, message_cols(run, pool));
  pool->sum = layer->z;
  if (layer->index == 0 && run->shard->sparse && layer->z.dtype != real)
    pool->sum = arena_tensor(arena, real, own, layer->out);
}

static struct tensor gradient_in(const struct pool *pool, struct tensor message) {
  return tensor_columns(message, 0, pool->width);
}

static struct winners winners_in(const struct run *run, const struct pool *pool, struct tensor message) {
  struct tensor words = tensor_columns(message, gradient_cols(run, pool), 0);
  int64_t row = message.stride * dtype_bytes(message.dtype);
  return (struct winners){words.data, row / (int64_t)sizeof(int32_t)};
}

/* Where rows that are not finished keep their sums; y itself where it is real. */
static struct tensor sums_of(const struct propagation *p, struct tensor y, enum dtype real) {
  return y.dtype == real || !p->sums.data ? (struct tensor){0} : tensor_narrowed(p->sums, y.cols);
}

struct pass {
  struct model *model;
  struct pool *pool;
};

static int pool_rows(struct run *run, const struct direction *d, struct tensor x, int halo, void *context) {
  const struct pass *pass = context;
  const struct pool *pool = pass->pool;
  const struct propagation *p = &pass->model->propagation;
  struct reduce op = {.a = halo ? d->halo_part : d->own_part,
                      .reducer = REDUCER_MAX,
                      .x = x,
                      .col_id = halo ? d->halo_id : pass->model->id,
                      .id = pass->model->id,
                      .unfinished = halo || run->comm->size == 1 ? NULL : d->unfinished,
                      .accumulate = halo,
                      .sums = sums_of(p, pool->most, run->kernels->real),
                      .y = pool->most,
                      .winner = winners_in(run, pool, pool->message)};
  if (!halo) op.self_scale = p->self, op.self = x;
  return op_reduce(run->kernels, &op);
}

/* relu(H W_p + b_p). */
static int pool_values(struct model *model, struct run *run, struct layer *layer) {
  struct pool *pool = layer->kept;
  pool->end = (struct update){.z = pool->value,
                              .bias = parameter_value(&model->parameters, run, pool->bias).data,
                              .activation = ACTIVATION_RELU,
                              .y = pool->value};
  return layer_times_weight(model, run, layer, pool->weight, (struct tensor){0}, &pool->end, pool->value);
}

/* M W + H W_self */
static int pool_sum(struct model *model, struct run *run, struct layer *layer) {
  struct pool *pool = layer->kept;
  struct tensor w = parameter_factor(&model->parameters, run, layer->weight);
  const struct update *end = layer_fused_end(layer);
  int weight[2] = {layer->weight, pool->self};
  if (layer->index > 0 || !run->shard->sparse)
    return layer_times_two(model, run, layer, pool->most, weight, end, layer->z);
  TRY(op_gemm(run->kernels, &(struct gemm){.a = pool->most, .b = w, .c = pool->sum}));
  return layer_times_weight(model, run, layer, pool->self, pool->sum, end, layer->z);
}

static int pool_forward(struct model *model, struct run *run, struct layer *layer, int training) {
  struct propagation *p = &model->propagation;
  struct pool *pool = layer->kept;
  struct pass pass = {model, pool};
  TRY(pool_values(model, run, layer));
  TRY(propagate_parts(p, run, &p->forward, pool->value, pool_rows, &pass));
  TRY(pool_sum(model, run, layer));
  return layer_rest(run, layer, training);
}

static int give_back(struct run *run, const struct direction *d, struct tensor message, int halo,
                     void *context) {
  const struct pass *pass = context;
  const struct pool *pool = pass->pool;
  const struct propagation *p = &pass->model->propagation;
  struct tensor dx = tensor_narrowed(pass->model->scratch, pool->width);
  struct reduce_backward op = {.a = halo ? d->halo_part : d->own_part,
                               .dy = gradient_in(pool, message),
                               .winner = winners_in(run, pool, message),
                               .id = pass->model->id,
                               .unfinished = halo || run->comm->size == 1 ? NULL : d->unfinished,
                               .accumulate = halo,
                               .sums = sums_of(p, dx, run->kernels->real),
                               .dx = dx};
  if (!halo && p->self) op.self = op.dy, op.self_winner = op.winner;
  return op_reduce_backward(run->kernels, &op);
}

/* dW = M^T dZ, dM = dZ W^T; through those who won to d(H W_p), which is left in the scratch. */
static int pool_gradient(struct model *model, struct run *run, struct layer *layer, struct tensor dz) {
  struct propagation *p = &model->propagation;
  struct parameters *parameters = &model->parameters;
  struct pool *pool = layer->kept;
  struct pass pass = {model, pool};
  struct tensor w = parameter_factor(parameters, run, layer->weight), dp = model->scratch;
  struct tensor dw = parameter_gradient(parameters, run, layer->weight);
  struct tensor dm = gradient_in(pool, pool->message);
  TRY(op_gemm(run->kernels, &(struct gemm){.a = pool->most, .transpose_a = 1, .b = dz, .c = dw}));
  TRY(op_gemm(run->kernels, &(struct gemm){.a = dz, .b = w, .transpose_b = 1, .c = dm}));
  TRY(propagate_parts(p, run, &p->backward, pool->message, give_back, &pass));
  dp = tensor_narrowed(dp, pool->width);
  struct update_backward end = {.forward = &pool->end,
                                .dy = dp,
                                .dz = dp,
                                .bias_grad = parameter_gradient(parameters, run, pool->bias).data};
  return op_update_backward(run->kernels, &end);
}

/* dW_self = H^T dZ, dW_p = H^T dP, dH = dP W_p^T + dZ W_self^T */
static int pool_backward(struct model *model, struct run *run, struct layer *layer, struct tensor dz,
                         struct tensor residual, const struct update_backward *below) {
  const struct pool *pool = layer->kept;
  const struct tensor dy[2] = {tensor_narrowed(model->scratch, pool->width), dz};
  int weight[2] = {pool->weight, pool->self};
  TRY(pool_gradient(model, run, layer, dz));
  return layer_two_gradients(model, run, layer, weight, dy, below ? below->dy : (struct tensor){0}, residual,
                             below);
}

const struct layer_ops sage_pool_layer = {.uses_graph = 1,
                                          .init = pool_init,
                                          .plan = pool_plan,
                                          .forward = pool_forward,
                                          .backward = pool_backward};
