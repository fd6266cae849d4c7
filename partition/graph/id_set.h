/* id_set: a set of ids in [0, most), a bit each, and the place of each id among those that it has. */
#ifndef PARTITION_GRAPH_ID_SET_H
#define PARTITION_GRAPH_ID_SET_H

#include <stdint.h>

struct id_set {
  int64_t most, count;
  uint64_t *bit;   /* [most / 64 + 1] */
  int32_t *before; /* [most / 64 + 1] ids below those of a word; after id_set_seal */
};

int id_set_init(struct id_set *set, int64_t most);
void id_set_free(struct id_set *set);

/* Bytes of one of ids in [0, most). */
int64_t id_set_bytes(int64_t most);

/* May be called by several threads at a time. */
static inline void id_set_add(struct id_set *set, int64_t id) {
  uint64_t *word = &set->bit[id / 64], bit = (uint64_t)1 << id % 64;
  if (__atomic_load_n(word, __ATOMIC_RELAXED) & bit) return;
  __atomic_fetch_or(word, bit, __ATOMIC_RELAXED);
}

static inline int id_set_has(const struct id_set *set, int64_t id) {
  return set->bit[id / 64] >> id % 64 & 1;
}

/* Counts the ids, none of which may be added any more. */
void id_set_seal(struct id_set *set);

/* How many ids below this one the sealed set has. */
static inline int64_t id_set_place(const struct id_set *set, int64_t id) {
  return set->before[id / 64] + __builtin_popcountll(set->bit[id / 64] & (((uint64_t)1 << id % 64) - 1));
}

/* All of them, ascending: id[count]. */
void id_set_list(const struct id_set *set, int32_t *id);

#endif
