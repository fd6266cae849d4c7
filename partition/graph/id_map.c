#include "partition/graph/id_map.h"

#include "runtime/base/base.h"

void id_map_free(struct id_map *map) {
  id_set_free(&map->set);
  free(map->made);
  *map = (struct id_map){0};
}

static int is_array(int64_t most, int64_t count) {
  return 2 * count >= most;
}

int64_t id_map_bytes(int64_t most, int64_t count) {
  return (is_array(most, count) ? most : count) * (int64_t)sizeof(int32_t) +
         (is_array(most, count) ? 0 : id_set_bytes(most));
}

static void add(struct id_set *set, struct id_list list) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < list.count; i++) id_set_add(set, list.id[i]);
}

static void put(struct id_map *map, struct id_list list, int64_t from) {
#pragma omp parallel for schedule(static)
  for (int64_t i = 0; i < list.count; i++)
    map->made[map->set.bit ? id_set_place(&map->set, list.id[i]) : list.id[i]] = (int32_t)(from + i);
}

int id_map_init(struct id_map *map, int64_t most, struct id_list first, struct id_list behind) {
  const int64_t count = first.count + behind.count, all = is_array(most, count);
  *map = (struct id_map){0};
  TRY(memory_arrays("local ids", ROOM(&map->made, all ? most : count)));
  map->number = map->made;
  if (!all) {
    TRY(id_set_init(&map->set, most));
    add(&map->set, first);
    add(&map->set, behind);
    id_set_seal(&map->set);
  }
#pragma omp parallel for schedule(static)
  for (int64_t v = 0; v < (count < most && all ? most : 0); v++) map->made[v] = -1;
  put(map, first, 0);
  put(map, behind, first.count);
  return OK;
}
