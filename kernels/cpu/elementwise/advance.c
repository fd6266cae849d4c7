/* The scalars of the next epoch. */
#include "kernels/cpu/common/cpu.h"
#include "runtime/base/error.h"

int REAL(cpu_advance)(struct kernels *k, const double *rate, int64_t rates) {
  struct scalars *scalars = k->scalars;
  if (scalars->frozen) return OK;
  scalars->epoch++;
  scalars->step++;
  scalars->lr = rate[scalars->epoch % rates];
  return OK;
}
