/* readout: what the nodes of a graph become, in the row of its first node, and its gradient.
 *
 * READOUT           in: x; out: y, who won where it is the largest value
 * READOUT_BACKWARD  in: dy, who won, what dx has from elsewhere; out: dx */
#include "models/core/readout.h"

#include "models/program/rules/rules.h"
#include "runtime/base/base.h"

int run_readout(const struct pass *pass, const struct step *step) {
  return readout_forward(pass->readout, pass->run, pass->id,
                         rule_input(pass, step->in[0], rule_rows_of(pass, step)->count),
                         tensor_out(pass, step, 0), tensor_out(pass, step, 1));
}

int run_readout_backward(const struct pass *pass, const struct step *step) {
  return readout_backward(pass->readout, pass->run, pass->id, tensor_in(pass, step, 0),
                          tensor_in(pass, step, 1), tensor_in(pass, step, 2), tensor_out(pass, step, 0));
}

int64_t rule_readout_workspace(const struct program *p, const struct readout *readout,
                               const struct run *run) {
  int64_t most = 0;
  for (int s = 0; s < p->loss; s++)
    if (p->step[s].kind == STEP_READOUT)
      most = larger(most, readout_workspace(readout, run, p->value[p->step[s].out[0]].cols));
  return most;
}
