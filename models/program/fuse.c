/* fuse: which steps run along with another one, their head, in one call of an op. Whether one kernel then
 * does the work of both is for the device's table to say, which otherwise does one after the other: the
 * results are the same. Invariant: a step that runs along reads nothing that is written between its head and
 * its own place in the list. */
#include "models/program/program.h"

/* The step that writes a value by itself, if it is of that kind; NONE otherwise. */
static int writer_of(const struct program *p, int value, enum step_kind kind) {
  const int writer = value == NONE ? NONE : p->value[value].writer;
  return writer != NONE && p->step[writer].kind == kind ? writer : NONE;
}

/* The only reader of a value. */
static int reader_of(const struct program *p, int value, enum step_kind kind) {
  int reader = NONE;
  const int readers = value == NONE ? 0 : program_readers(p, value, &reader, NULL);
  return readers == 1 && p->step[reader].kind == kind ? reader : NONE;
}

/* Not where they work on different rows, or one by chunks alone. */
static void join(struct program *p, int head, enum fusion how, int step) {
  if (p->step[head].rows[TRAINING].level != p->step[step].rows[TRAINING].level) return;
  if (p->step[head].rows[EVALUATION].level != p->step[step].rows[EVALUATION].level) return;
  if (program_is_chunked(p, head) != program_is_chunked(p, step)) return;
  p->step[head].along[how] = step;
  p->step[step].head = head;
}

static int is_of_features(const struct step *step) {
  return step->in[0] == VALUE_FEATURES || step->in[1] == VALUE_FEATURES;
}

/* A LINEAR of one product that op_gemm makes: not of features, which may be sparse, nor by a map. */
static int is_one_product(const struct step *step) {
  return step->kind == STEP_LINEAR && step->in[1] == NONE && step->in[2] == NONE && !is_of_features(step);
}

/* The epilogue of a layer goes with what writes z; a batch norm's wants moments of z first. */
static void fuse_epilogue(struct program *p, int s) {
  const struct step *step = &p->step[s];
  const int writer = p->value[step->in[0]].writer;
  const enum step_kind kind = p->step[writer].kind;
  if (step->epilogue.norm == NORM_BATCH) {
    if (is_one_product(&p->step[writer])) p->step[writer].along[FUSE_MOMENTS] = s;
    return;
  }
  if (kind == STEP_LINEAR || kind == STEP_AGGREGATE || step_attends(kind)) join(p, writer, FUSE_EPILOGUE, s);
}

/* The layer above begins with a product of what this one ends with, for an aggregation. */
static void chain_linear(struct program *p, int s) {
  struct step *chained = &p->step[s];
  const int epilogue = writer_of(p, chained->in[0], STEP_EPILOGUE),
            head = epilogue == NONE ? NONE : p->step[epilogue].head;
  if (!is_one_product(chained) || chained->again || chained->of != NONE || head == NONE || s != epilogue + 1)
    return;
  if (is_one_product(&p->step[head]) && reader_of(p, chained->out[0], STEP_AGGREGATE) != NONE)
    join(p, head, FUSE_LINEAR, s);
}

/* Backward: the epilogue of the layer below goes with what completes the gradient of its output. */
static void fuse_epilogue_backward(struct program *p, int s) {
  const int dy = p->step[s].in[0], writer = p->value[dy].writer;
  struct step *step = &p->step[writer];
  if (step->kind == STEP_DGRAD || (step->kind == STEP_AGGREGATE && step->in[2] == NONE))
    join(p, program_head(p, writer), FUSE_EPILOGUE, s);
}

/* Two products whose sum is a gradient: the first waits for the second. */
static void fuse_dgrad(struct program *p, int s) {
  const int first = writer_of(p, p->step[s].in[1], STEP_DGRAD);
  if (first != NONE && p->step[first].along[FUSE_DGRAD] == NONE) join(p, s, FUSE_DGRAD, first);
}

/* The gradient of a weight goes with that of the input: both read dy, and the epilogue of the layer below
 * reads H.
 */
static void fuse_wgrad(struct program *p, int s) {
  const struct step *wgrad = &p->step[s];
  for (int i = 0; i < p->steps; i++) {
    const struct step *dgrad = &p->step[i];
    if (dgrad->kind != STEP_DGRAD || dgrad->of != wgrad->of || dgrad->in[0] != wgrad->in[1]) continue;
    if (dgrad->parameter[0] != wgrad->parameter[0] || dgrad->in[2] != NONE) continue;
    const int head = program_head(p, i), epilogue = p->step[head].along[FUSE_EPILOGUE];
    if (epilogue == NONE || p->step[p->step[epilogue].of].out[0] != wgrad->in[0]) return;
    join(p, head, head == i ? FUSE_WGRAD : FUSE_SECOND_WGRAD, s);
    return;
  }
}

/* What the first layer's epilogue leaves is read by the gradient of its weight alone. */
static void chain_wgrad(struct program *p, int s) {
  const struct step *step = &p->step[s];
  const int wgrad = reader_of(p, step->out[0], STEP_WGRAD);
  if (wgrad == NONE || p->step[step->of].epilogue.norm == NORM_BATCH ||
      p->step[wgrad].in[0] == VALUE_FEATURES)
    return;
  if (p->step[wgrad].head == NONE) join(p, s, FUSE_CHAINED_WGRAD, wgrad);
}

/* Rows that only P reads are multiplied by its column scale where they are made. */
static void scale_message(struct program *p, const struct run *run, int s) {
  struct step *aggregate = &p->step[s];
  const int x = aggregate->in[0], writer = p->value[x].writer;
  if (writer == NONE || reader_of(p, x, STEP_AGGREGATE) != s) return;
  struct step *step = &p->step[writer];
  const int sparse = is_of_features(step) && run->shard->sparse;
  const int forward = step->kind == STEP_LINEAR && !sparse && aggregate->parameter[0] == NONE;
  const int backward = step->kind == STEP_EPILOGUE_BACKWARD && p->step[step->of].epilogue.norm != NORM_BATCH;
  if (!forward && !backward) return;
  step->scale = s;
  aggregate->aggregation.message = 1;
}

/* Where nothing but a bias lies between the logits and the last sum, the loss writes its gradient times the
 * scale: it is the message. The gradient of the bias divides it by the scale, which is never 0 (enum
 * adjacency_norm). */
static void scale_loss(struct program *p) {
  const int s = p->loss + 1;
  if (s >= p->steps || p->step[s].kind != STEP_EPILOGUE_BACKWARD) return;
  const struct step *forward = &p->step[p->step[s].of];
  const struct layer_epilogue *epilogue = &forward->epilogue;
  if (forward->in[1] != NONE || epilogue->norm != NORM_NONE) return;
  if (epilogue->activation != ACTIVATION_NONE || epilogue->dropout != 0) return;
  p->step[p->loss].scale = p->step[s].scale;
}

/* A dropout behind an aggregation, as the gradient of a dropout before one is. */
static void fuse_dropout(struct program *p, int s) {
  const int writer = writer_of(p, p->step[s].in[0], STEP_AGGREGATE);
  if (writer != NONE && p->value[p->step[s].out[0]].place == p->step[s].in[0])
    join(p, writer, FUSE_EPILOGUE, s);
}

/* A batch norm's gradient may be made of the product that left dn's sums, made again: what that reads stays.
 */
static void keep_for_norm(struct program *p, int s) {
  struct step *norm = &p->step[s];
  const int epilogue = writer_of(p, norm->in[0], STEP_EPILOGUE_BACKWARD), head = p->step[epilogue].head;
  if (head == NONE || p->step[head].kind != STEP_DGRAD) return;
  norm->in[2] = p->step[head].in[0];
  norm->along[FUSE_DGRAD] = head;
  if (p->step[head].along[FUSE_DGRAD] != NONE) norm->in[3] = p->step[p->step[head].along[FUSE_DGRAD]].in[0];
}

/* The maps of all layers at once. */
static void fuse_maps(struct program *p) {
  int head = NONE;
  for (int s = 0; s < p->loss; s++) {
    if (p->step[s].kind != STEP_MAP) continue;
    if (head == NONE)
      head = s;
    else
      p->step[s].head = head;
  }
}

void fuse_steps(struct program *p, const struct run *run) {
  typedef void fuse(struct program *, int);
  static const struct {
    enum step_kind kind;
    fuse *fuse;
  } fusions[] = {
      {STEP_EPILOGUE, fuse_epilogue},
      {STEP_LINEAR, chain_linear},
      {STEP_DGRAD, fuse_dgrad},
      {STEP_EPILOGUE_BACKWARD, fuse_epilogue_backward},
      {STEP_DROPOUT, fuse_dropout},
      {STEP_WGRAD, fuse_wgrad},
      {STEP_EPILOGUE_BACKWARD, chain_wgrad},
      {STEP_NORM_BACKWARD, keep_for_norm},
  };
  for (size_t i = 0; i < sizeof fusions / sizeof fusions[0]; i++)
    for (int s = 0; s < p->steps; s++)
      if (p->step[s].kind == fusions[i].kind) fusions[i].fuse(p, s);
  for (int s = 0; s < p->steps; s++)
    if (p->step[s].kind == STEP_AGGREGATE) scale_message(p, run, s);
  scale_loss(p);
  fuse_maps(p);
}
