#include "io/import/texts.h"

#include "runtime/base/base.h"
#include "runtime/base/edge_hash.h"
#include "runtime/base/fnv.h"

enum { FIRST_SLOTS = 1 << 10, FIRST_BYTES = 1 << 14, GROUP = 64, PLACE_BITS = 40 };

void texts_free(struct texts *texts) {
  free_all(texts->text, texts->at, texts->slot);
  *texts = (struct texts){0};
}

static uint64_t hash_of(const char *text, int64_t length) {
  return mixed_bits(fnv_add(FNV_START, text, length));
}

static uint64_t slot_word(uint64_t hash, int64_t place) {
  return hash >> PLACE_BITS << PLACE_BITS | (uint64_t)place;
}

static const char *text_of(const struct texts *texts, uint64_t slot) {
  return texts->text + (slot & (((uint64_t)1 << PLACE_BITS) - 1));
}

/* The number of the text in a slot; -1: it is free. */
static int32_t number_of(const struct texts *texts, uint64_t slot) {
  int32_t number = -1;
  if (slot) memcpy(&number, text_of(texts, slot) - sizeof number, sizeof number);
  return number;
}

/* The slot of a text, or the free one that it would have. */
static int64_t slot_of(const struct texts *texts, const char *text, uint64_t hash) {
  const int64_t mask = texts->slots - 1;
  for (int64_t at = (int64_t)hash & mask;; at = (at + 1) & mask) {
    const uint64_t slot = texts->slot[at];
    if (slot == 0) return at;
    if (slot >> PLACE_BITS == hash >> PLACE_BITS && strcmp(text_of(texts, slot), text) == 0) return at;
  }
}

/* At most two thirds of the slots are used. */
static int grow_slots(struct texts *texts) {
  struct texts larger = *texts;
  larger.slots = texts->slots ? 2 * texts->slots : FIRST_SLOTS;
  if (3 * (texts->count + 1) <= 2 * texts->slots) return OK;
  TRY(memory_arrays("the table of texts", ROOM(&larger.slot, larger.slots)));
  for (int64_t i = 0; i < texts->count; i++) {
    const char *text = texts_at(texts, i);
    uint64_t hash = hash_of(text, (int64_t)strlen(text));
    larger.slot[slot_of(&larger, text, hash)] = slot_word(hash, texts->at[i]);
  }
  free(texts->slot);
  *texts = larger;
  return OK;
}

/* Room for a text more, which takes that many bytes. */
static int grow(struct texts *texts, int64_t bytes) {
  const int64_t place = (int64_t)sizeof *texts->at;
  if (texts->count == INT32_MAX) FAIL(BAD_INPUT, "more than %d different texts", INT32_MAX);
  if ((texts->used + bytes) >> PLACE_BITS) FAIL(FAILED, "out of memory: texts of more than 1 TiB");
  TRY(grow_slots(texts));
  if (texts->count == texts->capacity) {
    int64_t capacity = 2 * texts->capacity + FIRST_SLOTS;
    TRY(memory_grow(&texts->at, texts->count * place, capacity * place, "texts"));
    texts->capacity = capacity;
  }
  if (bytes <= texts->size - texts->used) return OK;
  int64_t size = 2 * texts->size + FIRST_BYTES + bytes;
  TRY(memory_grow(&texts->text, texts->used, size, "texts"));
  texts->size = size;
  return OK;
}

int texts_add(struct texts *texts, const char *text, int32_t *number, int *is_new) {
  const int64_t length = (int64_t)strlen(text);
  const uint64_t hash = hash_of(text, length);
  *number = texts->slots ? number_of(texts, texts->slot[slot_of(texts, text, hash)]) : -1;
  *is_new = *number < 0;
  if (!*is_new) return OK;
  TRY(grow(texts, (int64_t)sizeof *number + length + 1));
  *number = (int32_t)texts->count;
  memcpy(texts->text + texts->used, number, sizeof *number);
  texts->used += (int64_t)sizeof *number;
  memcpy(texts->text + texts->used, text, (size_t)length + 1);
  texts->slot[slot_of(texts, text, hash)] = slot_word(hash, texts->used);
  texts->at[texts->count++] = texts->used;
  texts->used += length + 1;
  return OK;
}

int32_t texts_find(const struct texts *texts, const char *text) {
  if (texts->count == 0) return -1;
  return number_of(texts, texts->slot[slot_of(texts, text, hash_of(text, (int64_t)strlen(text)))]);
}

/* Slots and texts lie far apart: those of all are asked for before the first one is looked at. */
static void find_group(const struct texts *texts, const char *const *text, int count, int32_t *number) {
  uint64_t hash[GROUP];
  const int64_t mask = texts->slots - 1;
  for (int i = 0; i < count; i++) {
    hash[i] = hash_of(text[i], (int64_t)strlen(text[i]));
    __builtin_prefetch(&texts->slot[(int64_t)hash[i] & mask]);
  }
  for (int i = 0; i < count; i++) __builtin_prefetch(text_of(texts, texts->slot[(int64_t)hash[i] & mask]));
  for (int i = 0; i < count; i++) number[i] = number_of(texts, texts->slot[slot_of(texts, text[i], hash[i])]);
}

void texts_find_all(const struct texts *texts, const char *const *text, int64_t count, int32_t *number) {
  for (int64_t i = 0; i < count && texts->count == 0; i++) number[i] = -1;
  for (int64_t i = 0; i < count && texts->count > 0; i += GROUP)
    find_group(texts, text + i, (int)smaller(GROUP, count - i), number + i);
}

int texts_list(const struct texts *texts, const int32_t *number, int64_t count, const char ***list) {
  TRY(memory_arrays("texts", ROOM(list, count)));
  for (int64_t i = 0; i < count; i++) (*list)[i] = texts_at(texts, number ? number[i] : i);
  return OK;
}
