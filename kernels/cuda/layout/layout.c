#include "kernels/cuda/layout/layout.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/common/upload.h"
#include "runtime/base/memory.h"

enum { ALIGNMENT = 256 };

/* One array of the block: what it holds and where it is wanted. */
struct part {
  const void *host; /* NULL: absent, or on_device */
  int64_t bytes;
  void *device;  /* address of the pointer to it */
  int on_device; /* it is filled there, later */
};

static int64_t room_of(const struct part *part) {
  return part->host || part->on_device ? (part->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : 0;
}

/* Allocates the block of all parts and copies them; not all may have arrived. */
static int upload_parts(struct kernels *k, struct cuda_layout *layout, struct part *part, int parts,
                        void **block) {
  int64_t bytes = 0;
  for (int i = 0; i < parts; i++) bytes += room_of(&part[i]);
  layout->base.bytes += bytes;
  TRY(device_alloc(k->device, bytes, block, "sparse matrix"));
  char *at = *block;
  for (int i = 0; i < parts; i++) {
    if (room_of(&part[i]) == 0) continue;
    memcpy(part[i].device, &at, sizeof at);
    if (!part[i].on_device) TRY(cuda_upload_large(k, at, part[i].host, part[i].bytes));
    at += room_of(&part[i]);
  }
  return OK;
}

#define ARRAY(from, count, to) \
  { from, (count) * (int64_t)sizeof *(from), &(to), 0 }
#define MADE(from, count, to, there) /* on the device, where there is anything */ \
  { NULL, (count) * (int64_t)sizeof *(from), &(to), there }
#define COUNT(parts) (int)(sizeof(parts) / sizeof(parts)[0])

/* A matrix cut into tiers, on the host. */
struct cut {
  struct tile_lists tiles;
  struct condensed_lists windows; /* windows.build.m NULL: nothing is condensed */
  int32_t *compressed;            /* [places]; NULL: row i, or no windows */
  int64_t places;
  struct csr rest_of_tiles, rest;
  const struct csr *left; /* what is in no window: one of these, or the matrix itself */
  struct row_segments row_segments;
};

static void cut_free(struct kernels *k, struct cut *cut) {
  row_segments_free(&cut->row_segments);
  free(cut->compressed);
  cuda_condensed_cut_free(k, &cut->windows, &cut->rest);
  cuda_tiles_cut_free(k, &cut->tiles, &cut->rest_of_tiles);
}

/* Where rows of the result are among the compressed ones, for a matrix that lists its rows. */
static int list_rows(const struct csr *m, struct cut *cut) {
  if (!m->row || cut->tiles.pieces.count + cut->windows.pieces.count == 0) return OK;
  cut->places = m->row[m->rows - 1] + 1;
  TRY(memory_alloc(&cut->compressed, cut->places * (int64_t)sizeof *cut->compressed, "rows of windows"));
  for (int64_t i = 0; i < m->rows; i++) cut->compressed[m->row[i]] = (int32_t)i;
  return OK;
}

static int cut_windows(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                       struct cut *cut) {
  struct tile_lists *tiles = &cut->tiles;
  struct window_rule rule;
  int condenses;
  TRY(cuda_tiles_choose(k, m, plan, tiles));
  TRY(cuda_condensed_wanted(k, m, plan, tiles, &rule, &condenses));
  TRY(cuda_tiles_cut(k, m, plan, tiles, &cut->rest_of_tiles));
  cut->left = tiles->pieces.count > 0 ? &cut->rest_of_tiles : m;
  if (condenses) {
    TRY(cuda_condensed_cut(k, cut->left, tiles, &rule, &cut->windows, &cut->rest));
    cut->left = &cut->rest;
  }
  return list_rows(m, cut);
}

static void describe_entries(struct cuda_layout *layout, const struct cut *cut) {
  struct layout *base = &layout->base;
  base->least = cut->tiles.choice.tile_arcs_least;
  base->tiles = layout->tiles.count = cut->tiles.tiles.count;
  base->tile_entries = cut->tiles.tiles.entries;
  layout->tiles.pieces = cut->tiles.pieces.count;
  base->windows = cut->windows.condensed.taken;
  base->window_blocks = layout->condensed.blocks = cut->windows.condensed.blocks;
  base->window_entries = cut->windows.condensed.entries;
  base->vectors = cut->windows.build.rule.vectors;
  layout->condensed.side = cut->windows.condensed.side;
  layout->condensed.pieces = cut->windows.pieces.count;
  layout->gathered = cut->left->nnz;
}

/* Tiles, condensed windows, and the columns of the others. */
static int upload_entries(struct kernels *k, struct cuda_layout *layout, const struct cut *cut) {
  const struct csr *m = cut->left;
  const struct tiles *tiles = &cut->tiles.tiles;
  const struct condensed *windows = &cut->windows.condensed;
  struct cuda_tiles *in_tiles = &layout->tiles;
  struct cuda_condensed *in_windows = &layout->condensed;
  int condenses = cut->windows.build.m != NULL, weighted = layout->base.csr->weight != NULL;
  int there = cut->tiles.build.col != NULL; /* the matrix is on the device already */
  int64_t strips = weighted && tiles->count > 0 ? tiles->count * TILE_STRIPS + 1 : 0;
  int64_t columns = there && !condenses && tiles->count == 0 ? 0 : m->nnz;
  struct part parts[] = {
      {m->col, columns * (int64_t)sizeof *m->col, &layout->col, there || condenses},
      ARRAY(m->row, m->rows, layout->row),
      {m->weight, weighted * columns * (int64_t)sizeof *m->weight, &layout->value, there || condenses},
      ARRAY(cut->compressed, cut->places, layout->compressed),
      ARRAY(cut->tiles.pieces.piece, cut->tiles.pieces.count, in_tiles->piece),
      ARRAY(cut->tiles.pieces.start, tiles->windows + 1, in_tiles->start),
      {tiles->segment, tiles->count * (int64_t)sizeof *tiles->segment, &in_tiles->segment, there},
      {tiles->bits, tiles->count * TILE_WORDS * (int64_t)sizeof *tiles->bits, &in_tiles->bits, there},
      {tiles->first, strips * (int64_t)sizeof *tiles->first, &in_tiles->first, there},
      {tiles->value, weighted * tiles->entries * (int64_t)sizeof *tiles->value, &in_tiles->value, there},
      ARRAY(cut->windows.pieces.piece, cut->windows.pieces.count, in_windows->piece),
      ARRAY(cut->windows.pieces.start, windows->windows + 1, in_windows->start),
      MADE(windows->col, windows->blocks * windows->side, in_windows->col, 1),
      MADE(windows->bits, windows->blocks * windows->side * windows->side / 8, in_windows->bits, 1),
      MADE(windows->first, windows->blocks + 1, in_windows->first, weighted),
      MADE(windows->value, windows->entries, in_windows->value, weighted),
  };
  describe_entries(layout, cut);
  return upload_parts(k, layout, parts, COUNT(parts), &layout->block[0]);
}

/* What is cut on the device goes from its copy of the matrix to the layout; queued. */
static int fill(struct kernels *k, struct cuda_layout *layout, struct cut *cut) {
  struct cuda_tiles *tiles = &layout->tiles;
  struct cuda_condensed *windows = &layout->condensed;
  int condenses = cut->windows.build.m != NULL;
  if (cut->tiles.build.col && tiles->count > 0) {
    const struct tile_arrays to = {tiles->count,
                                   (int32_t *)tiles->segment,
                                   (uint32_t *)tiles->bits,
                                   (int64_t *)tiles->first,
                                   (float *)tiles->value,
                                   condenses ? NULL : (int32_t *)layout->col,
                                   condenses ? NULL : layout->value};
    TRY(cuda_tiles_build_fill(k, &cut->tiles.build, layout->base.least, &to));
  }
  if (!condenses) return OK;
  const struct condensed_arrays to = {(int32_t *)windows->col,   (uint8_t *)windows->bits,
                                      (int64_t *)windows->first, (float *)windows->value,
                                      (int32_t *)layout->col,    layout->value};
  return cuda_condensed_build_fill(k, &cut->windows.build, &to);
}

static void describe_row_segments(struct cuda_layout *layout, const struct row_segments *row_segments) {
  layout->row_segments = row_segments->count;
  layout->early = row_segments->start[row_segments->windows];
  layout->long_rows = row_segments->long_rows;
  layout->pieces = row_segments->pieces;
  layout->tall_rows = row_segments->tall_rows;
}

static int cut_row_segments(struct kernels *k, const struct layout_plan *plan, struct cuda_layout *layout,
                            struct cut *cut) {
  const struct row_segments_plan cuts = {plan->width * dtype_bytes(k->dtype), plan->streams,
                                         plan->tiers == LAYOUT_GATHER_IN_ORDER};
  struct row_segments *row_segments = &cut->row_segments;
  TRY(row_segments_cut(cut->left, &cuts, row_segments));
  struct part parts[] = {
      ARRAY(row_segments->row_segment.first, row_segments->count, layout->row_segment.first),
      ARRAY(row_segments->row_segment.extent, row_segments->count, layout->row_segment.extent),
      ARRAY(row_segments->row_segment.target, row_segments->count, layout->row_segment.target),
      ARRAY(row_segments->long_row, row_segments->long_rows, layout->long_row),
      ARRAY(row_segments->long_target, row_segments->long_rows, layout->long_target),
      ARRAY(row_segments->piece_row, row_segments->pieces, layout->piece_row),
      ARRAY(row_segments->tall_row, row_segments->tall_rows, layout->tall_row),
  };
  describe_row_segments(layout, row_segments);
  return upload_parts(k, layout, parts, COUNT(parts), &layout->block[1]);
}

/* What is on the device and all remains becomes the layout's. */
static void take_entries(struct cuda_layout *layout, struct tiles_build *build) {
  int64_t weights = build->value ? (int64_t)sizeof *build->value : 0;
  layout->base.bytes += build->nnz * ((int64_t)sizeof *build->col + weights);
  layout->col = layout->block[2] = build->col;
  layout->value = layout->block[3] = build->value;
  build->col = NULL;
  build->value = NULL;
}

/* The matrix as it is, without any preparation. */
static int upload_csr(struct kernels *k, const struct layout_plan *plan, struct cuda_layout *layout) {
  const struct csr *m = layout->base.csr;
  struct part parts[] = {
      ARRAY(m->start, m->rows + 1, layout->csr.start),
      ARRAY(m->col, m->nnz, layout->col),
      ARRAY(m->row, m->rows, layout->row),
      ARRAY(m->weight, m->nnz, layout->value),
  };
  layout->base.plain = 1;
  layout->base.least = TILE_CELLS + 1;
  layout->csr.groups = plan->csr_groups;
  layout->csr.uncached = plan->csr_uncached;
  layout->gathered = m->nnz;
  TRY(upload_parts(k, layout, parts, COUNT(parts), &layout->block[0]));
  return device_synchronize(k->device, STREAM_COMPUTE);
}

/* The host cuts row segments while the device fills in the tiers. */
static int make(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                struct cuda_layout *layout, struct cut *cut) {
  if (plan->tiers == LAYOUT_CSR) return upload_csr(k, plan, layout);
  TRY(cut_windows(k, m, plan, cut));
  TRY(upload_entries(k, layout, cut));
  TRY(fill(k, layout, cut));
  TRY(cut_row_segments(k, plan, layout, cut));
  TRY(device_synchronize(k->device, STREAM_COMPUTE));
  if (cut->tiles.build.col && layout->tiles.count == 0 && !cut->windows.build.m)
    take_entries(layout, &cut->tiles.build);
  return OK;
}

int cuda_layout_init(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                     struct layout **layout) {
  struct cuda_layout *made = NULL;
  struct cut cut = {0};
  const double copied_before = cuda_upload_seconds(k);
  TRY(memory_alloc(&made, (int64_t)sizeof *made, "layout"));
  *layout = &made->base;
  made->base.csr = m;
  int code = make(k, m, plan, made, &cut);
  made->base.copying = cuda_upload_seconds(k) - copied_before;
  cut_free(k, &cut);
  return code;
}

/* The pattern stays with `from`, which outlives what is made here. */
int cuda_layout_share(struct kernels *k, const struct layout *from, struct layout **layout) {
  struct cuda_layout *made = NULL;
  TRY(memory_alloc(&made, (int64_t)sizeof *made, "layout"));
  *layout = &made->base;
  *made = *cuda_layout(from);
  memset(made->block, 0, sizeof made->block);
  made->value = NULL;
  TRY(device_alloc(k->device, from->csr->nnz * (int64_t)sizeof *made->value, &made->block[0],
                   "sparse values"));
  made->value = made->block[0];
  return OK;
}

void cuda_layout_free(struct kernels *k, struct layout *layout) {
  struct cuda_layout *mine = (struct cuda_layout *)layout;
  for (int i = 0; i < 4; i++) device_release(k->device, mine->block[i]);
  free(mine);
}
