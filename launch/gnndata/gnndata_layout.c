/* gnndata info --layout: how densely the arcs of a graph and the incidences of a hypergraph pack, and what
 * products would take on a GPU. */
#include <inttypes.h>
#include <math.h>
#include <omp.h>

#include "kernels/cost/cost_models.h"
#include "kernels/format/condensed.h"
#include "kernels/format/row_segments.h"
#include "kernels/format/tiles.h"
#include "launch/gnndata/gnndata_commands.h"
#include "partition/cut/star_expansion.h"
#include "runtime/base/base.h"

static const int64_t width_of[] = {32, 64, 128, 256, 512};
enum { WIDTHS = sizeof width_of / sizeof width_of[0] };

enum { SAMPLE = 16 << 20 /* about so many arcs decide over condensed windows */ };

/* How a matrix and its entries are called. */
struct entries {
  const char *matrix, *one, *bytes;
};
static const struct entries arcs_of_graph = {"the whole graph in the order of its ids", "arc", "bytes/arc"};
static const struct entries vertices_of_hyperedges = {
    "sums over the vertices of each hyperedge, in the order of their ids", "incidence", "bytes/inc"};
static const struct entries hyperedges_of_vertices = {
    "sums over the hyperedges of each vertex, in the order of their ids", "incidence", "bytes/inc"};

/* A pattern, and its windows less the tiles of `least` arcs. */
struct pattern {
  struct csr m;
  const struct entries *entries;
  const struct cost_model *model;
  struct density density;
  struct condensing whole, left;
  int64_t least;
  int weighted;
};

/* Bytes of a layout: bitmaps and segments of tiles, bitmaps and columns of blocks, ids of the rest, a slot a
 * row; of weights, and where those of each strip of a tile and of each block begin. */
static double bytes_of(const struct pattern *p, const struct choice *choice,
                       const struct window_choice *windows) {
  double arcs = (double)p->m.nnz, weights = 0;
  if (p->weighted) weights = 4 * arcs + 8 * (double)(choice->tiles * TILE_STRIPS + windows->blocks);
  return weights + (double)choice->tiles * (TILE_CELLS / 8 + 4) +
         (double)windows->blocks * (BLOCK_BYTES + CONDENSED_COLS * 4) +
         (arcs - choice->tile_arcs - (double)windows->arcs) * 4 + (double)p->density.rows * ROW_SEGMENT_BYTES;
}

static int count_left(struct pattern *p, int64_t least) {
  if (p->least != least)
    TRY(condensed_count(&p->m, least, 1 + p->m.nnz / SAMPLE, omp_get_max_threads(), &p->left));
  p->least = least;
  return OK;
}

/* Tiles, and the windows beside them or instead of them; p->left is what the tiles leave. */
static int choose_tiers(struct pattern *p, const struct cost_case *c, struct choice *choice,
                        struct window_choice *windows, struct window_rule *rule) {
  *choice = choose(c, &p->density);
  *rule = cost_window_rule(c, p->m.cols, choice);
  TRY(count_left(p, choice->tile_arcs_least));
  *windows = cost_windows(rule, &p->left);
  if (choice->tiles == 0) return OK;
  struct choice gather = cost_divided(c, &p->density, TILE_CELLS + 1);
  struct window_rule other = cost_window_rule(c, p->m.cols, &gather);
  struct window_choice instead = cost_windows(&other, &p->whole);
  if (!cost_windows_replace(choice, windows, &gather, &instead)) return OK;
  *choice = gather;
  *windows = instead;
  *rule = other;
  return count_left(p, TILE_CELLS + 1);
}

static int print_product(struct pattern *p, enum precision precision, int64_t width) {
  const struct row_segments_plan cuts = {width * (precision == PRECISION_BF16 ? 2 : 4), 0, 0};
  struct cost_case c = {p->model, precision, width, p->weighted, row_segments_foresee(&p->m, &cuts)};
  struct choice choice;
  struct window_choice windows;
  struct window_rule rule;
  TRY(choose_tiers(p, &c, &choice, &windows, &rule));
  double arcs = fmax(1, (double)p->m.nnz), tiles = (double)choice.tiles;
  printf("%12s %5" PRId64 " %8" PRId64 " %6.2f%% %7.1f%% %7.1f%% %9.2f %9.4f %9.4f %9.4f\n",
         precision_name[precision], width, choice.tiles,
         tiles > 0 ? 100 * choice.tile_arcs / tiles / TILE_CELLS : 0, 100 * choice.tile_arcs / arcs,
         100 * (double)windows.arcs / arcs, bytes_of(p, &choice, &windows) / arcs,
         1e3 * (choice.seconds + windows.seconds), 1e3 * choice.gather_seconds,
         1e3 * (choice.seconds + cost_windows_all(&rule, &p->left).seconds));
  return OK;
}

static void print_blocks(const struct pattern *p) {
  double count = (double)p->m.nnz;
  const char *one = p->entries->one;
  struct window_choice all = cost_windows_all(&window_rule_all, &p->whole);
  printf("layout       of %s, on %s%s\n", p->entries->matrix, p->model->name,
         p->weighted ? "; weighted" : "");
  printf("blocks       %" PRId64
         " of 16 x 16 with an %s, %.2f %ss in each; columns of each window together: %" PRId64 ", %.2f\n",
         p->whole.before, one, p->whole.before ? count / (double)p->whole.before : 0, one, all.blocks,
         all.blocks ? count / (double)all.blocks : 0);
  printf("tiles        %.1f%% of the %ss in cells of 128 x 64 above 3.5%% density\n",
         100 * density_share(&p->density, DENSE_CELL), one);
  printf("%12s %5s %8s %7s %8s %8s %9s %9s %9s %9s\n", "", "width", "tiles", "density", "in tiles",
         "in wind.", p->entries->bytes, "ms", "gather", "all wind.");
}

static int show(const struct csr *m, const struct entries *entries, const struct cost_model *model) {
  static struct pattern p; /* large */
  p = (struct pattern){.m = *m, .entries = entries, .model = model, .weighted = m->weight != NULL};
  TRY(tiles_density(&p.m, omp_get_max_threads(), &p.density));
  TRY(condensed_count(&p.m, TILE_CELLS + 1, 1, omp_get_max_threads(), &p.whole));
  print_blocks(&p);
  for (int w = 0; w < WIDTHS; w++) TRY(print_product(&p, PRECISION_BF16, width_of[w]));
  for (int w = 0; w < WIDTHS; w++) TRY(print_product(&p, PRECISION_FP32, width_of[w]));
  return OK;
}

/* The rows held of a graph, as a matrix that borrows them. */
static struct csr rows_of(const struct graph *graph, int64_t cols) {
  return (struct csr){.rows = graph->rows,
                      .cols = cols,
                      .nnz = graph->edges,
                      .start = graph->start,
                      .col = graph->col,
                      .weight = graph->weight};
}

static int show_graph(struct dataset *d, const struct cost_model *model) {
  ENDED_BY(graph_free) struct graph graph = {0};
  if (!d->has_graph) return OK;
  TRY(graph_read(d, 0, d->nodes, &graph));
  const struct csr m = rows_of(&graph, d->nodes);
  return show(&m, &arcs_of_graph, model);
}

/* Both steps of its sums: to the hyperedges and back. */
static int show_hypergraph(struct dataset *d, const struct cost_model *model) {
  ENDED_BY(graph_free) struct graph expansion = {0};
  ENDED_BY(csr_free) struct csr back = {0};
  if (d->hyperedges == 0) return OK;
  TRY(star_expansion_read(d, d->nodes, d->hyperedges, &expansion));
  const struct csr there = rows_of(&expansion, d->nodes);
  TRY(show(&there, &vertices_of_hyperedges, model));
  TRY(csr_transpose(&there, &back, NULL));
  return show(&back, &hyperedges_of_vertices, model);
}

int gnndata_find_gpu(const char *gpu, const struct cost_model **model) {
  static struct cost_constants constants; /* large */
  TRY(cost_constants_find("auto", &constants));
  TRY(cost_models_read(constants.text, constants.path));
  return cost_model_named(gpu, model);
}

int gnndata_show_layout(struct dataset *d, const struct cost_model *model) {
  TRY(show_graph(d, model));
  return show_hypergraph(d, model);
}
