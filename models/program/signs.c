/* signs: the backward of a ReLU, and of the dropout behind it, reads of the output no more than whether it is
 * above 0. Where nothing else in the backward reads it, a bit a number is kept in place of it: where sums
 * over arcs come before the product of the layer above. Invariant: no step behind the loss touches an output
 * whose signs are kept. */
#include "models/program/program.h"
#include "runtime/base/base.h"

static int is_touched_by_others(const struct program *p, int place, int step) {
  for (int s = p->loss + 1; s < p->steps; s++)
    if (s != step && program_touches(p, s, place)) return 1;
  return 0;
}

/* Whether step s is the backward of a ReLU from its output alone. */
static int suffices(const struct program *p, int s) {
  const struct step *step = &p->step[s];
  if (step->kind != STEP_EPILOGUE_BACKWARD || step->in[1] == NONE) return 0;
  const struct step *forward = &p->step[step->of];
  const int y = forward->out[0], place = program_place(p, y);
  return step->in[1] == y && forward->epilogue.activation == ACTIVATION_RELU &&
         forward->epilogue.norm == NORM_NONE && forward->in[1] == NONE &&
         program_place(p, step->in[0]) != place && !is_touched_by_others(p, place, s);
}

static void keep(struct program *p, int s) {
  struct step *step = &p->step[s], *forward = &p->step[step->of];
  const struct value y = p->value[forward->out[0]];
  struct value signs = {.dtype = BITS, .rows = y.rows, .layer = y.layer, .place = NONE, .gradient = NONE};
  signs.cols = signs.stride = (y.cols + 7) / 8;
  snprintf(signs.name, sizeof signs.name, "signs %.32s", y.name);
  step->in[1] = program_value(p, signs);
  forward->out[1] = step->in[1];
  p->value[step->in[1]].writer = step->of;
}

void keep_signs(struct program *p) {
  for (int s = p->loss + 1; s < p->steps && p->code == OK; s++)
    if (suffices(p, s)) keep(p, s);
}
