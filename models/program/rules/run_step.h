/* run_step: the rule of each kind of step. */
#ifndef MODELS_PROGRAM_RULES_RUN_STEP_H
#define MODELS_PROGRAM_RULES_RUN_STEP_H

#include "models/program/rules/rules.h"

/* Runs step s by the rule of its kind, along with what is fused with it; a step that runs along with a head
 * is left to that. */
int run_step(const struct pass *pass, int s);

#endif
