/* gnndata info --layout: how densely a graph's arcs pack, and what its products would take on a GPU. */
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>

#include "kernels/choose_models.h"
#include "kernels/condensed.h"
#include "kernels/slots.h"
#include "kernels/tiles.h"
#include "launch/gnndata.h"
#include "partition/graph.h"
#include "runtime/error.h"

static const int64_t width_of[] = {32, 64, 128, 256, 512};
enum { WIDTHS = sizeof width_of / sizeof width_of[0] };

enum { SAMPLE = 16 << 20 /* about so many arcs decide over condensed windows */ };

/* A pattern, and its windows less the tiles of `least` arcs. */
struct pattern {
  struct csr m;
  const struct choose_model *model;
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
         (arcs - choice->tile_arcs - (double)windows->arcs) * 4 + (double)p->density.rows * SLOT_BYTES;
}

static int count_left(struct pattern *p, int64_t least) {
  if (p->least != least)
    TRY(condensed_count(&p->m, least, 1 + p->m.nnz / SAMPLE, omp_get_max_threads(), &p->left));
  p->least = least;
  return OK;
}

static int print_product(struct pattern *p, enum precision precision, int64_t width) {
  struct choose_case c = {p->model, precision, width, p->weighted};
  struct choice choice = choose(&c, &p->density);
  TRY(count_left(p, choice.tile_arcs_least));
  struct window_rule rule = choose_window_rule(&c, p->m.cols, choice.tiles > 0);
  const struct window_selector selector = choose_selector(&c);
  rule.margin = choose_window_margin(&c, p->m.rows, p->m.nnz);
  struct window_choice windows = choose_windows(&rule, &p->left), other;
  double arcs = fmax(1, (double)p->m.nnz), tiles = (double)choice.tiles, agreed;
  other = choose_windows_selected(&selector, &rule, &p->left, &agreed);
  printf("%12s %5" PRId64 " %8" PRId64 " %6.2f%% %7.1f%% %7.1f%% %9.2f %9.4f %9.4f %9.4f %6.1f%% %9.4f\n",
         precision_name[precision], width, choice.tiles,
         tiles > 0 ? 100 * choice.tile_arcs / tiles / TILE_CELLS : 0, 100 * choice.tile_arcs / arcs,
         100 * (double)windows.arcs / arcs, bytes_of(p, &choice, &windows) / arcs,
         1e3 * (choice.seconds + windows.seconds), 1e3 * choice.gather_seconds,
         1e3 * (choice.seconds + choose_windows_all(&rule, &p->left).seconds), 100 * agreed,
         1e3 * (choice.seconds + other.seconds));
  return OK;
}

static void print_blocks(const struct pattern *p, const char *note) {
  double arcs = (double)p->m.nnz;
  struct window_choice all = choose_windows_all(&window_rule_all, &p->whole);
  printf("layout       of the whole graph in the order of its ids, on %s%s\n", p->model->name, note);
  printf("blocks       %" PRId64
         " of 16 x 16 with an arc, %.2f arcs in each; columns of each window together: %" PRId64 ", %.2f\n",
         p->whole.before, p->whole.before ? arcs / (double)p->whole.before : 0, all.blocks,
         all.blocks ? arcs / (double)all.blocks : 0);
  printf("tiles        %.1f%% of the arcs in cells of 128 x 64 above 3.5%% density\n",
         100 * density_share(&p->density, DENSE_CELL));
  printf("%12s %5s %8s %7s %8s %8s %9s %9s %9s %9s %7s %9s\n", "", "width", "tiles", "density", "in tiles",
         "in wind.", "bytes/arc", "ms", "gather", "all wind.", "regr.", "ms");
}

static int show(const struct graph *graph, const struct choose_model *model) {
  static struct pattern p; /* large */
  p = (struct pattern){.model = model, .weighted = graph->weight != NULL};
  p.m = (struct csr){.rows = graph->rows,
                     .cols = graph->nodes,
                     .nnz = graph->edges,
                     .start = graph->start,
                     .col = graph->col};
  TRY(tiles_density(&p.m, omp_get_max_threads(), &p.density));
  TRY(condensed_count(&p.m, TILE_CELLS + 1, 1, omp_get_max_threads(), &p.whole));
  print_blocks(&p, p.weighted ? "; weighted" : "");
  for (int w = 0; w < WIDTHS; w++) TRY(print_product(&p, PRECISION_BF16, width_of[w]));
  for (int w = 0; w < WIDTHS; w++) TRY(print_product(&p, PRECISION_FP32, width_of[w]));
  return OK;
}

int gnndata_show_layout(struct dataset *d, const char *gpu) {
  static struct choose_constants constants; /* large */
  struct graph graph = {0};
  const struct choose_model *model;
  TRY(choose_constants_find("auto", &constants));
  TRY(choose_models_read(constants.text, constants.path));
  TRY(choose_model_named(gpu, &model));
  if (!d->has_graph) return OK;
  int code = graph_read(d, 0, d->nodes, &graph);
  if (code == OK) code = show(&graph, model);
  graph_free(&graph);
  return code;
}
