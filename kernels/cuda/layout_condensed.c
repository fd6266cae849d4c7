/* Whether a matrix has windows that are worth condensing on this GPU. */
#include "kernels/choose_models.h"
#include "kernels/cuda/condensed.h"

enum { SAMPLE = 1 << 20 /* about so many entries are looked at */ };

int cuda_condensed_wanted(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                          int64_t least, struct window_rule *rule, int *wanted) {
  struct choose_case c = {
      .model = choose_model_of(k->device->name), .precision = k->precision, .width = plan->width};
  struct condensing condensing;
  *wanted = 0;
  if (m->nnz == 0 || !cuda_has_condensed()) return OK;
  *rule = window_rule_all;
  *wanted = plan->tiers == LAYOUT_WINDOWS;
  if (plan->tiers != LAYOUT_AUTO) return OK;
  *rule = choose_window_rule(&c, m->cols, least <= TILE_CELLS);
  if ((double)m->nnz * rule->arc <= rule->once) return OK;
  TRY(condensed_count(m, least, 1 + m->nnz / SAMPLE, k->device->threads, &condensing));
  *wanted = choose_windows(rule, &condensing).windows > 0;
  return OK;
}
