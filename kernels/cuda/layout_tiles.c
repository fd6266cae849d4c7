/* Which entries of a matrix become tiles on this GPU, and the lists that their kernel walks. */
#include <stdlib.h>

#include "kernels/choose_models.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/tiles.h"
#include "runtime/memory.h"

/* Entries from which a cell becomes a tile; more than a cell has: none does. */
static int least_entries(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                         int64_t *least) {
  struct choose_case c = {
      .model = choose_model_of(k->device->name), .precision = k->precision, .width = plan->width};
  struct density density;
  *least = TILE_CELLS + 1;
  if (plan->tiers == LAYOUT_GATHER || plan->tiers == LAYOUT_GATHER_IN_ORDER || m->weight || m->rows == 0 ||
      !cuda_has_tiles())
    return OK;
  *least = plan->tiers == LAYOUT_TILES_ALL ? 1 : choose_tile_least(&c, m->cols);
  if (plan->tiers == LAYOUT_TILES || plan->tiers == LAYOUT_TILES_ALL) return OK;
  TRY(tiles_density(m, k->device->threads, &density));
  *least = choose(&c, &density).tile_arcs_least;
  return OK;
}

static int most_tiles_first(const void *a, const void *b) {
  const struct tile_window *x = a, *y = b;
  int32_t more = (y->end - y->first) - (x->end - x->first);
  return more ? more : x->window - y->window;
}

static int list_windows(struct tile_lists *lists) {
  const struct tiles *tiles = &lists->tiles;
  TRY(memory_alloc(&lists->window, tiles->windows * (int64_t)sizeof *lists->window, "tile windows"));
  TRY(memory_alloc(&lists->position, tiles->windows * (int64_t)sizeof *lists->position, "tile windows"));
  for (int64_t w = 0; w < tiles->windows; w++) {
    lists->position[w] = -1;
    if (tiles->start[w] == tiles->start[w + 1]) continue;
    lists->window[lists->listed++] = (struct tile_window){
        .window = (int32_t)w, .first = (int32_t)tiles->start[w], .end = (int32_t)tiles->start[w + 1]};
  }
  qsort(lists->window, (size_t)lists->listed, sizeof *lists->window, most_tiles_first);
  for (int64_t i = 0; i < lists->listed; i++) lists->position[lists->window[i].window] = (int32_t)i;
  return OK;
}

/* Where the sums of each row of the result are, for a matrix that lists its rows. */
static int list_places(const struct csr *m, struct tile_lists *lists) {
  if (!m->row || lists->listed == 0) return OK;
  lists->places = m->row[m->rows - 1] + 1;
  TRY(memory_alloc(&lists->place, lists->places * (int64_t)sizeof *lists->place, "tile rows"));
  for (int64_t v = 0; v < lists->places; v++) lists->place[v] = -1;
  for (int64_t i = 0; i < m->rows; i++) {
    int32_t position = lists->position[i / TILE_ROWS];
    if (position >= 0) lists->place[m->row[i]] = position * TILE_ROWS + (int32_t)(i % TILE_ROWS);
  }
  return OK;
}

int cuda_tiles_cut(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                   struct tile_lists *lists, struct csr *rest) {
  TRY(least_entries(k, m, plan, &lists->least));
  if (lists->least > TILE_CELLS) return OK;
  TRY(tiles_split(m, lists->least, k->device->threads, &lists->tiles, rest));
  if (lists->tiles.count > INT32_MAX)
    FAIL(BAD_INPUT, "a matrix of %lld tiles does not fit one GPU; use more ranks",
         (long long)lists->tiles.count);
  TRY(list_windows(lists));
  return list_places(m, lists);
}

void cuda_tiles_cut_free(struct tile_lists *lists, struct csr *rest) {
  tiles_free(&lists->tiles);
  free(lists->window);
  free(lists->position);
  free(lists->place);
  if (rest->start) tiles_rest_free(rest);
}
