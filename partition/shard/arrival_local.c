#include "partition/shard/arrival_local.h"

#include <omp.h>

#include "runtime/base/base.h"
#include "runtime/base/integer.h"

struct arrival_entry {
  int32_t col;
  float weight;
};

static int ascends(const int32_t *col, int64_t count) {
  int all = 1;
  for (int64_t i = 1; i < count; i++) all &= col[i - 1] < col[i];
  return all;
}

static void insert_each(struct arrival_entry *entry, int64_t count) {
  for (int64_t i = 1; i < count; i++) {
    const struct arrival_entry here = entry[i];
    int64_t at = i;
    for (; at > 0 && entry[at - 1].col > here.col; at--) entry[at] = entry[at - 1];
    entry[at] = here;
  }
}

/* Of from[count], both [0, middle) and the rest ascend. */
static void merge(const struct arrival_entry *from, int64_t middle, int64_t count, struct arrival_entry *to) {
  int64_t left = 0, right = middle;
  while (left < middle && right < count) {
    const int second = from[right].col < from[left].col;
    *to++ = from[second ? right : left];
    left += !second;
    right += second;
  }
  memcpy(to, from + left, (size_t)(middle - left) * sizeof *to);
  memcpy(to + middle - left, from + right, (size_t)(count - right) * sizeof *to);
}

/* Pieces of a few entries by insertion, then pairs of pieces by merging, into the other room and back.
 * Returns the room that they are in. */
static const struct arrival_entry *sort_by_col(struct arrival_entry *entry, struct arrival_entry *room,
                                               int64_t count) {
  enum { FEW = 16 };
  for (int64_t i = 0; i < count; i += FEW) insert_each(entry + i, smaller(FEW, count - i));
  for (int64_t length = FEW; length < count; length *= 2) {
    for (int64_t i = 0; i < count; i += 2 * length)
      merge(entry + i, smaller(length, count - i), smaller(2 * length, count - i), room + i);
    struct arrival_entry *sorted = room;
    room = entry;
    entry = sorted;
  }
  return entry;
}

static void sort_entries(const struct arrival_row *row, const struct arrival_scratch *s) {
  for (int64_t i = 0; i < row->count; i++)
    s->entry[i] = (struct arrival_entry){s->col[i], row->weight ? s->weight[i] : 1};
  const struct arrival_entry *sorted = sort_by_col(s->entry, s->entry + row->count, row->count);
  for (int64_t i = 0; i < row->count; i++) {
    s->col[i] = sorted[i].col;
    s->weight[i] = sorted[i].weight;
  }
}

/* A row whose global ids ascend has local ids that do so in each run: run by run, the halo last, they need no
 * sorting. Every entry is written where the next one of the run goes, so that no branch depends on it. */
static struct arrival_row sort_row(const struct arrival *a, const struct arrival_row *row,
                                   const struct arrival_scratch *s) {
  int64_t at = 0;
  for (int run = 0; run <= a->runs && at < row->count; run++) {
    const int32_t first = run == 0 ? 0 : (int32_t)a->run[run],
                  last = run == a->runs ? INT32_MAX : (int32_t)a->run[run + 1] - 1;
    for (int64_t i = 0; i < row->count; i++) {
      s->col[at] = row->col[i];
      if (row->weight) s->weight[at] = row->weight[i];
      at += (row->col[i] >= first) & (row->col[i] <= last);
    }
  }
  if (!ascends(s->col, row->count)) sort_entries(row, s);
  return (struct arrival_row){row->count, s->col, row->weight ? s->weight : NULL};
}

/* Local ids are global ids where a rank has all nodes in the order of the file. */
static int is_in_order(const struct arrival *a) {
  return a->whole && a->runs == 1 && a->own == a->block->nodes;
}

int64_t arrival_lying(const struct arrival *a) {
  return a->whole ? a->block->rows : a->own;
}

int64_t arrival_lies(const struct arrival *a, int64_t i) {
  if (!a->whole) return i;
  const int64_t local = id_map_at(&a->local, a->block->first + i);
  return local < a->own ? local : -1;
}

void arrival_fetch(const struct arrival *a, int64_t i) {
  const int64_t v = i < arrival_lying(a) ? arrival_lies(a, i) : -1;
  if (v < 0 || is_in_order(a)) return;
  const struct arrival_row row = arrival_find(a, v);
  for (int64_t e = 0; e < row.count; e++) id_map_fetch(&a->local, row.col[e]);
}

/* An entry more than the longest row has: what is written behind the last one. */
static int64_t room_of_row(const struct arrival *a) {
  return a->longest + 1;
}

struct arrival_row arrival_row(const struct arrival *a, int64_t v, const struct arrival_scratch *scratch) {
  const int64_t at = omp_get_thread_num() * room_of_row(a);
  const struct arrival_scratch s = {scratch->local + at, scratch->col + at, scratch->weight + at,
                                    scratch->entry + 2 * at};
  struct arrival_row row = arrival_find(a, v);
  if (is_in_order(a)) return row;
  id_map_list(&a->local, row.col, row.count, s.local);
  row.col = s.local;
  return ascends(row.col, row.count) ? row : sort_row(a, &row, &s);
}

int arrival_scratch_init(const struct arrival *a, struct arrival_scratch *s) {
  const int64_t room = omp_get_max_threads() * room_of_row(a);
  return memory_arrays("a row for each thread", ROOM(&s->local, room), ROOM(&s->col, room),
                       ROOM(&s->weight, room), ROOM(&s->entry, 2 * room));
}

void arrival_scratch_free(struct arrival_scratch *s) {
  free_all(s->local, s->col, s->weight, s->entry);
}
