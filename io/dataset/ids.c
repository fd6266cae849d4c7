#include "io/dataset/ids.h"

#include "runtime/base/base.h"

/* Open addressing; a slot is free while its key is -1. */
struct table {
  int64_t *key;
  int32_t *rank;
  int64_t size, used; /* size is a power of two, at least twice used */
};

static void table_free(struct table *table) {
  free_all(table->key, table->rank);
}

static int table_init(struct table *table, int64_t size) {
  *table = (struct table){.size = size};
  TRY(memory_arrays("the table of node ids", ROOM(&table->key, size)));
  for (int64_t i = 0; i < size; i++) table->key[i] = -1;
  return OK;
}

/* Every bit of the key moves the lower ones: ids may differ in their highest bits alone. */
static uint64_t mixed_bits(uint64_t key) {
  for (int round = 0; round < 2; round++) key = (key ^ key >> 32) * 0x9E3779B97F4A7C15u;
  return key ^ key >> 32;
}

static int64_t slot_of(const struct table *table, int64_t key) {
  int64_t mask = table->size - 1, at = (int64_t)mixed_bits((uint64_t)key) & mask;
  while (table->key[at] != key && table->key[at] != -1) at = (at + 1) & mask;
  return at;
}

static int table_grow(struct table *table) {
  struct table larger = {0};
  int code = table_init(&larger, 2 * table->size);
  for (int64_t i = 0; code == OK && i < table->size; i++) {
    if (table->key[i] != -1) larger.key[slot_of(&larger, table->key[i])] = table->key[i];
  }
  larger.used = table->used;
  struct table unwanted = code == OK ? *table : larger;
  if (code == OK) *table = larger;
  table_free(&unwanted);
  return code;
}

static int too_many_nodes(void) {
  FAIL(BAD_INPUT, "more than %d nodes; node ids are 32-bit inside a program", INT32_MAX);
}

static int fill_table(struct table *table, const int64_t *value, int64_t count) {
  TRY(table_init(table, 1 << 16));
  for (int64_t i = 0; i < count; i++) {
    int64_t at = slot_of(table, value[i]);
    if (table->key[at] == value[i]) continue;
    table->key[at] = value[i];
    if (2 * ++table->used > table->size) TRY(table_grow(table));
  }
  return table->used > INT32_MAX ? too_many_nodes() : OK;
}

static int rank_by_table(struct table *table, int64_t *value, int64_t count, int64_t **id, int64_t *nodes) {
  TRY(fill_table(table, value, count));
  TRY(memory_arrays("node ids", ROOM(id, table->used)));
  TRY(memory_arrays("the table of node ids", ROOM(&table->rank, table->size)));
  *nodes = 0;
  for (int64_t i = 0; i < table->size; i++) {
    if (table->key[i] != -1) (*id)[(*nodes)++] = table->key[i];
  }
  qsort(*id, (size_t)*nodes, sizeof **id, compare_int64);
  for (int64_t v = 0; v < *nodes; v++) table->rank[slot_of(table, (*id)[v])] = (int32_t)v;
  for (int64_t i = 0; i < count; i++) value[i] = table->rank[slot_of(table, value[i])];
  return OK;
}

/* rank[value] for values in [0, limit). */
static int rank_by_array(int32_t **rank, int64_t limit, int64_t *value, int64_t count, int64_t **id,
                         int64_t *nodes) {
  TRY(memory_arrays("the table of node ids", ROOM(rank, limit)));
  for (int64_t i = 0; i < count; i++) (*rank)[value[i]] = 1;
  int64_t distinct = 0;
  for (int64_t v = 0; v < limit; v++) distinct += (*rank)[v];
  if (distinct > INT32_MAX) return too_many_nodes();
  TRY(memory_arrays("node ids", ROOM(id, distinct)));
  *nodes = 0;
  for (int64_t v = 0; v < limit; v++) {
    if (!(*rank)[v]) continue;
    (*rank)[v] = (int32_t)*nodes;
    (*id)[(*nodes)++] = v;
  }
  for (int64_t i = 0; i < count; i++) value[i] = (*rank)[value[i]];
  return OK;
}

int ids_rank(int64_t *value, int64_t count, int64_t **id, int64_t *nodes) {
  int64_t largest = -1;
  for (int64_t i = 0; i < count; i++) largest = value[i] > largest ? value[i] : largest;
  FREED int32_t *rank = NULL;
  ENDED_BY(table_free) struct table table = {0};
  TRY(largest < 4 * count + 65536 ? rank_by_array(&rank, largest + 1, value, count, id, nodes)
                                  : rank_by_table(&table, value, count, id, nodes));
  if (*nodes - 1 == largest) { /* no gap: the ids say nothing; the largest may be the last of 64 bits */
    free(*id);
    *id = NULL;
  }
  return OK;
}

int64_t ids_find(const int64_t *id, int64_t nodes, int64_t value) {
  if (!id) return value >= 0 && value < nodes ? value : -1;
  const int64_t *found = bsearch(&value, id, (size_t)nodes, sizeof *id, compare_int64);
  return found ? found - id : -1;
}
