#include "models/core/propagation/layouts.h"

#include <math.h>

#include "kernels/cost/cost_csr.h"
#include "kernels/cost/cost_models.h"
#include "kernels/format/condensed.h"
#include "kernels/format/layout.h"
#include "kernels/format/row_segments.h"
#include "kernels/format/tiles.h"
#include "runtime/base/base.h"
#include "runtime/profile/profile.h"

/* What the ranks add up. Doubles alone. */
struct facts {
  double arcs, tiles, tile_arcs, windows, window_arcs, blocks_before, blocks, vector_blocks;
  double bytes, products, seconds, predicted, width;
};
enum { FACTS = sizeof(struct facts) / sizeof(double) };

static const struct cost_model *model_of(const struct run *run) {
  return run->device->ops->on_host ? &cost_model_cpu : cost_model_of(run->device->name);
}

static double predict(const struct run *run, const struct layout *layout, const struct density *density,
                      double width) {
  const struct cost_model *model = model_of(run);
  const struct row_segments_plan cuts = {(int64_t)(width + .5) * dtype_bytes(run->kernels->dtype), 0, 0};
  struct cost_case c = {
      model, run->config->runtime.precision, (int64_t)(width + .5), layout->csr->weight != NULL,
      layout->plain ? row_segments_uncut(layout->csr) : row_segments_foresee(layout->csr, &cuts)};
  const struct window_choice windows = {.windows = layout->windows,
                                        .blocks = layout->window_blocks,
                                        .arcs = layout->window_entries,
                                        .vectors = layout->vectors};
  double seconds = layout->plain ? cost_csr_seconds(&c, density)
                                 : cost_product_seconds(&c, density, layout->least, &windows);
  return model->of_a_thread ? seconds / run->device->threads : seconds;
}

/* Blocks with an arc as the columns stand, of a layout with condensed windows: in what its tiles leave. */
static int count_blocks(const struct run *run, const struct layout *layout, struct facts *facts) {
  static struct condensing condensing; /* large */
  if (layout->windows == 0 || layout->vectors > 0) return OK;
  TRY(condensed_count(layout->csr, layout->least, 1, run->device->threads, &condensing));
  facts->blocks_before += (double)condensing.before;
  return OK;
}

static int add_layout(const struct run *run, const struct layout *layout, double width, double share,
                      struct facts *facts) {
  const struct csr *m = layout->csr;
  struct density density;
  facts->arcs += (double)m->nnz;
  facts->tiles += (double)layout->tiles;
  facts->tile_arcs += (double)layout->tile_entries;
  facts->windows += (double)layout->windows;
  facts->window_arcs += (double)layout->window_entries;
  *(layout->vectors > 0 ? &facts->vector_blocks : &facts->blocks) += (double)layout->window_blocks;
  facts->bytes += (double)layout->bytes;
  TRY(count_blocks(run, layout, facts));
  TRY(tiles_density(m, run->device->threads, &density));
  facts->predicted += share * predict(run, layout, &density, width);
  return OK;
}

/* Whether the parts of that name are sparse products; attention and maxima have no use for tiers. */
static int multiplies(const char *part) {
  static const char *const product[] = {"spmm", NULL};
  struct profile_part spmm = {.names = product};
  profile_parts(part, &spmm, 1);
  return spmm.calls > 0;
}

enum part { OWN_PART, HALO_PART, LATE_PART, LAYOUT_PARTS };

/* Also the region in which each of its products has one call. */
static const char *const part_name[LAYOUT_PARTS] = {"own part", "halo part", "late rows"};

/* Layout i of a part, which has one for each stage of the halo; NULL behind the last one. */
static const struct layout *layout_of(const struct direction *d, enum part part, int i) {
  if (part == HALO_PART) return i < HALO_STAGES ? d->halo_part[i] : NULL;
  return i > 0 ? NULL : part == OWN_PART ? d->own_part : d->late_part;
}

/* Adds those that a product calls for, and their arcs. */
static void count_layouts(const struct direction *d, enum part part, double *calls, double *arcs) {
  const struct layout *layout;
  for (int i = 0; (layout = layout_of(d, part, i)); i++) {
    *calls += part != HALO_PART || layout->csr->rows > 0;
    *arcs += (double)layout->csr->nnz;
  }
}

/* Of a part of the epochs: the seconds and flops of all its regions, of which each product has the first. */
static struct profile_part measured(enum part part) {
  const char *const ahead = part == LATE_PART ? "late rows ahead" : NULL;
  const char *const first[] = {part_name[part], NULL}, *const region[] = {part_name[part], ahead, NULL};
  struct profile_part all = {.names = region}, products = {.names = first};
  profile_parts("epoch", &all, 1);
  profile_parts("epoch", &products, 1);
  all.calls = products.calls;
  return all;
}

/* Both directions are taken to have run equally often. */
static int read_part(const struct propagation *p, const struct run *run, enum part which,
                     struct facts *facts) {
  const struct direction *both[] = {&p->forward, &p->backward};
  int directions = p->backward.borrowed ? 1 : 2;
  const struct layout *layout;
  double calls = 0, arcs = 0; /* of a product, on average */
  *facts = (struct facts){0};
  if (!multiplies(part_name[which])) return OK;
  const struct profile_part part = measured(which);
  for (int i = 0; i < directions; i++) count_layouts(both[i], which, &calls, &arcs);
  if (calls == 0) return OK;
  facts->products = part.calls * directions / calls;
  facts->seconds = part.seconds;
  facts->width = part.calls > 0 && arcs > 0 ? part.flops / facts->products / 2 / (arcs / directions) : 0;
  for (int d = 0; d < directions && part.calls > 0; d++)
    for (int i = 0; (layout = layout_of(both[d], which, i)); i++)
      TRY(add_layout(run, layout, fmax(facts->width, 1), 1. / directions, facts));
  return OK;
}

static void print_part(const char *name, const struct facts *sum, int ranks) {
  double arcs = fmax(sum->arcs, 1), cells = sum->tiles * TILE_CELLS;
  log_result("  %-10s %14.0f %8.1f%% %9.0f %8.2f%% %9.1f%% %9.2f %8.0f %10.4f %10.4f", name, sum->arcs,
             100 * sum->tile_arcs / arcs, sum->tiles, cells > 0 ? 100 * sum->tile_arcs / cells : 0,
             100 * sum->window_arcs / arcs, sum->bytes / arcs, sum->width / ranks,
             1e3 * sum->predicted / ranks, 1e3 * sum->seconds / fmax(sum->products, 1));
  if (sum->vector_blocks > 0)
    log_result("  %-10s %.0f windows with column vectors: blocks of 8 x 8 %.0f", "", sum->windows,
               sum->vector_blocks);
  else if (sum->windows > 0)
    log_result(
        "  %-10s %.0f condensed windows: blocks of 16 x 16 with an arc %.0f as columns stand, %.0f condensed",
        "", sum->windows, sum->blocks_before, sum->blocks);
}

int layouts_print(const struct propagation *propagation, const struct run *run) {
  struct facts facts[LAYOUT_PARTS];
  int code = OK;
  if (!propagation->forward.own_part) return OK;
  for (int part = 0; part < LAYOUT_PARTS && code == OK; part++)
    code = read_part(propagation, run, (enum part)part, &facts[part]);
  TRY(comm_agree(run->comm, code));
  TRY(comm_reduce(run->comm, facts, LAYOUT_PARTS * FACTS, NUMBER_DOUBLE, REDUCE_SUM));
  if (run->comm->rank != 0 || !(facts[OWN_PART].products + facts[LATE_PART].products > 0)) return OK;
  log_result("sparse products, by parts of the adjacency:");
  log_result("  %-10s %14s %9s %9s %9s %10s %9s %8s %10s %10s", "part", "arcs", "in tiles", "tiles",
             "density", "in windows", "bytes/arc", "width", "predicted", "ms");
  for (int part = 0; part < LAYOUT_PARTS; part++)
    if (facts[part].products > 0) print_part(part_name[part], &facts[part], run->comm->size);
  return OK;
}

/* Tiles or vectors, never both. */
void layouts_say_attention(const struct propagation *p, const struct run *run) {
  const struct layout *layout;
  int64_t all = 0, entries = 0, count = 0, vectors = 0;
  for (int part = 0; part < LAYOUT_PARTS; part++)
    for (int i = 0; (layout = layout_of(&p->forward, (enum part)part, i)); i++) {
      all += layout->csr->nnz;
      entries += layout->tile_entries + layout->window_entries;
      count += layout->tiles + layout->window_blocks;
      vectors += layout->vectors;
    }
  if (run->comm->rank != 0 || count == 0) return;
  log_detail("attention: on rank 0 %.1f%% of the arcs lie in %lld %s", 100 * (double)entries / (double)all,
             (long long)count, vectors > 0 ? "blocks of 8 column vectors" : "tiles");
}
