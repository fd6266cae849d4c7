/* recompute: what lies inside of the lowest layers, as many as train.recompute says, is not kept for the
 * backward but computed again from the output of the layer below, shortly before it is read (T. Chen et al.,
 * Training Deep Nets with Sublinear Memory Cost, 2016). Outputs of layers and statistics of norms stay.
 * Invariant: a step that is done again reads the same values and the same streams of dropout as the first
 * time. */
#include "models/program/program.h"
#include "runtime/base/base.h"

struct recomputation {
  struct program *p;
  struct step *backward; /* as it was */
  int behind;
  int *again; /* [values of the forward] the value that takes its place in the backward, NONE: it stays */
};

static int is_computed_again(const struct program *p, int value) {
  const int writer = value == NONE ? NONE : p->value[value].writer;
  const struct step *step = writer == NONE || writer > p->loss ? NULL : &p->step[writer];
  if (!step || step->aggregation.once || step->layer >= p->saved.repeated) return 0;
  return step->kind == STEP_LINEAR || step->kind == STEP_AGGREGATE || step_attends(step->kind);
}

static int copy_value(struct recomputation *r, int value) {
  struct value copy = r->p->value[value];
  if (copy.place != NONE && r->again[copy.place] != NONE) copy.place = r->again[copy.place];
  return program_value(r->p, copy);
}

/* A view has its base copied first. */
static void take_place(struct recomputation *r, int value) {
  const int base = r->p->value[value].place;
  if (r->again[value] != NONE) return;
  if (base != NONE && r->p->value[base].writer == NONE && r->again[base] == NONE)
    r->again[base] = copy_value(r, base);
  r->again[value] = copy_value(r, value);
}

static void add_again(struct recomputation *r, struct step copy, int first) {
  copy.of = first;
  copy.again = 1;
  program_step(r->p, copy);
}

/* An epilogue that runs along with what writes z does so again, and writes what it wrote: the kernel is the
 * same, and so are the bits of z. */
static void repeat_epilogue(struct recomputation *r, int z) {
  for (int s = 0; s < r->p->loss; s++) {
    struct step copy = r->p->step[s];
    if (copy.kind != STEP_EPILOGUE || copy.in[0] != z || copy.epilogue.norm == NORM_BATCH) continue;
    copy.in[0] = r->again[z];
    add_again(r, copy, s);
  }
}

static void compute_again(struct recomputation *r, int value) {
  const int writer = r->p->value[value].writer;
  if (r->again[value] != NONE) return;
  for (int i = 0; i < STEP_INS; i++) {
    const int in = r->p->step[writer].in[i];
    if (is_computed_again(r->p, in)) compute_again(r, in);
  }
  struct step copy = r->p->step[writer];
  for (int i = 0; i < STEP_OUTS; i++) {
    if (copy.out[i] == NONE) continue;
    take_place(r, copy.out[i]);
    copy.out[i] = r->again[copy.out[i]];
  }
  for (int i = 0; i < STEP_INS; i++)
    if (copy.in[i] != NONE && r->again[copy.in[i]] != NONE) copy.in[i] = r->again[copy.in[i]];
  add_again(r, copy, writer);
  repeat_epilogue(r, value);
}

/* What the backward of a layer will read, before that of the layer above, which ends with the epilogue of
 * this one. */
static void prepare_layer(struct recomputation *r, int layer) {
  for (int s = 0; s < r->behind; s++) {
    const struct step *step = &r->backward[s];
    for (int i = 0; i < STEP_INS && step->layer == layer; i++)
      if (is_computed_again(r->p, step->in[i])) compute_again(r, step->in[i]);
  }
}

/* A step of the backward reads what is there again. */
static void add_backward(struct recomputation *r, struct step step) {
  for (int i = 0; i < STEP_INS; i++)
    if (step.in[i] != NONE && r->again[step.in[i]] != NONE) step.in[i] = r->again[step.in[i]];
  for (int i = 0; i < STEP_OUTS; i++)
    if (step.out[i] != NONE) r->p->value[step.out[i]].writer = NONE;
  program_step(r->p, step);
}

int recompute_most(const struct program *p) {
  return p->layers > 2 ? p->layers - 2 : 0;
}

int recompute_steps(struct program *p) {
  FREED struct step *backward = NULL;
  FREED int *again = NULL;
  const int behind = p->steps - p->loss - 1, values = 4 * (p->values + 1); /* and copies of them */
  int layer = p->layers;
  if (p->saved.repeated == 0) return OK;
  TRY(memory_arrays("the steps of a model", ROOM(&backward, behind + 1), ROOM(&again, values)));
  for (int v = 0; v < values; v++) again[v] = NONE;
  for (int s = 0; s < behind; s++) backward[s] = p->step[p->loss + 1 + s];
  struct recomputation r = {p, backward, behind, again};
  p->steps = p->loss + 1;
  for (int s = 0; s < behind; s++) {
    const int of = backward[s].layer;
    if (of < layer) prepare_layer(&r, of - 1);
    if (of < layer) layer = of;
    add_backward(&r, backward[s]);
  }
  return p->code;
}
