#include "partition/graph/id_set.h"

#include "runtime/base/base.h"

static int64_t words_of(const struct id_set *set) {
  return set->most / 64 + 1;
}

int id_set_init(struct id_set *set, int64_t most) {
  *set = (struct id_set){.most = most};
  return memory_arrays("a set of ids", ROOM(&set->bit, words_of(set)), ROOM(&set->before, words_of(set)));
}

int64_t id_set_bytes(int64_t most) {
  return (most / 64 + 1) * (int64_t)(sizeof(uint64_t) + sizeof(int32_t));
}

void id_set_free(struct id_set *set) {
  free_all(set->bit, set->before);
  *set = (struct id_set){0};
}

void id_set_seal(struct id_set *set) {
  set->count = 0;
  for (int64_t w = 0; w < words_of(set); w++) {
    set->before[w] = (int32_t)set->count;
    set->count += __builtin_popcountll(set->bit[w]);
  }
}

void id_set_list(const struct id_set *set, int32_t *id) {
  for (int64_t w = 0; w < words_of(set); w++)
    for (uint64_t left = set->bit[w]; left; left &= left - 1)
      *id++ = (int32_t)(64 * w + __builtin_ctzll(left));
}
