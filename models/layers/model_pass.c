#include "models/layers/model_pass.h"

#include <math.h>

#include "kernels/ops/elementwise.h"
#include "models/program/rules/rules.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

static struct pass pass_of(struct model *model, struct run *run, int training) {
  return (struct pass){.run = run,
                       .program = &model->program,
                       .parameters = &model->parameters,
                       .features = &model->features,
                       .propagation = &model->propagation,
                       .readout = &model->readout,
                       .id = model->id,
                       .sums = model->sums,
                       .loss = training && model->has_loss ? &model->loss : NULL,
                       .training = training};
}

static int prepare_features(struct model *model, struct run *run, int training) {
  const int64_t rows = model->program.value[VALUE_FEATURES].held[training ? TRAINING : EVALUATION];
  return model->features.once ? OK : features_forward(&model->features, run, training, rows);
}

static int run_steps(const struct pass *pass, int from, int behind) {
  for (int s = from; s < behind; s++) TRY(run_step(pass, s));
  return OK;
}

/* Steps before those that run by chunks, and the first one behind them. */
static int before_chunks(const struct program *p) {
  return p->chunk.rows > 0 ? p->chunk.first : p->loss;
}

static int behind_chunks(const struct program *p) {
  return p->chunk.rows > 0 ? p->chunk.behind : p->loss + 1;
}

/* Rows whose logits a pass computes. */
static int64_t rows_of(const struct pass *pass) {
  return smaller(rule_rows_of(pass, &pass->program->step[pass->program->loss])->count, pass->run->shard->own);
}

/* A pass without chunks is one of all rows. */
static int chunks_of(const struct pass *pass) {
  const int64_t each = pass->program->chunk.rows, rows = rows_of(pass);
  return each == 0 || rows == 0 ? 1 : (int)((rows + each - 1) / each);
}

/* The pass over the rows of a chunk. */
static struct pass chunk_of(const struct pass *pass, int chunk) {
  const int64_t each = pass->program->chunk.rows, first = chunk * each;
  struct pass of = *pass;
  if (each == 0) return of;
  of.chunk.first = first;
  of.chunk.rows = smaller(each, rows_of(pass) - first);
  of.id += first;
  return of;
}

static struct logits logits_of(const struct pass *pass, int chunk) {
  const struct program *p = pass->program;
  const struct step *loss = &p->step[p->loss];
  struct logits of = {
      .logits = rule_rows(pass, p->logits, rule_tensor(pass, p->logits), rule_rows_of(pass, loss)->count),
      .grad_scale = rule_scale(pass, loss),
      .first = pass->chunk.first,
      .chunk = chunk};
  if (pass->training) of.grad = tensor_out(pass, loss, 0);
  return of;
}

int model_forward(struct model *model, struct run *run, int training, logits_use *use, void *context) {
  const struct program *p = &model->program;
  const struct pass pass = pass_of(model, run, training);
  TRY(prepare_features(model, run, training));
  TRY(run_steps(&pass, 0, before_chunks(p)));
  for (int i = 0; i < chunks_of(&pass); i++) {
    const struct pass chunk = chunk_of(&pass, i);
    const struct logits logits = logits_of(&chunk, i);
    TRY(run_steps(&chunk, before_chunks(p), p->loss));
    if (use) TRY(use(context, run, &logits));
  }
  return OK;
}

/* Each chunk leaves its own gradients, which are summed beside, in the order of the chunks; the last one's
 * place takes the sum. */
static int sum_gradients(struct model *model, struct run *run, int chunk, int chunks) {
  const enum dtype real = run->kernels->real;
  const int64_t bytes = dtype_bytes(real), cols = ROW_BYTES / bytes, rows = model->chunk_count / cols;
  void *gradients = (char *)model->parameters.dw + model->chunk_first * bytes;
  const struct tensor own = tensor_of(gradients, real, rows, cols),
                      sums = tensor_of(model->chunk_sums, real, rows, cols);
  struct add add = {.x = own, .factor = 1, .accumulate = chunk > 0, .y = sums};
  if (chunks == 1 || rows == 0) return OK;
  if (chunk == chunks - 1) add = (struct add){.x = sums, .factor = 1, .accumulate = 1, .y = own};
  return op_add(run->kernels, &add);
}

static int run_chunk(struct model *model, const struct pass *pass, int chunk, logits_use *loss,
                     void *context) {
  const struct program *p = pass->program;
  const struct pass of = chunk_of(pass, chunk);
  const struct logits logits = logits_of(&of, chunk);
  TRY(PROFILE("forward", run_steps(&of, before_chunks(p), p->loss)));
  TRY(PROFILE("loss", loss(context, pass->run, &logits)));
  TRY(PROFILE("backward", run_steps(&of, p->loss + 1, behind_chunks(p))));
  return sum_gradients(model, pass->run, chunk, chunks_of(pass));
}

static int begin_forward(struct model *model, const struct pass *pass) {
  TRY(prepare_features(model, pass->run, pass->training));
  return run_steps(pass, 0, before_chunks(pass->program));
}

int model_gradients(struct model *model, struct run *run, logits_use *loss, void *context) {
  const struct program *p = &model->program;
  const struct pass pass = pass_of(model, run, 1);
  TRY(PROFILE("forward", begin_forward(model, &pass)));
  for (int i = 0; i < chunks_of(&pass); i++) TRY(run_chunk(model, &pass, i, loss, context));
  return PROFILE("backward", run_steps(&pass, behind_chunks(p), p->steps));
}

int64_t model_chunk_rows(const struct model *model, const struct run *run) {
  return model->program.chunk.rows > 0 ? model->program.chunk.rows : run->shard->own;
}

struct tensor model_logits(const struct model *model) {
  const struct program *p = &model->program;
  const struct tensor logits = program_tensor(p, p->logits, EVALUATION);
  return tensor_rows(logits, 0, smaller(logits.rows, p->step[p->loss].rows[EVALUATION].count));
}

struct logits model_trained_logits(struct model *model, struct run *run) {
  const struct pass pass = pass_of(model, run, 1);
  return logits_of(&pass, 0);
}

int model_takes_loss(const struct model *model) {
  const struct program *p = &model->program;
  const int head = p->step[p->value[p->logits].writer].head;
  return head != NONE && p->step[head].kind == STEP_AGGREGATE && propagation_takes_loss(&model->propagation);
}

struct tensor model_embedding(const struct model *model) {
  return program_tensor(&model->program, model->program.embedding, EVALUATION);
}

static int has_nonfinite(struct run *run, struct tensor t, int *found) {
  FREED double *value = NULL;
  const int64_t each = 1024;
  TRY(memory_arrays("rows to look at", ROOM(&value, each * t.cols)));
  for (int64_t first = 0; first < t.rows && !*found; first += each) {
    struct tensor piece = tensor_rows(t, first, smaller(t.rows - first, each));
    TRY(run_download(run, value, piece));
    for (int64_t i = 0; i < piece.rows * piece.cols; i++) *found |= !isfinite(value[i]);
  }
  return OK;
}

/* Runs steps and lowers *layer to the first one of them whose output is not finite. */
static int search_steps(const struct pass *pass, int from, int behind, int *layer) {
  for (int s = from; s < behind; s++) {
    const struct step *step = &pass->program->step[s];
    int found = 0;
    TRY(run_step(pass, s));
    if (step->kind != STEP_EPILOGUE || (*layer >= 0 && *layer <= step->layer)) continue;
    TRY(has_nonfinite(pass->run, tensor_out(pass, step, 0), &found));
    if (found) *layer = step->layer;
  }
  return OK;
}

/* Layer by layer, for a later one may come to the place of an output that is read no more. */
int model_find_nonfinite(struct model *model, struct run *run, int training, int *layer) {
  const struct program *p = &model->program;
  const struct pass pass = pass_of(model, run, training);
  *layer = -1;
  TRY(prepare_features(model, run, training));
  TRY(search_steps(&pass, 0, before_chunks(p), layer));
  for (int i = 0; i < chunks_of(&pass); i++) {
    const struct pass chunk = chunk_of(&pass, i);
    TRY(search_steps(&chunk, before_chunks(p), p->loss, layer));
  }
  return training ? constants_from_host(p, run) : OK;
}

int model_find_nonfinite_gradient(struct model *model, struct run *run, int *parameter) {
  int found = 0;
  *parameter = model->parameters.length;
  while (!found && --*parameter >= 0)
    TRY(has_nonfinite(run, parameter_gradient(&model->parameters, run, *parameter), &found));
  return OK;
}
