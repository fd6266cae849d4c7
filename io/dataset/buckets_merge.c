#include <math.h>

#include "io/dataset/buckets.h"
#include "runtime/base/base.h"

/* Bits of a column that a pass sorts by, at most: its counts stay in the nearest cache. */
enum { DIGIT = 11 };

/* Entries and their weights. */
struct run {
  uint64_t *entry;
  float *weight; /* NULL: there are none */
};

/* A bucket while its rows are sorted and merged. */
struct table {
  int64_t entries, digits; /* for which there is room */
  struct run room[2];      /* [entries]: for entries that come from a file; to sort into */
  int64_t *end;            /* [digits + 1]: of each digit, in the end of each row: where its entries end */
  int32_t *col;            /* [entries], merged */
  float *sum;              /* likewise; NULL unless weighted */
  int64_t kept, place;     /* arcs, and where they go */
  struct merged merged;    /* of all buckets so far */
};

static void table_free(struct table *table) {
  for (int i = 0; i < 2; i++) free_all(table->room[i].entry, table->room[i].weight);
  free_all(table->end, table->col, table->sum);
}

/* What the buckets had before is lost. */
static int table_grow(struct table *table, const struct bucket *bucket, int weighted) {
  struct run *room = table->room;
  int64_t digits = larger(bucket->end - bucket->first, 1 << DIGIT), entries = bucket->count;
  if (digits > table->digits) {
    free(table->end);
    TRY(memory_arrays("rows of arcs", ROOM(&table->end, digits + 1)));
    table->digits = digits;
  }
  if (entries <= table->entries) return OK;
  free_all(room[0].entry, room[1].entry, room[0].weight, room[1].weight, table->col, table->sum);
  room[0].weight = room[1].weight = table->sum = NULL;
  table->entries = 0;
  TRY(memory_arrays("sorted arcs", ROOM(&room[0].entry, entries), ROOM(&room[1].entry, entries),
                    ROOM(&table->col, entries)));
  if (weighted)
    TRY(memory_arrays("edge weights", ROOM(&room[0].weight, entries), ROOM(&room[1].weight, entries),
                      ROOM(&table->sum, entries)));
  table->entries = entries;
  return OK;
}

/* A stable pass of a radix sort by (entry >> shift) & mask, which is below `digits`. */
static void sort_by(const struct run *from, const struct run *to, int64_t count, int shift, uint64_t mask,
                    int64_t digits, int64_t *end) {
  memset(end, 0, (size_t)(digits + 1) * sizeof *end);
  for (int64_t i = 0; i < count; i++) end[(from->entry[i] >> shift & mask) + 1]++;
  for (int64_t d = 0; d < digits; d++) end[d + 1] += end[d];
  for (int64_t i = 0; i < count; i++) {
    int64_t at = end[from->entry[i] >> shift & mask]++;
    to->entry[at] = from->entry[i];
    if (to->weight) to->weight[at] = from->weight[i];
  }
}

/* Sorts a bucket's entries by row, column and direction, from `run` into what it is then; row v's end at
 * table->end[v - first]. */
static void sort_bucket(struct table *table, const struct bucket *bucket, int64_t columns, struct run *run) {
  int bits = 1, passes;
  while (columns > (int64_t)1 << bits) bits++;
  bits++; /* the direction */
  passes = (bits + DIGIT - 1) / DIGIT;
  int width = (bits + passes - 1) / passes;
  struct run other = table->room[1], sorted;
  for (int p = 0; p <= passes; p++) {
    if (p < passes)
      sort_by(run, &other, bucket->count, p * width, (1U << width) - 1, 1 << width, table->end);
    else
      sort_by(run, &other, bucket->count, 32, UINT32_MAX, bucket->end - bucket->first, table->end);
    sorted = other;
    other = *run;
    *run = sorted;
  }
}

/* Equal arcs from *at on, of one row and direction: how many, and the sum of their weights. */
static int64_t take_equal(const struct run *run, int64_t *at, int64_t end, float *sum) {
  int64_t first = *at;
  double total = 0;
  for (; *at < end && run->entry[*at] == run->entry[first]; ++*at)
    total += run->weight ? (double)run->weight[*at] : 0;
  *sum = (float)total;
  return *at - first;
}

/* The arcs of one column: both directions, if both are there. */
static int merge_column(struct table *table, const struct run *run, int both, int64_t row, int64_t *at,
                        int64_t end) {
  uint64_t own_entry = run->entry[*at] & ~1ULL;
  int32_t col = (int32_t)((uint32_t)own_entry >> 1);
  float own = 0, reversed = 0;
  int is_own = run->entry[*at] == own_entry && take_equal(run, at, end, &own) > 0;
  int is_reversed = *at < end && run->entry[*at] == (own_entry | 1) &&
                    take_equal(run, at, end, &reversed) > 0;
  int differ = is_own && is_reversed && memcmp(&own, &reversed, sizeof own) != 0;
  if (!isfinite(own))
    FAIL(BAD_INPUT, "the values that stand at column %d of row %lld add up to more than a float holds", col,
         (long long)row);
  table->merged.own += is_own;
  table->merged.unequal += differ && fabsf(own - reversed) > 0;
  table->merged.unmatched += differ || is_own != is_reversed;
  if (!is_own && !both) return OK;
  table->col[table->kept] = col;
  if (run->weight)
    table->sum[table->kept] = !both || !is_reversed ? own : is_own ? fmaxf(own, reversed) : reversed;
  table->kept++;
  return OK;
}

/* Sorts and merges the rows of a bucket; start[v + 1]: how many arcs row v keeps. */
static int merge_bucket(struct table *table, const struct buckets *buckets, const struct bucket *bucket,
                        int both, int64_t *start) {
  const struct arcs *list = buckets->list;
  struct run run = {0};
  table->kept = 0;
  TRY(table_grow(table, bucket, list->weighted));
  TRY(spill_view(&list->spill, &bucket->entries, table->room[0].entry, (void **)&run.entry));
  if (list->weighted)
    TRY(spill_view(&list->spill, &bucket->weights, table->room[0].weight, (void **)&run.weight));
  sort_bucket(table, bucket, buckets->rows, &run);
  for (int64_t v = bucket->first, at = 0; v < bucket->end; v++) {
    int64_t end = table->end[v - bucket->first], before = table->kept;
    while (at < end) TRY(merge_column(table, &run, both, v, &at, end));
    start[v + 1] = table->kept - before;
  }
  return OK;
}

/* In the order of the buckets: where the bucket's arcs go. */
static void take_place(struct csr *graph, struct table *table) {
  table->place = graph->nnz;
  graph->nnz += table->kept;
}

static void copy_rows(const struct csr *graph, const struct table *table) {
  const int64_t place = table->place;
  if (table->kept == 0) return;
  memcpy(graph->col + place, table->col, (size_t)table->kept * sizeof *graph->col);
  if (graph->weight) memcpy(graph->weight + place, table->sum, (size_t)table->kept * sizeof *graph->weight);
}

static void drop(struct spill *spill, struct bucket *bucket) {
  spill_drop(spill, &bucket->entries);
  spill_drop(spill, &bucket->weights);
}

/* A thread copies its bucket's rows when it comes for another one, as in buckets_deal. */
static int merge_all(struct buckets *buckets, int both, struct csr *graph, struct merged *merged) {
  struct arcs *list = buckets->list;
  struct error_first error = {0};
#pragma omp parallel
  {
    ENDED_BY(table_free) struct table table = {0};
    int code = OK;
#pragma omp for ordered schedule(dynamic, 1) nowait
    for (int64_t k = 0; k < buckets->count; k++) {
      if (code == OK) copy_rows(graph, &table);
      if (code == OK) code = merge_bucket(&table, buckets, &buckets->bucket[k], both, graph->start);
      error_note(&error, k, code);
      drop(&list->spill, &buckets->bucket[k]);
#pragma omp ordered
      if (code == OK) take_place(graph, &table);
    }
    if (code == OK) copy_rows(graph, &table);
#pragma omp critical(buckets_merged)
    {
      merged->own += table.merged.own;
      merged->unmatched += table.merged.unmatched;
      merged->unequal += table.merged.unequal;
    }
  }
  return error_raise_noted(&error);
}

/* Gives back what was not needed of the arrays, which were made for the worst case. */
static void shrink(struct csr *graph) {
  size_t entries = (size_t)larger(graph->nnz, 1);
  int32_t *col = realloc(graph->col, entries * sizeof *col);
  if (col) graph->col = col;
  float *weight = graph->weight ? realloc(graph->weight, entries * sizeof *weight) : NULL;
  if (weight) graph->weight = weight;
}

int buckets_merge(struct buckets *buckets, int both, struct csr *graph, struct merged *merged) {
  int64_t most = 0;
  *merged = (struct merged){0};
  for (int64_t k = 0; k < buckets->count; k++) most += buckets->bucket[k].count;
  if (!both) most /= 2; /* each arc is two entries */
  TRY(csr_init(graph, buckets->rows, buckets->rows, most, buckets->list->weighted));
  graph->nnz = 0;
  TRY(merge_all(buckets, both, graph, merged));
  for (int64_t v = 0; v < graph->rows; v++) graph->start[v + 1] += graph->start[v];
  shrink(graph);
  return OK;
}
