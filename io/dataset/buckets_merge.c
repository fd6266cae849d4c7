#include <math.h>

#include "io/dataset/buckets.h"
#include "runtime/base/base.h"

/* A bucket while its rows are sorted and merged. Sorted keys: column << 32 | reversed << 31 | number of the
 * weight, so that equal arcs stand in the order of the list. */
struct table {
  int64_t entries, rows; /* for which there is room */
  uint64_t *entry, *key; /* [entries]: as they come from a file; of the rows, one after the other */
  float *weight;         /* [entries], as they come from a file */
  int64_t *end;          /* [rows + 1]: where the keys of a row end */
  int32_t *col;          /* [entries], merged */
  float *sum;            /* likewise; NULL unless weighted */
  int64_t kept;
  struct merged merged; /* of all buckets so far */
};

static void table_free(struct table *table) {
  free_all(table->entry, table->key, table->weight, table->end, table->col, table->sum);
}

/* What the buckets had before is lost. */
static int table_grow(struct table *table, const struct bucket *bucket, int weighted) {
  int64_t rows = bucket->end - bucket->first;
  if (weighted && bucket->count > INT32_MAX)
    FAIL(BAD_INPUT, "%lld weighted arcs at nodes %lld to %lld; at most %d can be sorted",
         (long long)bucket->count, (long long)bucket->first, (long long)bucket->end - 1, INT32_MAX);
  if (rows > table->rows) {
    free(table->end);
    TRY(memory_arrays("rows of arcs", ROOM(&table->end, rows + 1)));
    table->rows = rows;
  }
  if (bucket->count <= table->entries) return OK;
  free_all(table->entry, table->key, table->weight, table->col, table->sum);
  table->weight = table->sum = NULL;
  table->entries = 0;
  TRY(memory_arrays("sorted arcs", ROOM(&table->entry, bucket->count), ROOM(&table->key, bucket->count),
                    ROOM(&table->col, bucket->count)));
  if (weighted)
    TRY(memory_arrays("edge weights", ROOM(&table->weight, bucket->count), ROOM(&table->sum, bucket->count)));
  table->entries = bucket->count;
  return OK;
}

static void sort_keys(uint64_t *key, int64_t count) {
  enum { FEW = 24 };
  for (int64_t i = 1; count <= FEW && i < count; i++) {
    uint64_t moved = key[i];
    int64_t at = i;
    for (; at > 0 && key[at - 1] > moved; at--) key[at] = key[at - 1];
    key[at] = moved;
  }
  if (count > FEW) qsort(key, (size_t)count, sizeof *key, compare_int64); /* all are below 2^63 */
}

/* Deals the entries to their rows. */
static void group_rows(struct table *table, const struct bucket *bucket, const uint64_t *entry,
                       int weighted) {
  int64_t rows = bucket->end - bucket->first, *end = table->end;
  memset(end, 0, (size_t)(rows + 1) * sizeof *end);
  for (int64_t i = 0; i < bucket->count; i++) end[(entry[i] >> 32) + 1]++;
  for (int64_t v = 0; v < rows; v++) end[v + 1] += end[v];
  for (int64_t i = 0; i < bucket->count; i++) {
    uint64_t column = (uint32_t)entry[i] >> 1, reversed = entry[i] & 1;
    table->key[end[entry[i] >> 32]++] = column << 32 | reversed << 31 | (uint64_t)(weighted ? i : 0);
  }
}

/* Equal arcs [*at, ...) of one direction: how many, and the sum of their weights. */
static int64_t take_equal(const uint64_t *key, int64_t *at, int64_t end, const float *weight, float *sum) {
  int64_t first = *at;
  double total = 0;
  for (; *at < end && key[*at] >> 31 == key[first] >> 31; ++*at)
    total += weight ? (double)weight[key[*at] & INT32_MAX] : 0;
  *sum = (float)total;
  return *at - first;
}

/* The arcs of one column: both directions, if both are there. */
static int merge_column(struct table *table, int both, int64_t row, int64_t *at, int64_t end,
                        const float *weight) {
  const uint64_t *key = table->key;
  int32_t col = (int32_t)(key[*at] >> 32);
  float own = 0, reversed = 0;
  int is_own = !(key[*at] >> 31 & 1) && take_equal(key, at, end, weight, &own) > 0;
  int is_reversed = *at < end && (int32_t)(key[*at] >> 32) == col &&
                    take_equal(key, at, end, weight, &reversed) > 0;
  int differ = weight && is_own && is_reversed && memcmp(&own, &reversed, sizeof own) != 0;
  if (!isfinite(own))
    FAIL(BAD_INPUT, "the values that stand at column %d of row %lld add up to more than a float holds", col,
         (long long)row);
  table->merged.own += is_own;
  table->merged.unequal += differ && fabsf(own - reversed) > 0;
  table->merged.lonely += differ || is_own != is_reversed;
  if (!is_own && !both) return OK;
  table->col[table->kept] = col;
  if (weight)
    table->sum[table->kept] = !both || !is_reversed ? own : is_own ? fmaxf(own, reversed) : reversed;
  table->kept++;
  return OK;
}

/* Sorts and merges the rows of a bucket; start[v + 1]: how many arcs row v keeps. */
static int merge_bucket(struct table *table, const struct arcs *list, const struct bucket *bucket, int both,
                        int64_t *start) {
  void *entry, *weight = NULL;
  table->kept = 0;
  TRY(table_grow(table, bucket, list->weighted));
  TRY(spill_view(&list->spill, &bucket->entries, table->entry, &entry));
  if (list->weighted) TRY(spill_view(&list->spill, &bucket->weights, table->weight, &weight));
  group_rows(table, bucket, entry, list->weighted);
  for (int64_t v = bucket->first, at = 0; v < bucket->end; v++) {
    int64_t end = table->end[v - bucket->first], before = table->kept;
    sort_keys(table->key + at, end - at);
    while (at < end) TRY(merge_column(table, both, v, &at, end, weight));
    start[v + 1] = table->kept - before;
  }
  return OK;
}

/* In the order of the buckets: where the bucket's arcs go. */
static int64_t take_place(struct csr *graph, const struct table *table) {
  graph->nnz += table->kept;
  return graph->nnz - table->kept;
}

static void copy_rows(const struct csr *graph, const struct table *table, int64_t place) {
  memcpy(graph->col + place, table->col, (size_t)table->kept * sizeof *graph->col);
  if (graph->weight) memcpy(graph->weight + place, table->sum, (size_t)table->kept * sizeof *graph->weight);
}

static void drop(struct spill *spill, struct bucket *bucket) {
  spill_drop(spill, &bucket->entries);
  spill_drop(spill, &bucket->weights);
}

static int merge_all(struct buckets *buckets, int both, struct csr *graph, struct merged *merged) {
  struct arcs *list = buckets->list;
  struct error_first error = {0};
#pragma omp parallel
  {
    ENDED_BY(table_free) struct table table = {0};
    int code = OK;
#pragma omp for ordered schedule(dynamic, 1)
    for (int64_t k = 0; k < buckets->count; k++) {
      int64_t place = 0;
      if (code == OK) code = merge_bucket(&table, list, &buckets->bucket[k], both, graph->start);
#pragma omp ordered
      if (code == OK) place = take_place(graph, &table);
      if (code == OK) copy_rows(graph, &table, place);
      error_note(&error, k, code);
      drop(&list->spill, &buckets->bucket[k]);
    }
#pragma omp critical(buckets_merged)
    {
      merged->own += table.merged.own;
      merged->lonely += table.merged.lonely;
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
