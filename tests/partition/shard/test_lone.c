/* A rank alone (runtime/comm/comm_lone.h) has the shard, the plans of its halos and the data that it has
 * among the others. */
#include "partition/shard/shard.h"
#include "runtime/comm/comm_lone.h"
#include "runtime/config/config.h"
#include "tests/on_hosts.h"
#include "tests/partition/random_graph.h"
#include "tests/partition/whole.h"
#include "tests/ranks.h"

static struct comm comm;
static struct device device;
static struct network network = {{1, 1, 1, 0}, {1, 1, 1, 0}, 0, 8, {0, 0, 0, 0}};

/* What is drawn, and how ranks share it. */
struct setting {
  struct random_graph graph;
  enum self_loops loops;
  int columns, stride; /* of the grid; of levels, 0: there are none */
};

static void compare_csr(const struct csr *a, const struct csr *b) {
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->cols, b->cols);
  assert_int_equal(a->nnz, b->nnz);
  assert_memory_equal(a->start, b->start, (size_t)(a->rows + 1) * sizeof *a->start);
  if (a->nnz > 0) assert_memory_equal(a->col, b->col, (size_t)a->nnz * sizeof *a->col);
  if (a->nnz > 0 && a->weight) assert_memory_equal(a->weight, b->weight, (size_t)a->nnz * sizeof *a->weight);
}

static void compare_plans(const struct halo *a, const struct halo *b) {
  assert_int_equal(a->rows, b->rows);
  assert_int_equal(a->peers, b->peers);
  assert_int_equal(a->send_rows, b->send_rows);
  for (int p = 0; p < a->peers; p++) {
    const struct halo_peer *left = &a->peer[p], *right = &b->peer[p];
    assert_int_equal(left->rank, right->rank);
    assert_int_equal(left->sent.first, right->sent.first);
    assert_int_equal(left->sent.count, right->sent.count);
    assert_int_equal(left->came.first, right->came.first);
    assert_int_equal(left->came.count, right->came.count);
  }
  for (int64_t i = 0; i < a->send_rows; i++) assert_int_equal(a->send_row[i], b->send_row[i]);
}

static void compare_halo(const struct halo *a, const struct halo *b) {
  compare_plans(a, b);
  for (int64_t i = 0; i < a->rows; i++) assert_int_equal(a->id[i], b->id[i]);
  assert_int_equal(a->relay != NULL, b->relay != NULL);
  if (!a->relay) return;
  compare_plans(&a->relay->first, &b->relay->first);
  compare_plans(&a->relay->second, &b->relay->second);
}

static void compare_adjacency(const struct adjacency *a, const struct adjacency *b) {
  compare_csr(&a->own_part, &b->own_part);
  compare_csr(a->halo_part, b->halo_part);
  compare_halo(&a->halo, &b->halo);
}

static void compare_data(const struct shard *a, const struct shard *b) {
  if (a->sparse) compare_csr(&a->feature_rows, &b->feature_rows);
  if (!a->sparse && a->own > 0)
    assert_memory_equal(a->feature, b->feature, (size_t)(a->own * a->features) * sizeof *a->feature);
  if (a->own > 0) assert_memory_equal(a->label, b->label, (size_t)a->own * sizeof *a->label);
  for (int part = 0; part < SPLIT_COUNT; part++) {
    assert_int_equal(a->split_count[part], b->split_count[part]);
    assert_int_equal(a->split_global[part], b->split_global[part]);
  }
}

static void compare_shards(const struct shard *a, const struct shard *b) {
  assert_int_equal(a->own, b->own);
  compare_adjacency(&a->in, &b->in);
  if (a->directed) compare_adjacency(&a->out, &b->out);
  assert_int_equal(a->levels.count, b->levels.count);
  for (int level = 0; level < a->levels.count; level++) {
    assert_int_equal(a->levels.of[level].rows, b->levels.of[level].rows);
    compare_adjacency(&a->levels.of[level].forward, &b->levels.of[level].forward);
    compare_adjacency(&a->levels.of[level].backward, &b->levels.of[level].backward);
  }
  compare_data(a, b);
}

static void make(struct comm *with, struct dataset *dataset, const struct directory *directory,
                 struct graph *block, const struct setting *setting, const struct levels *levels,
                 struct shard *shard) {
  const struct shard_whole whole = {block, levels};
  assert_ok(shard_init(with, dataset, directory, block, setting->loops, shard));
  assert_ok(shard_add_levels(with, directory, levels, shard));
  assert_ok(shard_add_relays(with, directory, NULL, with->lone ? &whole : NULL, shard));
  assert_int_equal(shard->in.halo.relay != NULL, with->nodes > 1 && network.local_size > setting->columns);
  assert_ok(shard_read_data(with, dataset, directory, NORMALIZE_NONE, shard));
  assert_ok(shard_read_split(with, dataset, directory, 0, shard));
}

static void check(struct setting setting) {
  static struct config config;
  struct dataset dataset;
  struct partition partition;
  struct directory dealt, known;
  struct levels levels = {0};
  struct graph block = {0}, whole = {0};
  struct shard among, alone;
  struct comm lone;
  assert_ok(config_parse(&config, "dataset.path = \"x.h5\"\npartition.method = \"random\"", "test"));
  random_dataset(&comm, &setting.graph, "test_lone", &dataset);
  random_block_of_rows(&comm, &dataset, &block);
  assert_ok(
      partition_make(&comm, &config, &dataset, 1, NULL, NULL, comm.size / setting.columns, NULL, &partition));
  assert_ok(partition_deal(&partition, setting.columns));
  if (setting.stride) assert_ok(levels_find(&comm, &dataset, &block, 0, 4, 4, setting.stride, &levels));
  assert_ok(directory_init(&comm, &partition, &dealt));
  whole_partition(&comm, &partition);
  if (setting.stride) {
    assert_ok(levels_order(&levels, 1, (int64_t[]){0, dealt.rows}, dealt.id));
    assert_ok(directory_tell(&comm, &dealt));
    assert_ok(levels_order(&levels, comm.size, partition.offset, partition.order));
  }
  make(&comm, &dataset, &dealt, &block, &setting, &levels, &among);
  assert_ok(graph_read(&dataset, 0, dataset.nodes, &whole));
  assert_ok(comm_lone_open(&lone, &comm, comm.rank, comm.size, &network));
  comm_lone_attach(&lone, &device);
  assert_ok(directory_init(&lone, &partition, &known));
  for (int again = 0; again < 2; again++) { /* the graph stays */
    make(&lone, &dataset, &known, &whole, &setting, &levels, &alone);
    compare_shards(&among, &alone);
    shard_free(&alone);
  }
  assert_ok(shard_init(&lone, &dataset, &known, &whole, setting.loops, &alone));
  assert_ok(shard_read_outline(&lone, &dataset, &known, &alone));
  assert_null(alone.feature);
  if (alone.sparse) compare_csr(&among.feature_rows, &alone.feature_rows);
  shard_free(&alone);
  shard_free(&among);
  directory_free(&known);
  directory_free(&dealt);
  comm_close(&lone);
  graph_free(&whole);
  levels_free(&levels);
  partition_free(&partition);
  random_end(&comm, &setting.graph, &dataset);
}

static const struct random_graph
    undirected = {.nodes = 90, .density = .05, .task = TASK_MULTICLASS, .seed = 3},
    weighted = {.nodes = 90,
                .density = .05,
                .weighted = 1,
                .loops = 1,
                .task = TASK_MULTICLASS,
                .sparse = 1,
                .seed = 4},
    directed = {
        .nodes = 90, .density = .05, .directed = 1, .weighted = 1, .task = TASK_MULTICLASS, .seed = 5};

TEST(a_rank_alone_has_the_shard_that_it_has_among_others) {
  check((struct setting){.graph = undirected, .columns = 1});
  check((struct setting){.graph = weighted, .loops = LOOPS_WITHIN, .columns = 1});
  check((struct setting){.graph = directed, .columns = 1});
}

TEST(and_in_a_grid) {
  if (comm.size % 2) return;
  check((struct setting){.graph = undirected, .columns = 2});
  check((struct setting){.graph = directed, .loops = LOOPS_WITHIN, .columns = 2});
  check((struct setting){.graph = weighted, .columns = comm.size});
}

TEST(and_of_levels) {
  struct random_graph few = undirected, arcs = directed;
  few.density = arcs.density = .012;
  for (int stride = 1; stride <= 2; stride++) {
    check((struct setting){.graph = few, .columns = 1, .stride = stride});
    check((struct setting){.graph = arcs, .columns = 1, .stride = stride});
  }
}

/* The same where rows between hosts travel once. */
TEST(and_on_hosts) {
  struct random_graph few = undirected, arcs = directed;
  few.density = arcs.density = .012;
  for (network.local_size = 2; network.local_size < comm.size; network.local_size += 1) {
    stand_on_hosts(&comm, network.local_size);
    check((struct setting){.graph = undirected, .columns = 1});
    check((struct setting){.graph = directed, .columns = 1});
    check((struct setting){.graph = few, .columns = 1, .stride = 1});
    check((struct setting){.graph = arcs, .columns = 1, .stride = 2});
    if (comm.size % 2 == 0) check((struct setting){.graph = directed, .columns = 2});
  }
  network.local_size = 8;
  stand_on_hosts(&comm, comm.size);
}

/* Seconds are bytes and messages; both ways are used at once. */
TEST(messages_last_as_the_network_says) {
  const struct network slow = {{2, .5, 3, 0}, {10, 4, 5, 0}, 0, 2, {0, 0, 0, 0}};
  const struct message near = {1, NULL, 100}, far = {2, NULL, 10}, farther = {3, NULL, 20};
  const struct message both[] = {near, far}, two[] = {far, farther};
  assert_float_equal(network_exchange_seconds(&slow, 0, &near, 1, NULL, 0), 52, 1e-9);
  assert_float_equal(network_exchange_seconds(&slow, 0, &far, 1, &farther, 1), 90, 1e-9);
  assert_float_equal(network_exchange_seconds(&slow, 0, both, 2, NULL, 0), 52, 1e-9);
  assert_float_equal(network_exchange_seconds(&slow, 0, two, 2, &near, 1), 130, 1e-9);
  assert_float_equal(network_exchange_seconds(&slow, 0, NULL, 0, NULL, 0), 0, 1e-9);
  assert_float_equal(network_reduce_seconds(&slow, 1, 8), 0, 1e-9);
  assert_float_equal(network_reduce_seconds(&slow, 2, 8), 3 + 4, 1e-9);
  assert_float_equal(network_reduce_seconds(&slow, 4, 8), 3 + 4 + 5 + 16, 1e-9);
  const struct network wide = {{2, .5, 3, 0}, {10, 4, 5, 0}, 0, 8, {0, 0, 0, 0}};
  assert_float_equal(network_reduce_seconds(&wide, 8, 8), 3 * 3 + 7, 1e-9);
  const struct network quick = {{2, .5, 3, 1}, {10, 4, 5, 0}, 0, 4, {0, 0, 0, 0}};
  assert_float_equal(network_reduce_seconds(&quick, 4, 4), 2 * 3 + 6, 1e-9);       /* a short one */
  assert_float_equal(network_reduce_seconds(&quick, 4, 8), 2 * (3 + 2) + 6, 1e-9); /* a long one */
}

BEFORE_ALL {
  TRY(ranks_open(&comm));
  TRY(device_open(&device, "cpu", 0, 1, 1));
  return comm_attach(&comm, &device);
}

AFTER_ALL {
  comm_close(&comm);
  device_close(&device);
}
