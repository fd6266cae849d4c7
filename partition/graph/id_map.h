/* id_map: numbers of some of the ids in [0, most). Where they are at least half of all it is an array of
 * these, else a set (id_set.h): then it takes 4 bytes an id that it has and a fifth of a byte for each other.
 */
#ifndef PARTITION_GRAPH_ID_MAP_H
#define PARTITION_GRAPH_ID_MAP_H

#include "partition/graph/id_set.h"

struct id_map {
  struct id_set set;     /* without bits: an array of all */
  const int32_t *number; /* [set.count] by their places, or [most], -1 where there is none */
  int32_t *made;         /* the same, to be freed; NULL: borrowed */
};

struct id_list {
  const int64_t *id;
  int64_t count;
};

/* Numbers the ids of `first`, then those of `behind`, from 0 on. Each is there once. Errors: FAILED when
 * memory is short. */
int id_map_init(struct id_map *map, int64_t most, struct id_list first, struct id_list behind);
void id_map_free(struct id_map *map);

/* Bytes of a map of so many ids. */
int64_t id_map_bytes(int64_t most, int64_t count);

/* Asks for what the number of an id is found in. */
static inline void id_map_fetch(const struct id_map *map, int64_t id) {
  if (!map->set.bit) {
    __builtin_prefetch(&map->number[id]);
    return;
  }
  __builtin_prefetch(&map->set.bit[id / 64]);
  __builtin_prefetch(&map->set.before[id / 64]);
}

/* number[count] of ids that are all there. */
static inline void id_map_list(const struct id_map *map, const int32_t *id, int64_t count, int32_t *number) {
  const int32_t *all = map->number;
  const struct id_set set = map->set;
  for (int64_t i = 0; i < count && !set.bit; i++) number[i] = all[id[i]];
  for (int64_t i = 0; i < count && set.bit; i++) number[i] = all[id_set_place(&set, id[i])];
}

/* The number of an id; -1: it has none. */
static inline int32_t id_map_at(const struct id_map *map, int64_t id) {
  if (!map->set.bit) return map->number[id];
  return id_set_has(&map->set, id) ? map->number[id_set_place(&map->set, id)] : -1;
}

#endif
