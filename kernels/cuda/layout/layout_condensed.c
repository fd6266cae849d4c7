/* Whether a matrix has windows that are worth condensing on this GPU, and the lists that their kernel walks.
 */
#include "kernels/cuda/layout/condensed.h"

enum { SAMPLE = 1 << 20 /* about so many entries are looked at */ };

/* What windows there are beside tiles of so many entries, of about SAMPLE entries, where the matrix is; and
 * which of them pay. */
static int weigh(struct kernels *k, const struct csr *m, struct tile_lists *tiles,
                 const struct choice *choice, struct window_rule *rule, struct window_choice *windows) {
  const int64_t least = choice->tile_arcs_least, every = 1 + m->nnz / SAMPLE;
  struct condensing condensing;
  *windows = (struct window_choice){0};
  *rule = cost_window_rule(&tiles->product, m->cols, choice);
  if (rule->all * rule->arc + rule->start <= rule->once) return OK;
  if (tiles->build.col)
    TRY(cuda_condensed_count(k, &tiles->build, least, every, &condensing));
  else
    TRY(condensed_count(m, least, every, k->device->threads, &condensing));
  *windows = cost_windows(rule, &condensing);
  return OK;
}

/* Beside the tiles that were chosen or, where that is faster, instead of them. */
static int choose_windows(struct kernels *k, const struct csr *m, struct tile_lists *tiles,
                          struct window_rule *rule, int *wanted) {
  struct window_choice beside, instead;
  struct window_rule other;
  TRY(weigh(k, m, tiles, &tiles->choice, rule, &beside));
  *wanted = beside.windows > 0;
  if (tiles->choice.tiles == 0) return OK;
  TRY(weigh(k, m, tiles, &tiles->gather, &other, &instead));
  if (!cost_windows_replace(&tiles->choice, &beside, &tiles->gather, &instead)) return OK;
  tiles->choice = tiles->gather;
  *rule = other;
  *wanted = 1;
  return OK;
}

int cuda_condensed_wanted(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                          struct tile_lists *tiles, struct window_rule *rule, int *wanted) {
  *wanted = 0;
  if (m->nnz == 0 || m->near > 0 || !cuda_has_condensed()) return OK;
  if (plan->scores.heads > 0 && (plan->tiers != LAYOUT_VECTORS || !plan->scores.cosines || k->dtype != BF16))
    return OK;
  *rule = plan->tiers == LAYOUT_SELECTOR ? cost_selector_rule(&tiles->product, m->cols, &tiles->choice)
                                         : window_rule_all;
  if (plan->tiers == LAYOUT_VECTORS) rule->vectors = plan->vector_threshold;
  *wanted = plan->tiers == LAYOUT_WINDOWS || plan->tiers == LAYOUT_SELECTOR || plan->tiers == LAYOUT_VECTORS;
  return plan->tiers == LAYOUT_AUTO ? choose_windows(k, m, tiles, rule, wanted) : OK;
}

/* What is on the device for the tiles' sake serves here too. */
static int open_build(struct kernels *k, const struct csr *left, struct tile_lists *tiles,
                      const struct window_rule *rule, struct condensed_build *build) {
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
  return cuda_condensed_build_open(k, left, col ? start : NULL, col, value, rule, CONDENSED_BATCH, build);
}

int cuda_condensed_cut(struct kernels *k, const struct csr *left, struct tile_lists *tiles,
                       const struct window_rule *rule, struct condensed_lists *lists, struct csr *rest) {
  struct condensed *condensed = &lists->condensed;
  TRY(open_build(k, left, tiles, rule, &lists->build));
  TRY(cuda_condensed_build_measure(k, &lists->build, condensed, rest));
  return window_pieces_cut(condensed->start, condensed->windows, CONDENSED_PIECE, 0, &lists->pieces);
}

void cuda_condensed_cut_free(struct kernels *k, struct condensed_lists *lists, struct csr *rest) {
  cuda_condensed_build_close(k, &lists->build);
  condensed_free(&lists->condensed);
  window_pieces_free(&lists->pieces);
  if (rest->start) tiles_rest_free(rest);
}
