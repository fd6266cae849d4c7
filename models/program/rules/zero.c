/* zero: rows of a gradient that nothing has computed, since it is 0 there. */
#include "models/program/rules/rules.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

/* A value that is zeroed lies by itself, its gaps included. */
static int clear_rows(const struct pass *pass, const struct step *step, int value) {
  struct tensor all = rule_tensor(pass, value);
  const int64_t first = smaller(step->rows[TRAINING].source, all.rows),
                end = smaller(step->rows[TRAINING].count, all.rows);
  const struct tensor left = tensor_rows(all, first, end - first);
  if (left.rows == 0) return OK;
  return PROFILE("zero", device_clear(pass->run->device, STREAM_COMPUTE, left.data, tensor_bytes(left)));
}

int run_zero(const struct pass *pass, const struct step *step) {
  return clear_rows(pass, step, step->in[0]);
}

int rule_clear_rows(const struct pass *pass, const struct step *step, int i) {
  return clear_rows(pass, step, step->out[i]);
}
