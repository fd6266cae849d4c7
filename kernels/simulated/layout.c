/* A matrix divided into tiers as a GPU's layout would be, by the same rules, but only counted. */
#include <stdlib.h>

#include "kernels/cost/cost_attention.h"
#include "kernels/cost/cost_models.h"
#include "kernels/format/condensed.h"
#include "kernels/format/row_segments.h"
#include "kernels/format/tiles.h"
#include "kernels/simulated/simulated.h"
#include "runtime/base/base.h"

enum { SAMPLE = 1 << 20 }; /* entries that a look at windows takes */

/* On the device: ids and weights, tiles' bits, what numbers rows and their pieces; or row offsets. */
static int64_t bytes_of_layout(const struct layout *layout) {
  const struct csr *m = layout->csr;
  const int64_t each = m->weight ? 8 : 4;
  if (layout->plain) return m->nnz * each + (m->rows + 1) * (int64_t)sizeof *m->start;
  return (m->nnz - layout->tile_entries) * each + layout->tiles * TILE_WORDS * 4 +
         m->rows * ROW_SEGMENT_BYTES;
}

/* Windows beside the tiles or, where that is faster, instead of them. */
static int divide(const struct kernels *k, const struct csr *m, const struct cost_case *c,
                  struct simulated_layout *layout, struct choice *choice) {
  const struct choice gather = cost_divided(c, &layout->density, TILE_CELLS + 1);
  struct window_choice instead;
  *choice = choose(c, &layout->density);
  if (layout->attends) return OK; /* attention has no windows */
  TRY(condensed_foresee(m, c, choice, k->device->threads, &layout->windows));
  if (choice->tiles == 0) return OK;
  TRY(condensed_foresee(m, c, &gather, k->device->threads, &instead));
  if (!cost_windows_replace(choice, &layout->windows, &gather, &instead)) return OK;
  *choice = gather;
  layout->windows = instead;
  return OK;
}

/* Those that the setting forces, whatever they save. */
static int force_windows(const struct kernels *k, const struct csr *m, const struct cost_case *c,
                         enum layout_tiers tiers, struct simulated_layout *layout) {
  const struct choice gather = cost_divided(c, &layout->density, TILE_CELLS + 1);
  const struct window_rule prices = cost_window_rule(c, m->cols, &gather),
                           selector = cost_selector_rule(c, m->cols, &gather);
  static struct condensing condensing; /* large */
  if (prices.block == 0) return OK;
  TRY(condensed_count(m, TILE_CELLS + 1, 1 + m->nnz / SAMPLE, k->device->threads, &condensing));
  layout->windows = tiers == LAYOUT_SELECTOR ? cost_windows_taken(&selector, &condensing)
                                             : cost_windows_all(&prices, &condensing);
  return OK;
}

/* What of the matrix are column vectors of so many entries. */
static int force_vectors(const struct kernels *k, const struct csr *m, const struct cost_case *c,
                         int64_t threshold, struct simulated_layout *layout) {
  const struct choice gather = cost_divided(c, &layout->density, TILE_CELLS + 1);
  if (cost_window_rule(c, m->cols, &gather).block == 0) return OK;
  return condensed_vectors(m, threshold, 1 + m->nnz / SAMPLE, k->device->threads, &layout->windows);
}

static int count(const struct kernels *k, const struct layout_plan *plan, struct simulated_layout *layout) {
  const struct csr *m = layout->base.csr;
  const struct row_segments_plan cuts = {plan->width * dtype_bytes(k->dtype), plan->streams, 0};
  struct choice choice = {.tile_arcs_least = TILE_CELLS + 1};
  layout->base.plain = plan->tiers == LAYOUT_CSR;
  layout->rows = layout->base.plain ? row_segments_uncut(m) : row_segments_foresee(m, &cuts);
  const struct cost_model *model = cost_model_of(k->device->name),
                          attention = plan->scores.cosines ? cost_cosines(model, COSINE_MEAN)
                                                           : cost_attention(model, plan->scores.heads);
  layout->attends = plan->scores.heads > 0;
  const struct cost_case c = {layout->attends ? &attention : model, k->precision, plan->width,
                              m->weight != NULL, layout->rows};
  TRY(tiles_density(m, k->device->threads, &layout->density));
  if (plan->tiers == LAYOUT_AUTO && m->nnz > 0) TRY(divide(k, m, &c, layout, &choice));
  if ((plan->tiers == LAYOUT_WINDOWS || plan->tiers == LAYOUT_SELECTOR) && m->nnz > 0)
    TRY(force_windows(k, m, &c, plan->tiers, layout));
  const int has_vectors = !layout->attends || (plan->scores.cosines && k->dtype == BF16);
  if (plan->tiers == LAYOUT_VECTORS && has_vectors)
    TRY(force_vectors(k, m, &c, plan->vector_threshold, layout));
  if (plan->tiers == LAYOUT_TILES) choice = cost_divided(&c, &layout->density, cost_tile_least(&c, m->cols));
  if (plan->tiers == LAYOUT_TILES_ALL) choice = cost_divided(&c, &layout->density, 1);
  layout->base.least = choice.tile_arcs_least;
  layout->base.tiles = choice.tiles;
  layout->base.tile_entries = (int64_t)choice.tile_arcs;
  layout->merged_rows = choice.merged_rows;
  layout->base.windows = layout->windows.windows;
  layout->base.window_blocks = layout->windows.blocks;
  layout->base.window_entries = layout->windows.arcs;
  layout->base.vectors = layout->windows.vectors;
  layout->base.bytes = bytes_of_layout(&layout->base);
  return OK;
}

int simulated_layout_init(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                          struct layout **made) {
  struct simulated_layout *layout = NULL;
  TRY(memory_alloc(&layout, (int64_t)sizeof *layout, "layout"));
  *made = &layout->base;
  layout->base.csr = m;
  TRY(count(k, plan, layout));
  return device_alloc(k->device, layout->base.bytes, &layout->block, "sparse matrix");
}

int simulated_layout_share(struct kernels *k, const struct layout *from, struct layout **made) {
  struct simulated_layout *layout = NULL;
  TRY(memory_alloc(&layout, (int64_t)sizeof *layout, "layout"));
  *made = &layout->base;
  *layout = *(const struct simulated_layout *)from;
  layout->block = NULL;
  return device_alloc(k->device, from->csr->nnz * dtype_bytes(k->real), &layout->block, "sparse values");
}

void simulated_layout_free(struct kernels *k, struct layout *layout) {
  device_release(k->device, ((struct simulated_layout *)layout)->block);
  free(layout);
}
