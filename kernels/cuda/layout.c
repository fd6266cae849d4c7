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

static int upload(struct kernels *k, struct cuda_layout *layout, const struct slots *slots,
                  const struct tile_lists *lists) {
  const struct csr *m = slots->csr;
  const struct tiles *tiles = &lists->tiles;
  struct cuda_tiles *copy = &layout->tiles;
  int there = lists->build.col != NULL, columns = tiles->count > 0 || !there;
  struct part parts[] = {
      {slots->slot, slots->count * (int64_t)sizeof *slots->slot, &layout->slot, 0},
      {slots->long_row, slots->long_rows * (int64_t)sizeof *slots->long_row, &layout->long_row, 0},
      {slots->long_target, slots->long_rows * (int64_t)sizeof *slots->long_target, &layout->long_target, 0},
      {slots->piece_row, slots->pieces * (int64_t)sizeof *slots->piece_row, &layout->piece_row, 0},
      {slots->tall_row, slots->tall_rows * (int64_t)sizeof *slots->tall_row, &layout->tall_row, 0},
      {m->col, columns ? m->nnz * (int64_t)sizeof *m->col : 0, &layout->col, there},
      {m->row, m->rows * (int64_t)sizeof *m->row, &layout->row, 0},
      {m->weight, m->nnz * (int64_t)sizeof *m->weight, &layout->value, 0},
      {lists->window, lists->listed * (int64_t)sizeof *lists->window, &copy->window, 0},
      {lists->position, tiles->windows * (int64_t)sizeof *lists->position, &copy->position, 0},
      {lists->place, lists->places * (int64_t)sizeof *lists->place, &copy->place, 0},
      {tiles->segment, tiles->count * (int64_t)sizeof *tiles->segment, &copy->segment, there},
      {tiles->bits, tiles->count * TILE_WORDS * (int64_t)sizeof *tiles->bits, &copy->bits, there},
  };
  layout->base.least = lists->least;
  layout->base.tiles = copy->count = tiles->count;
  layout->base.tile_entries = tiles->entries;
  copy->listed = lists->listed;
  layout->gathered = m->nnz;
  layout->slots = slots->count;
  layout->long_rows = slots->long_rows;
  layout->pieces = slots->pieces;
  layout->tall_rows = slots->tall_rows;
  return upload_parts(k, layout, parts, (int)(sizeof parts / sizeof parts[0]));
}

/* What is cut on the device goes from its copy of the matrix to the layout. */
static int fill(struct kernels *k, struct cuda_layout *layout, struct tile_lists *lists) {
  struct cuda_tiles *tiles = &layout->tiles;
  TRY(cuda_tiles_build_fill(k, &lists->build, lists->least, (int32_t *)tiles->segment,
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
  struct slots slots = {0};
  struct tile_lists lists = {0};
  struct csr rest = {0};
  TRY(memory_alloc(&made, (int64_t)sizeof *made, "layout"));
  *layout = &made->base;
  made->base.csr = m;
  int code = cuda_tiles_cut(k, m, plan, &lists, &rest);
  if (code == OK)
    code = slots_cut(lists.listed > 0 ? &rest : m, plan->tiers == LAYOUT_GATHER_IN_ORDER, &slots);
  if (code == OK) code = upload(k, made, &slots, &lists);
  if (code == OK && lists.build.col && lists.tiles.count > 0)
    code = fill(k, made, &lists);
  else if (code == OK && lists.build.col)
    take_columns(made, &lists.build);
  slots_free(&slots);
  cuda_tiles_cut_free(k, &lists, &rest);
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
