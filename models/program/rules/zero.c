/* zero: rows of a gradient that nothing has computed, since it is 0 there. */
#include "models/program/rules/rules.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

/* A value that is zeroed lies by itself, its gaps included. */
int run_zero(const struct pass *pass, const struct step *step) {
  struct tensor all = rule_tensor(pass, step->in[0]);
  const int64_t first = smaller(step->rows.source, all.rows), end = smaller(step->rows.count, all.rows);
  const struct tensor left = tensor_rows(all, first, end - first);
  if (left.rows == 0) return OK;
  return PROFILE("zero", device_clear(pass->run->device, STREAM_COMPUTE, left.data, tensor_bytes(left)));
}
