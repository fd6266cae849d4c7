/* Whether a matrix has windows that are worth condensing on this GPU, and the lists that their kernel walks.
 */
#include "kernels/cost/cost_models.h"
#include "kernels/cuda/layout/condensed.h"

enum { SAMPLE = 1 << 20 /* about so many entries are looked at */ };

/* Of about SAMPLE entries, where the matrix is. */
static int count(struct kernels *k, const struct csr *m, const struct tile_lists *tiles,
                 struct condensing *condensing) {
  const int64_t least = tiles->choice.tile_arcs_least, every = 1 + m->nnz / SAMPLE;
  if (tiles->build.col) return cuda_condensed_count(k, &tiles->build, least, every, condensing);
  return condensed_count(m, least, every, k->device->threads, condensing);
}

int cuda_condensed_wanted(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                          const struct tile_lists *tiles, struct window_rule *rule, int *wanted) {
  struct cost_case c = {.model = cost_model_of(k->device->name),
                        .precision = k->precision,
                        .width = plan->width,
                        .weighted = m->weight != NULL};
  struct condensing condensing;
  *wanted = 0;
  if (m->nnz == 0 || !cuda_has_condensed()) return OK;
  *rule = window_rule_all;
  *wanted = plan->tiers == LAYOUT_WINDOWS;
  if (plan->tiers != LAYOUT_AUTO) return OK;
  *rule = cost_window_rule(&c, m->cols, tiles->choice.tile_arcs_least <= TILE_CELLS);
  rule->margin = cost_window_margin(&c, m->rows, m->nnz);
  if ((double)m->nnz * rule->arc <= rule->once) return OK;
  TRY(count(k, m, tiles, &condensing));
  *wanted = cost_windows(rule, &condensing).windows > 0;
  return OK;
}

/* What is on the device for the tiles' sake serves here too. */
static int open_build(struct kernels *k, const struct csr *left, struct tile_lists *tiles,
                      struct condensed_build *build) {
  struct tiles_build *there = &tiles->build;
  const int64_t *start = there->start;
  const int32_t *col = there->col;
  const float *value = there->value;
  if (col && tiles->pieces.count > 0) {
    TRY(cuda_tiles_build_rest(k, there, tiles->choice.tile_arcs_least, left->nnz));
    start = there->rest_start;
    col = there->rest_col;
    value = there->rest_value;
  }
  return cuda_condensed_build_open(k, left, col ? start : NULL, col, value, CONDENSED_BATCH, build);
}

int cuda_condensed_cut(struct kernels *k, const struct csr *left, struct tile_lists *tiles,
                       const struct window_rule *rule, struct condensed_lists *lists, struct csr *rest) {
  struct condensed *condensed = &lists->condensed;
  TRY(open_build(k, left, tiles, &lists->build));
  TRY(cuda_condensed_build_measure(k, &lists->build, rule, condensed, rest));
  return window_pieces_cut(condensed->start, condensed->windows, CONDENSED_PIECE, 0, &lists->pieces);
}

void cuda_condensed_cut_free(struct kernels *k, struct condensed_lists *lists, struct csr *rest) {
  cuda_condensed_build_close(k, &lists->build);
  condensed_free(&lists->condensed);
  window_pieces_free(&lists->pieces);
  if (rest->start) tiles_rest_free(rest);
}
