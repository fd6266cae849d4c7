/* Which entries of a matrix become tiles on this GPU, and the lists that their kernel walks. */
#include "kernels/cost/cost_models.h"
#include "kernels/cuda/common/cuda.h"
#include "kernels/cuda/layout/tiles.h"

static int may_have_tiles(const struct csr *m, const struct layout_plan *plan) {
  int wanted = plan->tiers == LAYOUT_AUTO || plan->tiers == LAYOUT_TILES || plan->tiers == LAYOUT_TILES_ALL;
  return wanted && m->rows > 0 && cuda_has_tiles();
}

static struct cost_case case_of(const struct kernels *k, const struct csr *m,
                                const struct layout_plan *plan) {
  return (struct cost_case){.model = cost_model_of(k->device->name),
                            .precision = k->precision,
                            .width = plan->width,
                            .weighted = m->weight != NULL};
}

int cuda_tiles_choose(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                      struct tile_lists *lists) {
  struct cost_case c = case_of(k, m, plan);
  struct density density;
  int chooses = plan->tiers == LAYOUT_AUTO;
  lists->choice = (struct choice){.tile_arcs_least = TILE_CELLS + 1};
  if (!may_have_tiles(m, plan)) return OK;
  if (!chooses) c.weighted = 0; /* forced ones are the same with weights and without */
  lists->choice.tile_arcs_least = plan->tiers == LAYOUT_TILES_ALL ? 1 : cost_tile_least(&c, m->cols);
  if (chooses && lists->choice.tile_arcs_least > TILE_CELLS) return OK;
  if (cuda_tiles_can_build(m)) TRY(cuda_tiles_build_open(k, m, &lists->build));
  if (!chooses) return OK;
  if (lists->build.col)
    TRY(cuda_tiles_build_density(k, &lists->build, &density));
  else
    TRY(tiles_density(m, k->device->threads, &density));
  lists->choice = choose(&c, &density);
  return OK;
}

static int64_t longest_of(const struct window_pieces *pieces) {
  return pieces->count ? pieces->piece[0].end - pieces->piece[0].first : 0;
}

static int split(struct kernels *k, const struct csr *m, struct tile_lists *lists, struct csr *rest) {
  int64_t least = lists->choice.tile_arcs_least;
  if (lists->build.col) return cuda_tiles_build_measure(k, &lists->build, least, m, &lists->tiles, rest);
  return tiles_split(m, least, k->device->threads, &lists->tiles, rest);
}

static void forget_tiles(struct tile_lists *lists, struct csr *rest) {
  lists->choice.tile_arcs_least = TILE_CELLS + 1;
  tiles_free(&lists->tiles);
  window_pieces_free(&lists->pieces);
  tiles_rest_free(rest);
}

int cuda_tiles_cut(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                   struct tile_lists *lists, struct csr *rest) {
  struct cost_case c = case_of(k, m, plan);
  if (lists->choice.tile_arcs_least > TILE_CELLS) return OK;
  TRY(split(k, m, lists, rest));
  TRY(window_pieces_cut(lists->tiles.start, lists->tiles.windows, TILE_PIECE, 1, &lists->pieces));
  if (plan->tiers == LAYOUT_AUTO && cost_is_crowded(&c, &lists->choice, longest_of(&lists->pieces)))
    forget_tiles(lists, rest);
  return OK;
}

void cuda_tiles_cut_free(struct kernels *k, struct tile_lists *lists, struct csr *rest) {
  cuda_tiles_build_close(k, &lists->build);
  tiles_free(&lists->tiles);
  window_pieces_free(&lists->pieces);
  if (rest->start) tiles_rest_free(rest);
}
