#include "kernels/cost/cost_csr.h"

#include <math.h>

double cost_csr_seconds(const struct cost_case *c, const struct density *density) {
  const struct choice gather = cost_divided(c, density, TILE_CELLS + 1);
  const double warps = ceil((double)c->width / (CSR_COLS * cost_csr_groups(c->width)));
  const double entries = (double)density_arcs(density) * (c->weighted ? 8 : 4),
               offsets = (double)density->rows * (double)sizeof(int64_t);
  return gather.seconds + fmax(warps - 1, 0) * (entries + offsets) * c->model->pass.byte * 1e-12;
}
