/* hoist: an aggregate of features that never change, and aggregates of that, are computed once, before the
 * first epoch. Invariants: a hoisted step reads no parameter and nothing that a step of the epoch writes;
 * what one hoisted step leaves for another is read by no step of the epoch. */
#include "models/program/program.h"

/* The features, or what was hoisted and nothing else reads. */
static int may_be_read_once(const struct program *p, int value) {
  if (value == VALUE_FEATURES) return 1;
  return p->step[p->value[value].writer].aggregation.once && program_readers(p, value, NULL, NULL) == 1;
}

void hoist_steps(struct program *p, const struct run *run) {
  for (int s = 0; s < p->steps && program_input_is_constant(run); s++) {
    struct step *step = &p->step[s];
    if (step->kind != STEP_AGGREGATE || !program_is_of_features(p, step->out[0])) continue;
    if (!may_be_read_once(p, step->in[0])) continue;
    step->aggregation.once = 1;
    step->exchange = 0;
  }
}
