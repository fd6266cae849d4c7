/* run_step: the rule of each kind of step. */
#include "models/program/rules/rules.h"
#include "runtime/base/error.h"
#include "runtime/profile/profile.h"

int run_step(const struct pass *pass, int s) {
  static rule *const rules[STEP_KINDS] = {
      [STEP_LINEAR] = run_linear,
      [STEP_DGRAD] = run_dgrad,
      [STEP_WGRAD] = run_wgrad,
      [STEP_MAP] = run_map,
      [STEP_AGGREGATE] = run_aggregate,
      [STEP_LOOP_GRAD] = run_loop_grad,
      [STEP_HYPEREDGE_GRAD] = run_hyperedge_grad,
      [STEP_ATTEND] = run_attend,
      [STEP_ATTEND_BACKWARD] = run_attend_backward,
      [STEP_DYNAMIC] = run_dynamic,
      [STEP_DYNAMIC_BACKWARD] = run_dynamic_backward,
      [STEP_COSINE] = run_cosine,
      [STEP_COSINE_BACKWARD] = run_cosine_backward,
      [STEP_REDUCE] = run_reduce,
      [STEP_REDUCE_BACKWARD] = run_reduce_backward,
      [STEP_READOUT] = run_readout,
      [STEP_READOUT_BACKWARD] = run_readout_backward,
      [STEP_ADD] = run_add,
      [STEP_OFFLOAD] = run_offload,
      [STEP_FETCH] = run_fetch,
      [STEP_ZERO] = run_zero,
      [STEP_DROPOUT] = run_dropout,
      [STEP_EPILOGUE] = run_epilogue,
      [STEP_EPILOGUE_BACKWARD] = run_epilogue_backward,
      [STEP_NORM_BACKWARD] = run_norm_backward,
  };
  const struct step *step = &pass->program->step[s];
  if (step->head != NONE) return OK;
  if (step->again) return PROFILE("recompute", rules[step->kind](pass, step));
  TRY(rules[step->kind](pass, step));
  return rule_keep_signs(pass, step);
}
