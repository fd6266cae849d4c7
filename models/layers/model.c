#include "models/layers/model.h"

#include <limits.h>

#include "kernels/ops/elementwise.h"
#include "models/core/propagation/layouts.h"
#include "models/layers/types.h"
#include "models/program/rules/rules.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

enum { LEAST_PANEL = 64 };

/* The widest row that is exchanged in every epoch. */
static int64_t widest_aggregate(const struct program *p) {
  int64_t width = 1;
  for (int s = 0; s < p->steps; s++) width = larger(width, p->step[s].exchange);
  return width;
}

/* The widest output of a layer's linear map. */
static int64_t widest_output(const struct program *p) {
  int64_t width = 1;
  for (int i = 0; i < p->norms; i++) width = larger(width, p->norm[i].cols);
  return width;
}

/* The last step of what is hoisted, whose output the epochs read. */
static const struct step *hoisted(const struct program *p) {
  for (int s = 0; s < p->loss; s++)
    if (p->step[s].aggregation.once && !program_passes_by(p, p->step[s].out[0])) return &p->step[s];
  return NULL;
}

/* Columns that are aggregated at a time where the input is aggregated once: panels begin where rows may. */
static int64_t panel_width(const struct model *model) {
  const struct program *p = &model->program;
  int64_t in = p->value[VALUE_FEATURES].cols, most = larger(widest_aggregate(p), LEAST_PANEL);
  int64_t whole = most / ROW_BYTES * ROW_BYTES;
  return in < most ? in : whole > 0 ? whole : most;
}

/* The widest row that is exchanged: in an epoch, and as a panel of what is aggregated once. */
static int64_t widest_exchange(const struct model *model) {
  int64_t width = widest_aggregate(&model->program);
  return hoisted(&model->program) ? larger(width, panel_width(model)) : width;
}

/* Whether features pass through the device in panels of a memory of their own. */
static int has_panels(const struct model *model) {
  return model->features.once && !model->features.borrowed;
}

/* Scratch of sparse products, which is not always largest for the widest rows: narrow ones may be copied. */
static int64_t product_workspace(const struct model *model, const struct run *run) {
  const struct program *p = &model->program;
  int64_t most = 0, each = panel_width(model), in = p->value[VALUE_FEATURES].cols;
  for (int s = 0; s < p->steps; s++) {
    const struct step *step = &p->step[s];
    if (step->exchange > 0)
      most = larger(most, propagation_workspace(&model->propagation, run, step_summed_cols(step),
                                                step->aggregation.message));
  }
  if (!hoisted(p)) return most;
  most = larger(most, propagation_workspace(&model->propagation, run, each, has_panels(model)));
  return larger(
      most, propagation_workspace(&model->propagation, run, in % each ? in % each : each, has_panels(model)));
}

static int64_t gradient_bytes(const struct model *model, const struct run *run, int wgrad) {
  if (wgrad == NONE) return 0;
  const struct parameter *weight = &model->parameters.list[model->program.step[wgrad].parameter[0]];
  return gemm_workspace(run->kernels, weight->rows, weight->cols);
}

/* And that of the weights' gradients that one kernel may make at once. */
static int64_t gradient_workspace(const struct model *model, const struct run *run) {
  const struct program *p = &model->program;
  int64_t most = 0;
  for (int s = 0; s < p->steps; s++) {
    const struct step *step = &p->step[s];
    int epilogue = step->along[FUSE_EPILOGUE];
    if (step->kind == STEP_WGRAD) most = larger(most, gradient_bytes(model, run, s));
    most = larger(
        most,
        gradient_bytes(model, run, step->along[FUSE_WGRAD]) +
            gradient_bytes(model, run, step->along[FUSE_SECOND_WGRAD]) +
            (epilogue == NONE ? 0 : gradient_bytes(model, run, p->step[epilogue].along[FUSE_CHAINED_WGRAD])));
  }
  return most;
}

static void span_parameter(struct model *model, int index) {
  if (index == NONE) return;
  const struct parameter *piece = &model->parameters.list[index];
  const int64_t first = piece->offset, end = first + piece->rows * piece->stride;
  const int64_t last = larger(model->chunk_first + model->chunk_count, end);
  model->chunk_first = model->chunk_count == 0 ? first : smaller(model->chunk_first, first);
  model->chunk_count = last - model->chunk_first;
}

/* The stretch of gradients that steps write which run by chunks. */
static void span_gradients(struct model *model) {
  const struct program *p = &model->program;
  for (int s = p->loss + 1; s < p->steps && program_is_chunked(p, s); s++) {
    const struct step *step = &p->step[s];
    if (step->kind == STEP_WGRAD) span_parameter(model, step->parameter[0]);
    if (step->kind == STEP_EPILOGUE_BACKWARD) span_parameter(model, p->step[step->of].index.bias);
  }
}

/* Lays out every buffer; called once to measure and once over the allocated block. */
static int plan(struct model *model, struct run *run) {
  struct arena *arena = &model->arena;
  struct program *p = &model->program;
  parameters_plan(&model->parameters, run, arena);
  model->id = arena_take(arena, run->shard->own * (int64_t)sizeof *model->id);
  place_values(p, run, arena);
  features_plan(&model->features, run, arena,
                p->saved.features ? &p->value[VALUE_FEATURES].tensor[TRAINING] : NULL);
  if (model->uses_graph) TRY(propagation_plan(&model->propagation, run, arena, widest_exchange(model)));
  readout_plan(&model->readout, run, arena);
  model->sums = arena_take(arena, 2 * widest_output(&model->program) * dtype_bytes(run->kernels->real));
  model->chunk_sums = arena_take(arena, model->chunk_count * dtype_bytes(run->kernels->real));
  return OK;
}

/* The first value of the program. */
static int add_features(struct program *p, const struct run *run) {
  struct value features = {.name = "features",
                           .dtype = run->kernels->dtype,
                           .rows = run->shard->own,
                           .cols = run->shard->features,
                           .place = NONE,
                           .gradient = NONE};
  p->logits = p->embedding = p->panel = NONE;
  program_value(p, features);
  return p->code;
}

/* How much of a saving is done by signs and layers that are computed again, and at most by values that wait.
 */
static int most_recomputing(const struct program *p, const struct config *config) {
  return config->train.recompute == RECOMPUTE_AUTO ? 1 + recompute_most(p) : 0;
}

static int most_offloading(const struct program *p, const struct run *run) {
  return run->config->runtime.offload == OFFLOAD_AUTO && !run->device->ops->on_host ? p->saved.can_wait : 0;
}

static int recompute(struct program *p, const struct config *config, int saving) {
  const int most = 1 + recompute_most(p);
  if (config->train.recompute == RECOMPUTE_LAYER) saving = most;
  if (config->train.recompute == RECOMPUTE_NONE) saving = 0;
  p->saved.repeated = saving > most ? most - 1 : saving > 0 ? saving - 1 : 0;
  TRY(recompute_steps(p));
  if (saving > 0) keep_signs(p);
  return p->code;
}

/* Whether nothing reads the features but what is computed once. */
static int features_are_read_once(const struct program *p) {
  return hoisted(p) && program_readers(p, VALUE_FEATURES, NULL, NULL) == 1;
}

/* Dense features that an epoch reads as they are. */
static int features_may_wait(const struct program *p, const struct run *run) {
  return !run->shard->sparse && run->config->model.dropout_input == 0 && !features_are_borrowed(run) &&
         !features_are_read_once(p);
}

static int offload(struct program *p, const struct run *run, int saving) {
  p->saved.features_may = features_may_wait(p, run);
  const int wanted = saving - most_recomputing(p, run->config);
  if (run->config->runtime.offload == OFFLOAD_ACTIVATIONS) return offload_steps(p, INT_MAX);
  TRY(offload_steps(p, 0));
  if (run->config->runtime.offload == OFFLOAD_FEATURES) return offload_steps(p, p->saved.constants);
  return wanted > 0 && most_offloading(p, run) > 0 ? offload_steps(p, wanted) : OK;
}

/* All layers, forward; then the passes that do not need the tables. saving: as model_save has it. */
static int build(struct model *model, struct run *run, int saving) {
  struct program *p = &model->program;
  struct build b = {.program = p,
                    .parameters = &model->parameters,
                    .propagation = &model->propagation,
                    .run = run,
                    .x = VALUE_FEATURES,
                    .first_layers = 1};
  const struct model_type *type = NULL;
  TRY(model_type_of(run->config->model.type, &type));
  TRY(model_type_check(run->config, run->dataset));
  TRY(add_features(p, run));
  model->propagation.factor = 1;
  type->build(&b);
  TRY(p->code);
  p->layers = b.layer;
  p->on_hypergraph = type->on_hypergraph;
  TRY(order_steps(p, run));
  hoist_steps(p, run);
  TRY(differentiate(p, run));
  TRY(recompute(p, run->config, saving));
  TRY(need_rows(p, run));
  chunk_steps(p, run);
  model->propagation.levels = p->levels;
  fuse_steps(p, run);
  TRY(offload(p, run, saving));
  for (int s = 0; s < p->loss; s++)
    model->uses_graph |= p->step[s].aggregation.once || p->step[s].exchange > 0;
  return OK;
}

/* What one hoisted step leaves for another is a panel, too. */
static int add_panels(struct model *model, const struct run *run) {
  struct program *p = &model->program;
  struct value panel = p->value[VALUE_FEATURES];
  for (int v = 1; v < p->values; v++) {
    if (!program_passes_by(p, v)) continue;
    p->value[v].cols = panel_width(model);
    p->value[v].stride = tensor_stride(p->value[v].dtype, p->value[v].cols);
  }
  if (!has_panels(model)) return OK;
  panel.cols = panel_width(model);
  panel.rows = run->shard->own;
  panel.stride = tensor_stride(panel.dtype, panel.cols);
  p->panel = program_value(p, panel);
  return p->code;
}

/* Of sparse features, rows of the steps that multiply them, or their gradient. */
static int add_feature_rows(struct model *model, struct run *run) {
  const struct program *p = &model->program;
  for (int s = 0; s < p->steps; s++) {
    const struct step *step = &p->step[s];
    if (step->in[0] != VALUE_FEATURES && step->in[1] != VALUE_FEATURES) continue;
    for (enum value_plan in = TRAINING; in < (s < p->loss ? PLANS : EVALUATION); in++)
      TRY(features_add_rows(&model->features, run, smaller(step->rows[in].count, run->shard->own),
                            in == TRAINING, s > p->loss));
  }
  features_rows_added(&model->features, run);
  return OK;
}

static int measure(struct model *model, struct run *run) {
  model->workspace = gradient_workspace(model, run);
  if (model->uses_graph) model->workspace = larger(model->workspace, product_workspace(model, run));
  model->workspace = larger(model->workspace, rule_readout_workspace(&model->program, &model->readout, run));
  model->arena = arena_measure(run->device);
  TRY(add_panels(model, run));
  span_gradients(model);
  TRY(plan_values(&model->program));
  return plan(model, run);
}

int model_init(struct model *model, struct run *run) {
  *model = (struct model){0};
  TRY(build(model, run, 0));
  TRY(features_init(&model->features, run, features_are_read_once(&model->program)));
  TRY(add_feature_rows(model, run));
  model->propagation.attends.by_terms = program_attends_by_terms(&model->program);
  model->propagation.attends.scores = program_scores_in_tiles(&model->program, run);
  if (model->uses_graph) TRY(propagation_init(&model->propagation, run, program_widest_sum(&model->program)));
  if (model->propagation.attends.on) layouts_say_attention(&model->propagation, run);
  TRY(readout_init(&model->readout, run));
  return measure(model, run);
}

int model_most_saving(const struct model *model, const struct run *run) {
  return most_recomputing(&model->program, run->config) + most_offloading(&model->program, run);
}

int model_save(struct model *model, struct run *run, int saving) {
  program_free(&model->program);
  parameters_free(&model->parameters);
  model->chunk_count = 0;
  TRY(build(model, run, saving));
  return measure(model, run);
}

/* Of the buffers what is written while the first aggregate is made: itself, and rows of a halo on their way.
 */
static int64_t written_at_once(const struct model *model, const struct value *aggregate) {
  const struct propagation *p = &model->propagation;
  const int64_t panel = tensor_stride(p->exchange.tail.dtype, panel_width(model)) *
                        dtype_bytes(p->exchange.tail.dtype);
  return aggregate->rows * aggregate->stride * dtype_bytes(aggregate->dtype) +
         (p->exchange.packed.rows + p->exchange.tail.rows) * panel;
}

/* Bytes of features that are given back after their aggregate is there, before the other buffers are written.
 */
static int64_t replaced_features(const struct model *model, int64_t buffers) {
  const struct step *once = hoisted(&model->program);
  if (!once || !model->features.borrowed || !model->features.once) return 0;
  const int64_t later = buffers - written_at_once(model, &model->program.value[once->out[0]]);
  return larger(0, smaller(tensor_bytes(model->features.dense), later));
}

int64_t model_bytes(const struct model *model) {
  return model->arena.used - replaced_features(model, model->arena.used) + model->workspace;
}

void model_estimate(const struct model *model, const struct run *run, struct estimate *host,
                    struct estimate *device) {
  int64_t count = model->parameters.count, parameters = 4 * count * dtype_bytes(run->kernels->real);
  int64_t copies = 5 * count * (int64_t)sizeof(double); /* for checkpoints and of the best, see state.h */
  estimate_add(device, "parameters and optimiser", parameters);
  estimate_add(host, "parameters and optimiser", copies);
  int64_t buffers = model->arena.used - parameters;
  estimate_add(device, "activations and buffers", buffers - replaced_features(model, buffers));
  estimate_add(device, "scratch of kernels", model->workspace);
  estimate_add(host, "what waits for the backward", model->program.saved.waiting);
  if (model->features.sparse) estimate_add(host, "transposed features", features_bytes(&model->features));
}

/* y = P x, of the features themselves, or of a panel, which is scaled there. */
static int aggregate_panel(struct model *model, struct run *run, struct tensor x, struct tensor y) {
  struct propagation *p = &model->propagation;
  struct epilogue scale = {.z = x, .scale = p->forward.col_scale, .y = x};
  const struct propagate_ends ends = {.message = scale.scale && has_panels(model)};
  if (ends.message) TRY(op_epilogue(run->kernels, &scale));
  return propagate(p, run, &p->forward, x, &ends, y);
}

/* Columns [done, done + cols) through all that is hoisted. */
static int aggregate_columns(struct model *model, struct run *run, int64_t done, int64_t cols) {
  const struct program *p = &model->program;
  struct tensor x, panel = program_tensor(p, p->panel, TRAINING);
  TRY(features_panel(&model->features, run, done, cols, panel, &x));
  for (int s = 0; s < p->loss; s++) {
    const int out = p->step[s].out[0];
    if (!p->step[s].aggregation.once) continue;
    struct tensor y = program_tensor(p, out, TRAINING);
    y = program_passes_by(p, out) ? tensor_narrowed(y, cols) : tensor_columns(y, done, cols);
    TRY(aggregate_panel(model, run, x, y));
    x = y;
  }
  return device_synchronize(run->device, STREAM_COMPUTE);
}

/* P X, or P P X and so on, once and for all; X itself is not needed any more. */
static int aggregate_once(struct model *model, struct run *run) {
  const struct step *once = hoisted(&model->program);
  if (!once) return OK;
  int64_t each = panel_width(model), in = program_tensor(&model->program, once->out[0], TRAINING).cols;
  for (int64_t done = 0; done < in; done += each)
    TRY(aggregate_columns(model, run, done, smaller(in - done, each)));
  features_release(&model->features, run);
  return OK;
}

static int take_memory(struct model *model, struct run *run) {
  void *workspace = NULL;
  TRY(arena_allocate(&model->arena, "parameters, activations and buffers"));
  if (model->program.saved.waiting > 0)
    TRY(device_host_alloc(run->device, model->program.saved.waiting, (void **)&model->program.saved.host,
                          "what waits for the backward"));
  return kernels_workspace(run->kernels, model->workspace, &workspace);
}

int model_start(struct model *model, struct run *run) {
  TRY(comm_agree(run->comm, PROFILE_HOST("memory", take_memory(model, run))));
  TRY(plan(model, run));
  TRY(device_upload(run->device, STREAM_COMPUTE, model->id, run->shard->global_id,
                    run->shard->own * (int64_t)sizeof *model->id));
  if (model->uses_graph) TRY(propagation_start(&model->propagation, run, model->arena.base));
  TRY(readout_start(&model->readout, run));
  TRY(features_start(&model->features, run, model->id));
  TRY(aggregate_once(model, run));
  return constants_to_host(&model->program, run);
}

static int reset_statistics(struct run *run, const struct norm_state *norm) {
  FREED double *start = NULL;
  if (norm->statistics == 0) return OK;
  TRY(memory_arrays("running statistics", ROOM(&start, norm->statistics)));
  for (int64_t j = 0; j < norm->cols; j++) start[norm->cols + j] = 1; /* variances; means are 0 */
  return run_upload(run, run_reals(run, norm->running, norm->statistics), start);
}

int model_reset(struct model *model, struct run *run) {
  TRY(parameters_reset(&model->parameters, run));
  model->features.dropout = dropout_of(run->config->model.dropout_input,
                                       run_key(run, 0, RANDOM_DROPOUT_INPUT), model->id);
  for (int i = 0; i < model->program.norms; i++) TRY(reset_statistics(run, &model->program.norm[i]));
  return OK;
}

void model_free(struct model *model, struct run *run) {
  features_free(&model->features, run);
  propagation_free(&model->propagation, run);
  readout_free(&model->readout, run);
  parameters_free(&model->parameters);
  device_host_release(run->device, model->program.saved.host);
  arena_free(&model->arena);
  program_free(&model->program);
  *model = (struct model){0};
}
