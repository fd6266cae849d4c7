#include "io/dataset/ids.h"

#include "runtime/base/base.h"
#include "runtime/base/edge_hash.h"

enum { WORD = 64, FAR = 16, FIRST_TABLE = 1 << 16 }; /* a set has at most FAR ids for each that is noted */

void ids_free(struct ids *ids) {
  free_all(ids->set, ids->before, ids->key, ids->rank);
  *ids = (struct ids){0};
}

static int make_table(struct ids *ids, int64_t size) {
  TRY(memory_arrays("the table of node ids", ROOM(&ids->key, size)));
  ids->size = size;
  for (int64_t i = 0; i < size; i++) ids->key[i] = -1;
  return OK;
}

int ids_begin(struct ids *ids, int64_t largest, int64_t count) {
  *ids = (struct ids){.largest = largest};
  if (largest / FAR > count + FIRST_TABLE) return make_table(ids, FIRST_TABLE);
  int64_t words = largest / WORD + 1;
  return memory_arrays("the set of node ids", ROOM(&ids->set, words), ROOM(&ids->before, words));
}

/* Ids may differ in their highest bits alone. */
static int64_t slot_of(const struct ids *ids, int64_t key) {
  int64_t mask = ids->size - 1, at = (int64_t)mixed_bits((uint64_t)key) & mask;
  while (ids->key[at] != key && ids->key[at] != -1) at = (at + 1) & mask;
  return at;
}

static int grow_table(struct ids *ids) {
  struct ids larger = {.used = ids->used, .largest = ids->largest};
  TRY(make_table(&larger, 2 * ids->size));
  for (int64_t i = 0; i < ids->size; i++) {
    if (ids->key[i] != -1) larger.key[slot_of(&larger, ids->key[i])] = ids->key[i];
  }
  ids_free(ids);
  *ids = larger;
  return OK;
}

static int note_in_table(struct ids *ids, const int64_t *value, int64_t count) {
  for (int64_t i = 0; i < count; i++) {
    int64_t at = slot_of(ids, value[i]);
    if (ids->key[at] == value[i]) continue;
    ids->key[at] = value[i];
    if (2 * ++ids->used > ids->size) TRY(grow_table(ids));
  }
  return OK;
}

int ids_note(struct ids *ids, const int64_t *value, int64_t count) {
  int code = OK;
  for (int64_t i = 0; ids->set && i < count; i++) {
    uint64_t *word = &ids->set[value[i] / WORD], bit = 1ULL << value[i] % WORD;
    if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & bit)) __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
  }
  if (ids->set) return OK;
#pragma omp critical(ids_table)
  code = note_in_table(ids, value, count);
  return code;
}

static int check_nodes(int64_t nodes) {
  if (nodes > INT32_MAX)
    FAIL(BAD_INPUT, "more than %d nodes; node ids are 32-bit inside a program", INT32_MAX);
  return OK;
}

static int settle_set(struct ids *ids, int64_t **id) {
  int64_t words = ids->largest / WORD + 1, nodes = 0;
  for (int64_t w = 0; w < words; w++) nodes += __builtin_popcountll(ids->set[w]);
  TRY(check_nodes(nodes));
  TRY(memory_arrays("node ids", ROOM(id, nodes)));
  for (int64_t w = 0; w < words; w++) {
    ids->before[w] = (int32_t)ids->nodes;
    for (uint64_t left = ids->set[w]; left; left &= left - 1)
      (*id)[ids->nodes++] = w * WORD + __builtin_ctzll(left);
  }
  return OK;
}

static int settle_table(struct ids *ids, int64_t **id) {
  TRY(check_nodes(ids->used));
  TRY(memory_arrays("node ids", ROOM(id, ids->used)));
  TRY(memory_arrays("the table of node ids", ROOM(&ids->rank, ids->size)));
  for (int64_t i = 0; i < ids->size; i++) {
    if (ids->key[i] != -1) (*id)[ids->nodes++] = ids->key[i];
  }
  qsort(*id, (size_t)ids->nodes, sizeof **id, compare_int64);
  for (int64_t v = 0; v < ids->nodes; v++) ids->rank[slot_of(ids, (*id)[v])] = (int32_t)v;
  return OK;
}

int ids_settle(struct ids *ids, int64_t **id) {
  TRY(ids->set ? settle_set(ids, id) : settle_table(ids, id));
  if (ids->nodes - 1 ==
      ids->largest) { /* no gap: the ids say nothing; the largest may be the last of 64 bits */
    free(*id);
    *id = NULL;
  }
  return OK;
}

int64_t ids_rank_of(const struct ids *ids, int64_t value) {
  if (!ids->set) return ids->rank[slot_of(ids, value)];
  uint64_t smaller_bits = (1ULL << value % WORD) - 1;
  return ids->before[value / WORD] + __builtin_popcountll(ids->set[value / WORD] & smaller_bits);
}

int ids_rank(int64_t *value, int64_t count, int64_t **id, int64_t *nodes) {
  ENDED_BY(ids_free) struct ids ids = {0};
  int64_t largest = -1;
  *id = NULL;
  *nodes = 0;
  for (int64_t i = 0; i < count; i++) largest = larger(largest, value[i]);
  if (count == 0) return OK;
  TRY(ids_begin(&ids, largest, count));
  TRY(ids_note(&ids, value, count));
  TRY(ids_settle(&ids, id));
  *nodes = ids.nodes;
  for (int64_t i = 0; i < count; i++) value[i] = ids_rank_of(&ids, value[i]);
  return OK;
}

int64_t ids_find(const int64_t *id, int64_t nodes, int64_t value) {
  if (!id) return value >= 0 && value < nodes ? value : -1;
  const int64_t *found = bsearch(&value, id, (size_t)nodes, sizeof *id, compare_int64);
  return found ? found - id : -1;
}
