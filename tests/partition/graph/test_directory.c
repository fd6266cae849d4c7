/* Directories: every rank gets to know of any node who owns it and where, whatever the parts are, and keeps
 * its share of what is known. */
#include "partition/graph/directory.h"

#include "partition/graph/id_map.h"
#include "runtime/base/base.h"
#include "runtime/base/random.h"
#include "tests/partition/random_graph.h"
#include "tests/partition/whole.h"
#include "tests/ranks.h"

static struct comm comm;
RANK_TESTS(comm);

static uint32_t draw(int64_t seed, int64_t i) {
  return random_block(random_key((uint64_t)seed, 0, 0, RANDOM_PARTITION), (uint64_t)i, 0).word[0];
}

/* Nodes shuffled, then cut anywhere; of few nodes most parts are empty. Each rank lists its share. */
static void draw_partition(int64_t nodes, int parts, int64_t seed, struct partition *p) {
  int64_t *order = calloc((size_t)nodes + 1, sizeof *order);
  assert_ok(partition_init_parts(p, parts, nodes));
  for (int r = 1; r < parts; r++) p->offset[r] = draw(seed, -r) % (nodes + 1);
  p->offset[parts] = nodes;
  qsort(p->offset, (size_t)parts + 1, sizeof *p->offset, compare_int64);
  for (int64_t i = 0; i < nodes; i++) {
    const int64_t j = draw(seed, i) % (i + 1);
    order[i] = order[j];
    order[j] = i;
  }
  const int64_t first = partition_place(&comm, p, comm.rank),
                listed = partition_place(&comm, p, comm.rank + 1) - first;
  assert_ok(memory_arrays("test", ROOM(&p->order, listed)));
  memcpy(p->order, order + first, (size_t)listed * sizeof *order);
  free(order);
}

/* Each rank asks for nodes of its own, some of them several times. */
static void check(const struct directory *d, const struct partition *whole) {
  enum { ASKED = 500 };
  int32_t id[ASKED] = {0}, position[ASKED];
  const int64_t count = whole->nodes > 0 ? ASKED - 50 * comm.rank : 0;
  for (int64_t i = 0; i < count; i++) id[i] = (int32_t)(draw(77 + comm.rank, i) % whole->nodes);
  assert_ok(directory_ask(&comm, d, id, count, position));
  for (int64_t i = 0; i < count; i++) {
    assert_int_equal(whole->order[position[i]], id[i]);
    assert_int_equal(directory_owner(d, position[i]), whole->part[id[i]]);
    assert_int_equal(directory_peer(d, position[i]),
                     whole->part[id[i]] / d->grid.cols * d->grid.cols + comm.rank % d->grid.cols);
  }
  assert_int_equal(directory_own(d), whole->offset[comm.rank + 1] - whole->offset[comm.rank]);
  for (int64_t i = 0; i < directory_own(d); i++)
    assert_int_equal(directory_own_ids(d)[i], whole->order[whole->offset[comm.rank] + i]);
  for (int64_t v = d->first; v < d->first + d->count; v++) {
    const int32_t at = d->position[v - d->first];
    assert_int_equal(whole->order[at], v);
    assert_int_equal(directory_has(d, at), directory_owner(d, at) / d->grid.cols == comm.rank / d->grid.cols);
  }
}

/* In every grid that the ranks can be. */
static void check_partitions(int64_t nodes, int64_t seed) {
  for (int columns = 1; columns <= comm.size; columns++) {
    struct partition p = {0};
    struct directory d = {0};
    if (comm.size % columns) continue;
    draw_partition(nodes, comm.size / columns, seed, &p);
    assert_ok(partition_deal(&p, columns));
    assert_ok(directory_init(&comm, &p, &d));
    assert_int_equal(d.grid.cols, columns);
    whole_partition(&comm, &p);
    check(&d, &p);
    directory_free(&d);
    partition_free(&p);
  }
}

TEST(any_rank_finds_any_node) {
  for (int seed = 0; seed < 6; seed++) check_partitions(1000 + 37 * seed, seed);
}

TEST(parts_and_blocks_may_be_empty) {
  for (int64_t nodes = 0; nodes < 2 * comm.size; nodes++) check_partitions(nodes, 100 + nodes);
}

TEST(nodes_that_nobody_lists_stand_as_the_file_has_them) {
  struct partition p = {0};
  struct directory d = {0};
  assert_ok(partition_init_parts(&p, comm.size, 211));
  for (int r = 0; r <= comm.size; r++)
    p.offset[r] = r < comm.size ? 211 * r * r / comm.size / comm.size : 211;
  assert_ok(directory_init(&comm, &p, &d));
  whole_partition(&comm, &p);
  check(&d, &p);
  directory_free(&d);
  partition_free(&p);
}

TEST(another_order_gets_known) {
  struct partition p = {0};
  struct directory d = {0};
  draw_partition(700, comm.size, 5, &p);
  assert_ok(directory_init(&comm, &p, &d));
  whole_partition(&comm, &p);
  for (int r = 0; r < comm.size; r++)
    qsort(p.order + p.offset[r], (size_t)(p.offset[r + 1] - p.offset[r]), sizeof *p.order, compare_int64);
  qsort(d.id, (size_t)d.rows, sizeof *d.id, compare_int64);
  assert_ok(directory_tell(&comm, &d));
  check(&d, &p);
  directory_free(&d);
  partition_free(&p);
}

TEST(other_numbers_of_parts_are_refused) {
  struct partition p = {0};
  struct directory d = {0};
  assert_ok(partition_init_parts(&p, comm.size + 1, 100));
  assert_fails(directory_init(&comm, &p, &d), FAILED, "a partition into");
  directory_free(&d);
  partition_free(&p);
}

/* 12 bytes a node, over the ranks; offsets of the ranks beside them. */
TEST(what_a_rank_keeps_falls_as_the_ranks_grow) {
  enum { NODES = 1 << 16 };
  struct partition p = {0};
  struct directory d = {0};
  draw_partition(NODES, comm.size, 9, &p);
  for (int r = 0; r <= comm.size; r++) p.offset[r] = graph_block(NODES, comm.size, r);
  free(p.order); /* of other places */
  p.order = NULL;
  assert_ok(directory_init(&comm, &p, &d));
  assert_int_equal(directory_bytes(&d), NODES * 12 / comm.size + (comm.size + 1) * 8);
  directory_free(&d);
  partition_free(&p);
}

/* As a set, and as an array where it has most ids. */
TEST(maps_number_their_ids_alone) {
  enum { MOST = 1000 };
  for (int64_t every = 1; every < 10; every++) {
    int64_t id[MOST], count = 0;
    int32_t listed[MOST], number[MOST];
    struct id_map map;
    for (int64_t v = MOST - 1; v >= 0; v -= every) id[count++] = v;
    const int64_t half = count / 2;
    assert_ok(id_map_init(&map, MOST, (struct id_list){id, half}, (struct id_list){id + half, count - half}));
    assert_int_equal(map.set.bit != NULL, 2 * count < MOST);
    for (int64_t v = 0; v < MOST; v++)
      assert_int_equal(id_map_at(&map, v), (MOST - 1 - v) % every ? -1 : (MOST - 1 - v) / every);
    for (int64_t i = 0; i < count; i++) listed[i] = (int32_t)id[i];
    id_map_list(&map, listed, count, number);
    for (int64_t i = 0; i < count; i++) assert_int_equal(number[i], i);
    id_map_free(&map);
  }
}
