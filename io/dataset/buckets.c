#include "io/dataset/buckets.h"

#include <omp.h>

#include "runtime/base/base.h"

enum {
  RANGES = 1 << 16,      /* at most */
  BUCKET = 1 << 18,      /* entries that a core sorts in its cache */
  BUCKETS = 1 << 10,     /* so many are dealt to without losing the caches; more where memory is short */
  MERGE_BYTES = 48,      /* an entry of a bucket while it is merged */
  DEALT = 2 * ARCS_BLOCK /* entries of a block of the list */
};

int buckets_begin(struct buckets *buckets, struct arcs *list, int64_t rows) {
  *buckets = (struct buckets){.list = list, .rows = rows};
  while ((rows - 1) >> buckets->shift >= RANGES) buckets->shift++;
  buckets->ranges = rows > 0 ? ((rows - 1) >> buckets->shift) + 1 : 0;
  return memory_arrays("counts of arcs", ROOM(&buckets->in_range, buckets->ranges),
                       ROOM(&buckets->of_range, buckets->ranges), ROOM(&buckets->bucket, buckets->ranges));
}

void buckets_free(struct buckets *buckets) {
  for (int64_t k = 0; k < buckets->count; k++)
    free_all(buckets->bucket[k].entries.memory, buckets->bucket[k].weights.memory);
  free_all(buckets->in_range, buckets->of_range, buckets->bucket);
  *buckets = (struct buckets){0};
}

/* Entries that a bucket should have: what fits in a cache, but few buckets, and of these as many at once as
 * there are threads within a quarter of the memory. */
static int64_t bucket_size(const struct buckets *buckets) {
  const struct spill *spill = &buckets->list->spill;
  int64_t size = larger(BUCKET, 2 * buckets->list->count / BUCKETS);
  if (spill->path) size = smaller(size, spill->limit / 4 / MERGE_BYTES / omp_get_max_threads());
  return larger(size, DEALT);
}

/* Neighbouring ranges of rows share a bucket until it is full. */
static int divide(struct buckets *buckets) {
  struct arcs *list = buckets->list;
  int64_t size = bucket_size(buckets), rows = buckets->rows;
  struct bucket *bucket = NULL;
  for (int64_t r = 0; r < buckets->ranges; r++) {
    if (!bucket || bucket->count + buckets->in_range[r] > size) {
      bucket = &buckets->bucket[buckets->count++];
      bucket->first = r << buckets->shift;
    }
    bucket->end = smaller(rows, (r + 1) << buckets->shift);
    bucket->count += buckets->in_range[r];
    buckets->of_range[r] = (int32_t)(buckets->count - 1);
  }
  for (int64_t k = 0; k < buckets->count; k++) {
    bucket = &buckets->bucket[k];
    TRY(spill_room(&list->spill, bucket->count * (int64_t)sizeof(uint64_t), &bucket->entries));
    if (list->weighted)
      TRY(spill_room(&list->spill, bucket->count * (int64_t)sizeof(float), &bucket->weights));
  }
  return OK;
}

/* A block of the list whose entries stand by bucket, in their order: those of bucket k in [begin[k], begin[k
 * + 1]); they go to the places from `to[k]` on. */
struct sorted_block {
  struct arc_room room;
  uint64_t *entry; /* [DEALT] */
  float *weight;   /* likewise; NULL unless weighted */
  int64_t *begin, *to;
};

static int sorted_make(const struct buckets *buckets, struct sorted_block *sorted) {
  const struct arcs *list = buckets->list;
  TRY(arc_room_make(list, &sorted->room));
  TRY(memory_arrays("arcs", ROOM(&sorted->entry, DEALT), ROOM(&sorted->begin, buckets->count + 2),
                    ROOM(&sorted->to, buckets->count)));
  return list->weighted ? memory_arrays("edge weights", ROOM(&sorted->weight, DEALT)) : OK;
}

static void sorted_free(struct sorted_block *sorted) {
  arc_room_free(&sorted->room);
  free_all(sorted->entry, sorted->weight, sorted->begin, sorted->to);
}

static int64_t bucket_of(const struct buckets *buckets, int64_t row) {
  return buckets->of_range[row >> buckets->shift];
}

static void place_entry(const struct buckets *buckets, struct sorted_block *sorted, int64_t row,
                        int64_t column, int reversed, int64_t arc) {
  int64_t k = bucket_of(buckets, row), at = sorted->begin[k + 1]++;
  sorted->entry[at] = (uint64_t)(row - buckets->bucket[k].first) << 32 | (uint64_t)(column << 1 | reversed);
  if (sorted->weight) sorted->weight[at] = sorted->room.weight[arc];
}

static int sort_block(const struct buckets *buckets, struct sorted_block *sorted, int64_t block) {
  const struct arc_room *room = &sorted->room;
  int64_t *begin = sorted->begin;
  memset(begin, 0, (size_t)(buckets->count + 2) * sizeof *begin);
  TRY(arcs_unpack(buckets->list, block, &sorted->room));
  for (int64_t i = 0; i < room->count; i++) {
    begin[bucket_of(buckets, room->arc[i].target) + 2]++;
    begin[bucket_of(buckets, room->arc[i].source) + 2]++;
  }
  for (int64_t k = 0; k < buckets->count; k++) begin[k + 2] += begin[k + 1];
  for (int64_t i = 0; i < room->count; i++) {
    const struct arc *arc = &room->arc[i];
    place_entry(buckets, sorted, arc->target, arc->source, 0, i);
    place_entry(buckets, sorted, arc->source, arc->target, 1, i);
  }
  return OK;
}

/* In the order of the list. */
static void reserve_places(struct buckets *buckets, struct sorted_block *sorted) {
  for (int64_t k = 0; k < buckets->count; k++) {
    sorted->to[k] = buckets->bucket[k].filled;
    buckets->bucket[k].filled += sorted->begin[k + 1] - sorted->begin[k];
  }
}

static int write_entries(const struct buckets *buckets, const struct sorted_block *sorted) {
  const struct spill *spill = &buckets->list->spill;
  enum { ENTRY = sizeof *sorted->entry, WEIGHT = sizeof *sorted->weight };
  for (int64_t k = 0; k < buckets->count; k++) {
    const struct bucket *bucket = &buckets->bucket[k];
    int64_t from = sorted->begin[k], count = sorted->begin[k + 1] - from, to = sorted->to[k];
    TRY(spill_write(spill, &bucket->entries, to * ENTRY, count * ENTRY, sorted->entry + from));
    if (sorted->weight)
      TRY(spill_write(spill, &bucket->weights, to * WEIGHT, count * WEIGHT, sorted->weight + from));
  }
  return OK;
}

/* A thread writes its block's entries when it comes for another one: what is left of an iteration behind its
 * ordered part would keep the next block from its own. */
int buckets_deal(struct buckets *buckets) {
  struct arcs *list = buckets->list;
  struct error_first error = {0};
  TRY(divide(buckets));
#pragma omp parallel
  {
    ENDED_BY(sorted_free) struct sorted_block sorted = {0};
    int code = sorted_make(buckets, &sorted);
#pragma omp for ordered schedule(dynamic, 1) nowait
    for (int64_t b = 0; b < list->blocks; b++) {
      if (code == OK) code = write_entries(buckets, &sorted);
      if (code == OK) code = sort_block(buckets, &sorted, b);
      error_note(&error, b, code);
      arcs_drop(list, b);
#pragma omp ordered
      if (code == OK) reserve_places(buckets, &sorted);
    }
    if (code == OK) code = write_entries(buckets, &sorted);
    error_note(&error, list->blocks, code);
  }
  return error_raise_noted(&error);
}
