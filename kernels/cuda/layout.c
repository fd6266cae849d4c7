#include "kernels/cuda/layout.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cuda/cuda.h"
#include "runtime/memory.h"

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

/* Allocates the block of all parts and copies them. */
static int upload_parts(struct kernels *k, struct cuda_layout *layout, struct part *part, int parts) {
  int64_t bytes = 0;
  for (int i = 0; i < parts; i++) bytes += room_of(&part[i]);
  layout->base.bytes = bytes;
  TRY(device_alloc(k->device, bytes, &layout->block, "sparse matrix"));
  char *at = layout->block;
  for (int i = 0; i < parts; i++) {
    if (room_of(&part[i]) == 0) continue;
    memcpy(part[i].device, &at, sizeof at);
    if (!part[i].on_device) TRY(cuda_upload_large(k, at, part[i].host, part[i].bytes));
    at += room_of(&part[i]);
  }
  return device_synchronize(k->device, STREAM_COMPUTE);
}

/* A matrix cut into tiers, on the host. */
struct cut {
  struct tile_lists tiles;
  struct condensed condensed;
  struct window_pieces pieces; /* of the condensed windows */
  int32_t *compressed;         /* [places]; NULL: row i, or no windows */
  int64_t places;
  struct csr rest_of_tiles, rest;
  struct slots slots;
};

static void cut_free(struct kernels *k, struct cut *cut) {
  slots_free(&cut->slots);
  condensed_free(&cut->condensed);
  window_pieces_free(&cut->pieces);
  free(cut->compressed);
  tiles_rest_free(&cut->rest);
  cuda_tiles_cut_free(k, &cut->tiles, &cut->rest_of_tiles);
}

/* Where rows of the result are among the compressed ones, for a matrix that lists its rows. */
static int list_rows(const struct csr *m, struct cut *cut) {
  if (!m->row || cut->tiles.pieces.count + cut->pieces.count == 0) return OK;
  cut->places = m->row[m->rows - 1] + 1;
  TRY(memory_alloc(&cut->compressed, cut->places * (int64_t)sizeof *cut->compressed, "rows of windows"));
  for (int64_t i = 0; i < m->rows; i++) cut->compressed[m->row[i]] = (int32_t)i;
  return OK;
}

static int cut_matrix(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                      struct cut *cut) {
  struct tile_lists *tiles = &cut->tiles;
  struct window_rule rule;
  int condenses;
  TRY(cuda_tiles_choose(k, m, plan, tiles));
  TRY(cuda_condensed_wanted(k, m, plan, tiles->choice.tile_arcs_least, &rule, &condenses));
  TRY(cuda_tiles_cut(k, m, plan, condenses, tiles, &cut->rest_of_tiles));
  const struct csr *left = tiles->pieces.count > 0 ? &cut->rest_of_tiles : m;
  if (condenses) {
    TRY(condensed_split(left, &rule, k->device->threads, &cut->condensed, &cut->rest));
    TRY(window_pieces_cut(cut->condensed.start, cut->condensed.windows, CONDENSED_PIECE, 0, &cut->pieces));
    left = &cut->rest;
  }
  TRY(list_rows(m, cut));
  return slots_cut(left, plan->tiers == LAYOUT_GATHER_IN_ORDER, &cut->slots);
}

static void describe(struct cuda_layout *layout, const struct cut *cut) {
  struct layout *base = &layout->base;
  base->least = cut->tiles.choice.tile_arcs_least;
  base->tiles = layout->tiles.count = cut->tiles.tiles.count;
  base->tile_entries = cut->tiles.tiles.entries;
  layout->tiles.pieces = cut->tiles.pieces.count;
  base->windows = cut->condensed.taken;
  base->window_blocks = layout->condensed.blocks = cut->condensed.blocks;
  base->window_entries = cut->condensed.entries;
  layout->condensed.pieces = cut->pieces.count;
  layout->gathered = cut->slots.csr->nnz;
  layout->slots = cut->slots.count;
  layout->early = cut->slots.start[cut->slots.windows];
  layout->long_rows = cut->slots.long_rows;
  layout->pieces = cut->slots.pieces;
  layout->tall_rows = cut->slots.tall_rows;
}

static int upload(struct kernels *k, struct cuda_layout *layout, const struct cut *cut) {
  const struct slots *slots = &cut->slots;
  const struct csr *m = slots->csr;
  const struct tiles *tiles = &cut->tiles.tiles;
  const struct condensed *windows = &cut->condensed;
  struct cuda_tiles *in_tiles = &layout->tiles;
  struct cuda_condensed *in_windows = &layout->condensed;
  int there = cut->tiles.build.col != NULL, columns = tiles->count > 0 || !there;
#define ARRAY(from, count, to) \
  { from, (count) * (int64_t)sizeof *(from), &(to), 0 }
  struct part parts[] = {
      ARRAY(slots->slot, slots->count, layout->slot),
      ARRAY(slots->long_row, slots->long_rows, layout->long_row),
      ARRAY(slots->long_target, slots->long_rows, layout->long_target),
      ARRAY(slots->piece_row, slots->pieces, layout->piece_row),
      ARRAY(slots->tall_row, slots->tall_rows, layout->tall_row),
      {m->col, columns ? m->nnz * (int64_t)sizeof *m->col : 0, &layout->col, there},
      ARRAY(m->row, m->rows, layout->row),
      ARRAY(m->weight, m->nnz, layout->value),
      ARRAY(cut->compressed, cut->places, layout->compressed),
      ARRAY(cut->tiles.pieces.piece, cut->tiles.pieces.count, in_tiles->piece),
      ARRAY(cut->tiles.pieces.start, tiles->windows + 1, in_tiles->start),
      {tiles->segment, tiles->count * (int64_t)sizeof *tiles->segment, &in_tiles->segment, there},
      {tiles->bits, tiles->count * TILE_WORDS * (int64_t)sizeof *tiles->bits, &in_tiles->bits, there},
      ARRAY(cut->pieces.piece, cut->pieces.count, in_windows->piece),
      ARRAY(cut->pieces.start, windows->windows + 1, in_windows->start),
      ARRAY(windows->col, windows->blocks * CONDENSED_COLS, in_windows->col),
      ARRAY(windows->bits, windows->blocks * BLOCK_BYTES, in_windows->bits),
      ARRAY(windows->first, windows->blocks + 1, in_windows->first),
      ARRAY(windows->value, windows->entries, in_windows->value),
  };
#undef ARRAY
  describe(layout, cut);
  return upload_parts(k, layout, parts, (int)(sizeof parts / sizeof parts[0]));
}

/* What is cut on the device goes from its copy of the matrix to the layout. */
static int fill(struct kernels *k, struct cuda_layout *layout, struct tile_lists *lists) {
  struct cuda_tiles *tiles = &layout->tiles;
  TRY(cuda_tiles_build_fill(k, &lists->build, layout->base.least, (int32_t *)tiles->segment,
                            (uint32_t *)tiles->bits, (int32_t *)layout->col));
  return device_synchronize(k->device, STREAM_COMPUTE);
}

/* Columns that are on the device and all remain become the layout's. */
static void take_columns(struct cuda_layout *layout, struct tiles_build *build) {
  layout->base.bytes += build->nnz * (int64_t)sizeof *build->col;
  layout->col = layout->col_block = build->col;
  build->col = NULL;
}

int cuda_layout_init(struct kernels *k, const struct csr *m, const struct layout_plan *plan,
                     struct layout **layout) {
  struct cuda_layout *made = NULL;
  struct cut cut = {0};
  struct tiles_build *build = &cut.tiles.build;
  TRY(memory_alloc(&made, (int64_t)sizeof *made, "layout"));
  *layout = &made->base;
  made->base.csr = m;
  int code = cut_matrix(k, m, plan, &cut);
  if (code == OK) code = upload(k, made, &cut);
  if (code == OK && build->col && made->tiles.count > 0)
    code = fill(k, made, &cut.tiles);
  else if (code == OK && build->col)
    take_columns(made, build);
  cut_free(k, &cut);
  return code;
}

/* The pattern stays with `from`, which outlives what is made here. */
int cuda_layout_share(struct kernels *k, const struct layout *from, struct layout **layout) {
  struct cuda_layout *made = NULL;
  TRY(memory_alloc(&made, (int64_t)sizeof *made, "layout"));
  *layout = &made->base;
  *made = *cuda_layout(from);
  made->block = made->col_block = NULL;
  made->value = NULL;
  TRY(device_alloc(k->device, from->csr->nnz * (int64_t)sizeof *made->value, &made->block, "sparse values"));
  made->value = made->block;
  return OK;
}

void cuda_layout_free(struct kernels *k, struct layout *layout) {
  struct cuda_layout *mine = (struct cuda_layout *)layout;
  device_release(k->device, mine->block);
  device_release(k->device, mine->col_block);
  free(mine);
}
