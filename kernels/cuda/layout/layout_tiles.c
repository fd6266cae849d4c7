/* Which entries of a matrix become tiles on this GPU, and the lists that their kernel walks. */
#include "kernels/cost/cost_attention.h"
#include "kernels/cost/cost_models.h"
#include "kernels/cuda/common/cuda.h"
#include "kernels/cuda/layout/condensed.h"
#include "kernels/format/row_segments.h"

/* attention: to keep its constants in. */
static struct cost_case case_of(const struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                                struct cost_model *attention) {
  const struct row_segments_plan cuts = {plan->width * dtype_bytes(k->dtype), plan->streams, 0};
  const struct cost_model *model = cost_model_of(k->device->name);
  const struct arc_scores *scores = &plan->scores;
  if (scores->heads > 0)
    *attention = scores->cosines ? cost_cosines(model, COSINE_MEAN) : cost_attention(model, scores->heads);
  return (struct cost_case){.model = scores->heads > 0 ? attention : model,
                            .precision = k->precision,
                            .width = plan->width,
                            .weighted = m->weight != NULL,
                            .rows = row_segments_foresee(m, &cuts)};
}

/* Tiles and the gather of what they leave, as the cost model has it, condensed windows apart. */
static int weigh(struct kernels *k, const struct csr *m, struct tile_lists *lists) {
  struct density density;
  if (m->nnz == 0 || !cuda_has_condensed()) return OK;
  if (cuda_has_tiles() && cuda_tiles_can_build(m)) TRY(cuda_tiles_build_open(k, m, &lists->build));
  if (lists->build.col)
    TRY(cuda_tiles_build_density(k, &lists->build, &density));
  else
    TRY(tiles_density(m, k->device->threads, &density));
  lists->gather = cost_divided(&lists->product, &density, TILE_CELLS + 1);
  lists->choice = cuda_has_tiles() ? choose(&lists->product, &density) : lists->gather;
  return OK;
}

int cuda_tiles_choose(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                      struct tile_lists *lists) {
  lists->product = case_of(k, m, plan, &lists->attention);
  lists->choice = (struct choice){.tile_arcs_least = TILE_CELLS + 1};
  if (plan->tiers == LAYOUT_AUTO) return weigh(k, m, lists);
  if ((plan->tiers != LAYOUT_TILES && plan->tiers != LAYOUT_TILES_ALL) || m->rows == 0 || !cuda_has_tiles())
    return OK;
  if (plan->scores.heads > 0 && k->dtype != BF16) return OK;
  struct cost_case binary = lists->product; /* forced ones are the same with weights and without */
  binary.weighted = 0;
  lists->choice.tile_arcs_least = plan->tiers == LAYOUT_TILES_ALL ? 1 : cost_tile_least(&binary, m->cols);
  return cuda_tiles_can_build(m) ? cuda_tiles_build_open(k, m, &lists->build) : OK;
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
  if (lists->choice.tile_arcs_least > TILE_CELLS) return OK;
  TRY(split(k, m, lists, rest));
  TRY(window_pieces_cut(lists->tiles.start, lists->tiles.windows, TILE_PIECE, 1, &lists->pieces));
  if (plan->tiers == LAYOUT_AUTO &&
      cost_is_crowded(&lists->product, &lists->choice, longest_of(&lists->pieces)))
    forget_tiles(lists, rest);
  return OK;
}

void cuda_tiles_cut_free(struct kernels *k, struct tile_lists *lists, struct csr *rest) {
  cuda_tiles_build_close(k, &lists->build);
  tiles_free(&lists->tiles);
  window_pieces_free(&lists->pieces);
  if (rest->start) tiles_rest_free(rest);
}
