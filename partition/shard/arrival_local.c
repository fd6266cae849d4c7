#include "partition/shard/arrival_local.h"

#include <omp.h>

#include "runtime/base/base.h"

struct arrival_entry {
  int32_t col;
  float weight;
};

static int by_col(const void *left, const void *right) {
  int32_t a = ((const struct arrival_entry *)left)->col, b = ((const struct arrival_entry *)right)->col;
  return (a > b) - (a < b);
}

static int ascends(const int32_t *col, int64_t count) {
  int all = 1;
  for (int64_t i = 1; i < count; i++) all &= col[i - 1] < col[i];
  return all;
}

static void sort_entries(const struct arrival_row *row, const struct arrival_scratch *s) {
  for (int64_t i = 0; i < row->count; i++)
    s->entry[i] = (struct arrival_entry){s->col[i], row->weight ? s->weight[i] : 1};
  qsort(s->entry, (size_t)row->count, sizeof *s->entry, by_col);
  for (int64_t i = 0; i < row->count; i++) {
    s->col[i] = s->entry[i].col;
    s->weight[i] = s->entry[i].weight;
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
                                    scratch->entry + at};
  struct arrival_row row = arrival_find(a, v);
  if (is_in_order(a)) return row;
  id_map_list(&a->local, row.col, row.count, s.local);
  row.col = s.local;
  return ascends(row.col, row.count) ? row : sort_row(a, &row, &s);
}

int arrival_scratch_init(const struct arrival *a, struct arrival_scratch *s) {
  const int64_t room = omp_get_max_threads() * room_of_row(a);
  return memory_arrays("a row for each thread", ROOM(&s->local, room), ROOM(&s->col, room),
                       ROOM(&s->weight, room), ROOM(&s->entry, room));
}

void arrival_scratch_free(struct arrival_scratch *s) {
  free_all(s->local, s->col, s->weight, s->entry);
}
