/* hoist: an aggregate of features that never change is computed once, before the first epoch. Invariant: a
 * hoisted step reads no parameter and nothing that a step of the epoch writes. */
#include "models/program/program.h"

void hoist_steps(struct program *p, const struct run *run) {
  for (int s = 0; s < p->steps && program_input_is_constant(run); s++) {
    struct step *step = &p->step[s];
    if (step->kind != STEP_AGGREGATE || step->in[0] != VALUE_FEATURES || step->parameter[0] != NONE) continue;
    step->aggregation.once = 1;
    step->exchange = 0;
  }
}
