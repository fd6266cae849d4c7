/* gnndata info --layout: how densely a graph's arcs pack, and what its products would take on a GPU. */
#include <inttypes.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

#include "kernels/choose_models.h"
#include "kernels/tiles.h"
#include "launch/gnndata.h"
#include "partition/graph.h"
#include "runtime/error.h"
#include "runtime/memory.h"

enum { ROWS = 16, COLS = 8 }; /* of a block: TC-GNN's, what one instruction of tensor cores multiplies */

static const int64_t width_of[] = {32, 64, 128, 256, 512};
enum { WIDTHS = sizeof width_of / sizeof width_of[0] };

/* Blocks with an arc in them, as the columns stand and with those of each window moved together. */
struct blocks {
  int64_t before, after;
};

static int64_t count_window(const struct csr *m, int64_t first, int32_t mark, int32_t *column, int32_t *block,
                            int64_t *before) {
  int64_t end = first + ROWS < m->rows ? first + ROWS : m->rows, columns = 0;
  for (int64_t e = m->start[first]; e < m->start[end]; e++) {
    int32_t u = m->col[e];
    columns += column[u] != mark;
    *before += block[u / COLS] != mark;
    column[u] = block[u / COLS] = mark;
  }
  return (columns + COLS - 1) / COLS;
}

static int count_blocks(const struct csr *m, struct blocks *blocks) {
  int64_t before = 0, after = 0;
  int code = OK;
#pragma omp parallel reduction(+ : before, after)
  {
    int32_t *column = NULL, *block = NULL, mark = 0;
    int mine = memory_alloc(&column, m->cols * (int64_t)sizeof *column, "marks of columns");
    if (mine == OK)
      mine = memory_alloc(&block, (m->cols / COLS + 1) * (int64_t)sizeof *block, "marks of blocks");
#pragma omp for schedule(dynamic, 64)
    for (int64_t first = 0; first < m->rows; first += ROWS)
      if (mine == OK) after += count_window(m, first, ++mark, column, block, &before);
    if (mine != OK) {
#pragma omp atomic write
      code = mine;
    }
    free(column);
    free(block);
  }
  if (code != OK) FAIL(code, "out of memory: no room to count blocks of %lld nodes", (long long)m->rows);
  *blocks = (struct blocks){before, after};
  return OK;
}

/* Bytes of a layout: bitmaps and segments of tiles, ids of the rest, a slot a row. */
static double bytes_of(const struct density *density, const struct choice *choice, double arcs) {
  return (double)choice->tiles * (TILE_CELLS / 8 + 4) + (arcs - choice->tile_arcs) * 4 +
         (double)density->rows * 16;
}

static void print_product(const struct choose_model *model, const struct density *density,
                          enum precision precision, int64_t width) {
  struct choose_case c = {model, precision, width};
  struct choice choice = choose(&c, density);
  double arcs = (double)density_arcs(density), tiles = (double)choice.tiles;
  if (arcs < 1) arcs = 1;
  printf("%20s %5" PRId64 " %9" PRId64 " %7.2f%% %7.1f%% %9.2f %10.4f %10.4f\n", precision_name[precision],
         width, choice.tiles, tiles > 0 ? 100 * choice.tile_arcs / tiles / TILE_CELLS : 0,
         100 * choice.tile_arcs / arcs, bytes_of(density, &choice, arcs) / arcs, 1e3 * choice.seconds,
         1e3 * choice.gather_seconds);
}

static int show(const struct graph *graph, const char *gpu) {
  const struct csr m = {.rows = graph->rows,
                        .cols = graph->nodes,
                        .nnz = graph->edges,
                        .start = graph->start,
                        .col = graph->col};
  const struct choose_model *model = choose_model_of(gpu);
  struct density density;
  struct blocks blocks = {0};
  TRY(tiles_density(&m, omp_get_max_threads(), &density));
  TRY(count_blocks(&m, &blocks));
  printf("layout       of the whole graph in the order of its ids, on %s%s\n", model->name,
         graph->weight ? "; weighted: all of it is gathered" : "");
  printf("blocks       %" PRId64
         " of 16 x 8 with an arc, %.2f arcs in each; columns of each window together: %" PRId64 ", %.2f\n",
         blocks.before, blocks.before ? (double)m.nnz / (double)blocks.before : 0, blocks.after,
         blocks.after ? (double)m.nnz / (double)blocks.after : 0);
  printf("tiles        %.1f%% of the arcs in cells of 128 x 64 above 3.5%% density\n",
         100 * density_share(&density, DENSE_CELL));
  printf("%20s %5s %9s %8s %8s %9s %10s %10s\n", "", "width", "tiles", "density", "in tiles", "bytes/arc",
         "predicted", "gather ms");
  for (int w = 0; w < WIDTHS; w++) print_product(model, &density, PRECISION_BF16, width_of[w]);
  for (int w = 0; w < WIDTHS; w++) print_product(model, &density, PRECISION_FP32, width_of[w]);
  return OK;
}

int gnndata_show_layout(struct dataset *d, const char *gpu) {
  static struct choose_constants constants; /* large */
  struct graph graph = {0};
  if (!d->has_graph) return OK;
  TRY(choose_constants_find("auto", &constants));
  TRY(choose_models_read(constants.text, constants.path));
  int code = graph_read(d, 0, d->nodes, &graph);
  if (code == OK) code = show(&graph, gpu);
  graph_free(&graph);
  return code;
}
