/* Which entries of a matrix become tiles on this GPU, and the lists that their kernel walks. */
#include <stdlib.h>

#include "kernels/choose_models.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/tiles.h"
#include "runtime/memory.h"

static int may_have_tiles(const struct csr *m, const struct layout_plan *plan) {
  int gathered = plan->tiers == LAYOUT_GATHER || plan->tiers == LAYOUT_GATHER_IN_ORDER;
  return !gathered && !m->weight && m->rows > 0 && cuda_has_tiles();
}

static struct choose_case case_of(const struct kernels *k, const struct layout_plan *plan) {
  return (struct choose_case){
      .model = choose_model_of(k->device->name), .precision = k->precision, .width = plan->width};
}

/* choice->tile_arcs_least: entries from which a cell becomes a tile; more than a cell has: none does. The
 * rest of it where the cost model chooses. */
static int choose_tiles(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                        struct tiles_build *build, struct choice *choice) {
  struct choose_case c = case_of(k, plan);
  struct density density;
  int all = plan->tiers == LAYOUT_TILES_ALL;
  *choice = (struct choice){.tile_arcs_least = all ? 1 : choose_tile_least(&c, m->cols)};
  if (plan->tiers != LAYOUT_AUTO) return OK;
  if (build->col)
    TRY(cuda_tiles_build_density(k, build, &density));
  else
    TRY(tiles_density(m, k->device->threads, &density));
  *choice = choose(&c, &density);
  return OK;
}

static int64_t most_in_a_window(const struct tiles *tiles) {
  int64_t most = 0;
  for (int64_t w = 0; w < tiles->windows; w++)
    if (tiles->start[w + 1] - tiles->start[w] > most) most = tiles->start[w + 1] - tiles->start[w];
  return most;
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

static int split(struct kernels *k, const struct csr *m, struct tile_lists *lists, struct csr *rest) {
  if (lists->build.col)
    return cuda_tiles_build_measure(k, &lists->build, lists->least, m, &lists->tiles, rest);
  return tiles_split(m, lists->least, k->device->threads, &lists->tiles, rest);
}

int cuda_tiles_cut(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                   struct tile_lists *lists, struct csr *rest) {
  struct choose_case c = case_of(k, plan);
  struct choice choice;
  lists->least = TILE_CELLS + 1;
  if (!may_have_tiles(m, plan)) return OK;
  if (cuda_tiles_can_build(m)) TRY(cuda_tiles_build_open(k, m, &lists->build));
  TRY(choose_tiles(k, m, plan, &lists->build, &choice));
  if (choice.tile_arcs_least > TILE_CELLS) return OK;
  lists->least = choice.tile_arcs_least;
  TRY(split(k, m, lists, rest));
  if (lists->tiles.count > INT32_MAX)
    FAIL(BAD_INPUT, "a matrix of %lld tiles does not fit one GPU; use more ranks",
         (long long)lists->tiles.count);
  if (plan->tiers == LAYOUT_AUTO && choose_is_crowded(&c, &choice, most_in_a_window(&lists->tiles))) {
    lists->least = TILE_CELLS + 1;
    tiles_free(&lists->tiles);
    tiles_rest_free(rest);
    return OK;
  }
  TRY(list_windows(lists));
  return list_places(m, lists);
}

void cuda_tiles_cut_free(struct kernels *k, struct tile_lists *lists, struct csr *rest) {
  cuda_tiles_build_close(k, &lists->build);
  tiles_free(&lists->tiles);
  free(lists->window);
  free(lists->position);
  free(lists->place);
  if (rest->start) tiles_rest_free(rest);
}
