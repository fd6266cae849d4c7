#include "io/dataset/arcs.h"

#include "runtime/base/base.h"

static int64_t pair_bytes(int wide) {
  return wide ? (int64_t)sizeof(struct arc) : 2 * (int64_t)sizeof(uint32_t);
}

static int64_t block_bytes(const struct arcs *arcs, int64_t count, int wide) {
  return count * (pair_bytes(wide) + (arcs->weighted ? (int64_t)sizeof(float) : 0));
}

void arc_room_free(struct arc_room *room) {
  free_all(room->arc, room->weight, room->packed);
  *room = (struct arc_room){0};
}

int arc_room_make(const struct arcs *arcs, struct arc_room *room) {
  *room = (struct arc_room){0};
  TRY(memory_arrays("arcs", ROOM(&room->arc, ARCS_BLOCK)));
  if (arcs->weighted) TRY(memory_arrays("edge weights", ROOM(&room->weight, ARCS_BLOCK)));
  return arcs->spill.file.open ? memory_alloc(&room->packed, block_bytes(arcs, ARCS_BLOCK, 1), "arcs") : OK;
}

void arcs_free(struct arcs *arcs) {
  for (int64_t b = 0; b < arcs->blocks; b++) free(arcs->block[b].place.memory);
  free(arcs->block);
  arc_room_free(&arcs->last);
  spill_close(&arcs->spill);
  *arcs = (struct arcs){0};
}

int arcs_add(struct arcs *arcs, int64_t source, int64_t target, float weight) {
  struct arc_room *last = &arcs->last;
  if (!last->arc) TRY(arc_room_make(arcs, last));
  if (last->count == ARCS_BLOCK) TRY(arcs_pack(arcs));
  last->arc[last->count] = (struct arc){source, target};
  if (arcs->weighted) last->weight[last->count] = weight;
  last->count++;
  arcs->count++;
  return OK;
}

/* Writes the ids at the beginning of the block's place and the weights behind them. */
static int write_block(const struct arcs *arcs, const struct arc_block *block, const struct arc_room *room) {
  enum { PART = 4096 };
  const struct spill *spill = &arcs->spill;
  int64_t bytes = pair_bytes(block->wide);
  for (int64_t first = 0; first < room->count; first += PART) {
    int64_t count = smaller(PART, room->count - first);
    uint32_t id[2 * PART];
    const void *data = room->arc + first;
    for (int64_t i = 0; !block->wide && i < count; i++) {
      id[2 * i] = (uint32_t)room->arc[first + i].source;
      id[2 * i + 1] = (uint32_t)room->arc[first + i].target;
    }
    if (!block->wide) data = id;
    TRY(spill_write(spill, &block->place, first * bytes, count * bytes, data));
  }
  if (!arcs->weighted) return OK;
  return spill_write(spill, &block->place, room->count * bytes, room->count * (int64_t)sizeof(float),
                     room->weight);
}

/* Room for one block more. */
static int grow(struct arcs *arcs, int64_t blocks) {
  int64_t bytes = (int64_t)sizeof *arcs->block;
  if (blocks <= arcs->capacity) return OK;
  int64_t capacity = larger(blocks, 2 * arcs->capacity + 16);
  TRY(memory_grow(&arcs->block, arcs->blocks * bytes, capacity * bytes, "the list of arcs"));
  arcs->capacity = capacity;
  return OK;
}

int arcs_pack(struct arcs *arcs) {
  struct arc_room *last = &arcs->last;
  int64_t source = -1, target = -1;
  for (int64_t i = 0; i < last->count; i++) {
    source = larger(source, last->arc[i].source);
    target = larger(target, last->arc[i].target);
  }
  if (last->count == 0) return OK;
  TRY(grow(arcs, arcs->blocks + 1));
  struct arc_block *block = &arcs->block[arcs->blocks];
  *block = (struct arc_block){
      arcs->count - last->count, last->count, larger(source, target) > UINT32_MAX, {0}};
  TRY(spill_room(&arcs->spill, block_bytes(arcs, block->count, block->wide), &block->place));
  arcs->blocks++;
  TRY(write_block(arcs, block, last));
  arcs->largest_source = larger(arcs->largest_source, source);
  arcs->largest_target = larger(arcs->largest_target, target);
  last->count = 0;
  return OK;
}

int arcs_join(struct arcs *arcs, struct arcs *more) {
  TRY(arcs_pack(arcs));
  TRY(grow(arcs, arcs->blocks + more->blocks));
  for (int64_t b = 0; b < more->blocks; b++) {
    struct arc_block *block = &arcs->block[arcs->blocks++];
    *block = more->block[b];
    block->first += arcs->count;
    more->block[b] = (struct arc_block){0};
    TRY(spill_move(&arcs->spill, &block->place));
  }
  arcs->count += more->count;
  arcs->largest_source = larger(arcs->largest_source, more->largest_source);
  arcs->largest_target = larger(arcs->largest_target, more->largest_target);
  more->blocks = more->count = more->largest_source = more->largest_target = 0;
  return OK;
}

int arcs_take(struct arcs *arcs, struct arc **arc) {
  ENDED_BY(arc_room_free) struct arc_room room = {0};
  TRY(arcs_pack(arcs));
  TRY(arc_room_make(arcs, &room));
  TRY(memory_arrays("the list of arcs", ROOM(arc, arcs->count)));
  int64_t at = 0;
  for (int64_t b = 0; b < arcs->blocks; b++) {
    TRY(arcs_unpack(arcs, b, &room));
    memcpy(*arc + at, room.arc, (size_t)room.count * sizeof *room.arc);
    at += room.count;
    arcs_drop(arcs, b);
  }
  arcs->blocks = arcs->count = 0;
  return OK;
}

int arcs_unpack(const struct arcs *arcs, int64_t b, struct arc_room *room) {
  const struct arc_block *block = &arcs->block[b];
  int64_t pairs = block->count * pair_bytes(block->wide);
  char *bytes;
  TRY(spill_view(&arcs->spill, &block->place, room->packed, (void **)&bytes));
  room->count = block->count;
  const uint32_t *id = (const uint32_t *)bytes;
  for (int64_t i = 0; !block->wide && i < block->count; i++)
    room->arc[i] = (struct arc){id[2 * i], id[2 * i + 1]};
  if (block->wide) memcpy(room->arc, bytes, (size_t)pairs);
  if (arcs->weighted) memcpy(room->weight, bytes + pairs, (size_t)block->count * sizeof *room->weight);
  return OK;
}

int arcs_repack(struct arcs *arcs, int64_t b, const struct arc_room *room) {
  struct arc_block *block = &arcs->block[b];
  block->count = room->count;
  block->wide = 0;
  return write_block(arcs, block, room);
}

void arcs_drop(struct arcs *arcs, int64_t b) {
  spill_drop(&arcs->spill, &arcs->block[b].place);
  arcs->block[b].count = 0;
}
